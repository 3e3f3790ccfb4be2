#include "instance/redis/decode.hpp"

#include "kinds/kind.hpp"
#include "kinds/replies.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

namespace colock::instance::redis {
namespace {

using core::key_state;
using core::vote;
using kinds::unexpected;
using resp::type;
using resp::value;

/// How the error of a script begins that may not run one of its commands, or use its key: in Valkey, and in Redis since 7.2.
constexpr std::string_view forbidden_in_script = "ERR ACL failure in script";

}  // namespace

core::vote decode(const core::command& command, const value& root) {
    if (is_error(root)) {
        const bool unclear =
            command.step == core::step::acquire && !is_refused_before_execution(root);
        return vote::failed(unclear ? core::failure::unclear_error : core::failure::server_error,
                            std::make_shared<const std::string>(root.text));
    }
    return command.kind->decode(command.step, root);
}

core::vote decode_release_of(std::size_t index, std::size_t count, const value& root) {
    if (kinds::is_one(root)) {
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
    if (kinds::is_one(root)) {
        return vote::granted();
    }
    return root.type == type::number && kinds::is(root.text, "0") ? vote::denied(key_state::unknown)
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
