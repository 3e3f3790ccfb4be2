#include "instance/redis/decode.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace colock::instance::redis {
namespace {

using core::key_state;
using core::vote;
using resp::type;
using resp::value;

/// Whether a reply's text is this word. There are ten such questions in the life of a lock on five
/// servers, and each is a few instructions only if it calls nothing, as `==` would `memcmp`.
template <std::size_t Size>
constexpr bool is(std::string_view text, const char (&word)[Size]) noexcept {
    bool same = text.size() == Size - 1;
    for (std::size_t i = 0; same && i != Size - 1; ++i) {
        same = text[i] == word[i];
    }
    return same;
}

vote unexpected(const value& root) {
    return vote::failed(core::failure::unexpected_reply,
                        std::make_shared<const std::string>(root.text));
}

/// OK, which is a plain grant, or null for a key that exists.
vote decode_set(const value& root) {
    if (is_plain_grant(core::verb::acquire, root)) {
        return vote::granted();
    }
    if (root.type == type::null) {
        return vote::denied(key_state::foreign);
    }
    return unexpected(root);
}

/// What the scripts return.
vote decode_compare(const value& root) {
    if (is_plain_grant(core::verb::release, root)) {
        return vote::granted();
    }
    if (root.type != type::number) {
        return unexpected(root);
    }
    if (is(root.text, "0")) {
        return vote::denied(key_state::absent);
    }
    if (is(root.text, "-1")) {
        return vote::denied(key_state::foreign);
    }
    return unexpected(root);
}

/// The fence script: the counter, which is positive; else as the others.
vote decode_fence(const value& root) {
    std::uint64_t fence = 0;
    const char* end = root.text.data() + root.text.size();
    const auto parsed = std::from_chars(root.text.data(), end, fence);
    if (root.type == type::number && parsed.ec == std::errc() && parsed.ptr == end && fence > 0 &&
        fence < core::fence_limit) {
        return vote::granted(fence);
    }
    return decode_compare(root);
}

/// The scripts of a remote queue: a number that is not negative.
vote decode_line(const value& root) {
    std::uint64_t number = 0;
    const char* end = root.text.data() + root.text.size();
    const auto parsed = std::from_chars(root.text.data(), end, number);
    if (root.type == type::number && parsed.ec == std::errc() && parsed.ptr == end) {
        return vote::granted(number);
    }
    return unexpected(root);
}

/// PTTL: milliseconds, -1 for a key without ttl, -2 for no key.
vote decode_remaining(const value& root) {
    std::int64_t number = 0;
    const char* end = root.text.data() + root.text.size();
    const auto parsed = std::from_chars(root.text.data(), end, number);
    if (root.type != type::number || parsed.ec != std::errc() || parsed.ptr != end) {
        return unexpected(root);
    }
    if (number >= 0) {
        return vote::denied(key_state::foreign, core::milliseconds(number));
    }
    switch (number) {
        case -1:
            return vote::denied(key_state::foreign, core::milliseconds::max());
        case -2:
            return vote::denied(key_state::absent, core::milliseconds(0));
        default:
            return unexpected(root);
    }
}

/// How the error of a script begins that may not run one of its commands, or use its key: in Valkey, and in Redis since 7.2.
constexpr std::string_view forbidden_in_script = "ERR ACL failure in script";

}  // namespace

core::vote decode(core::verb verb, const value& root) {
    if (is_error(root)) {
        const bool unclear = core::acquires(verb) && !is_refused_before_execution(root);
        return vote::failed(unclear ? core::failure::unclear_error : core::failure::server_error,
                            std::make_shared<const std::string>(root.text));
    }
    switch (verb) {
        case core::verb::acquire:
            return decode_set(root);
        case core::verb::extend:
        case core::verb::release:
            return decode_compare(root);
        case core::verb::acquire_fenced:
        case core::verb::raise_fence:
        case core::verb::count_fence:
            return decode_fence(root);
        case core::verb::join_queue:
        case core::verb::leave_queue:
            return decode_line(root);
        case core::verb::remaining:
            break;
    }
    return decode_remaining(root);
}

core::vote decode_release_of(std::size_t index, std::size_t count, const value& root) {
    if (is_plain_grant(core::verb::release, root)) {
        return vote::granted();
    }
    if (root.type == type::bulk_string && root.text.size() == count) {
        switch (root.text[index]) {
            case '1':
                return vote::granted();
            case '0':
                return vote::denied(key_state::absent);
            case '-':
                return vote::denied(key_state::foreign);
            default:
                break;
        }
    }
    return unexpected(root);
}

core::vote decode_native_delete(const value& root) {
    if (is_plain_grant(core::verb::release, root)) {
        return vote::granted();
    }
    return root.type == type::number && is(root.text, "0") ? vote::denied(key_state::unknown)
                                                           : unexpected(root);
}

bool is_refused_for_good(const value& root) noexcept {
    const bool forbidden =
        (root.text.starts_with("NOPERM") || root.text.starts_with(forbidden_in_script)) &&
        root.text.find("command") != std::string_view::npos;  // not this key
    constexpr std::string_view forever[] = {
        "ERR unknown command",
        "ERR Unknown Redis command called from script",
        "ERR Unknown command called from script",                    // Valkey
        "ERR The user executing the script can't run this command",  // Redis 7.0
        "CROSSSLOT",
    };
    return is_error(root) && (forbidden || std::ranges::any_of(forever, [&](std::string_view text) {
                                  return root.text.starts_with(text);
                              }));
}

bool is_refused_before_execution(const value& root) noexcept {
    // Redis and Valkey check these before they call a command (processCommand in server.c), a script's first
    // write likewise.
    constexpr std::string_view codes[] = {
        "NOAUTH",     "NOPERM",      "READONLY", "LOADING", "OOM", "MISCONF",
        "NOREPLICAS", "MASTERDOWN",  "BUSY",     "MOVED",   "ASK", "TRYAGAIN",
        "CROSSSLOT",  "CLUSTERDOWN", "NOSCRIPT", "DENIED",
        "FENCE",  // our own script's
    };
    constexpr std::string_view texts[] = {
        "ERR unknown command",
        "ERR wrong number of arguments",
        "ERR syntax error",
        "ERR invalid expire time",
        "ERR value is not an integer or out of range",
        "ERR max number of clients reached",
        "ERR unknown subcommand",
        "ERR Unknown Redis command called from script",
        "ERR Unknown command called from script",
        "ERR The user executing the script can't run this command",
        forbidden_in_script,
    };
    const std::string_view code = root.text.substr(0, root.text.find(' '));
    return is_error(root) && (std::ranges::find(codes, code) != std::end(codes) ||
                              std::ranges::any_of(texts, [&](std::string_view text) {
                                  return root.text.starts_with(text);
                              }));
}

bool is_from_replica(const value& root) noexcept {
    return is_error(root) &&
           (root.text.starts_with("READONLY ") || root.text.starts_with("MASTERDOWN "));
}

bool is_redirection(const value& root) noexcept {
    constexpr std::string_view codes[] = {"MOVED ", "ASK ", "TRYAGAIN ", "CLUSTERDOWN "};
    return is_error(root) && std::ranges::any_of(codes, [&](std::string_view code) {
               return root.text.starts_with(code);
           });
}

bool is_unknown_script(const value& root) noexcept {
    return is_error(root) && root.text.starts_with("NOSCRIPT");
}

}  // namespace colock::instance::redis
