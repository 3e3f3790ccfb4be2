#include "instance/redis/encoder.hpp"

#include "instance/fence.hpp"
#include "instance/redis/fence_key.hpp"
#include "instance/redis/scripts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <initializer_list>
#include <limits>

namespace colock::instance::redis {

/// All arguments of a command, for `request::push`, which takes them one by one and appends each
/// piece by piece to its string. Here it is one go: the first argument writes all of them, and `rest`
/// stands for the others.
struct arguments {
    std::initializer_list<std::string_view> all;
};
struct rest {};

namespace {

constexpr std::size_t longest_number = std::numeric_limits<long long>::digits10 + 2;

/// A number as text.
class number {
public:
    explicit number(long long value)
        : size_(static_cast<std::size_t>(
              std::to_chars(text_.data(), text_.data() + text_.size(), value).ptr - text_.data())) {
    }
    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

private:
    std::array<char, longest_number> text_{};
    std::size_t size_;
};

char* write_line_end(char* at) noexcept {
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

}  // namespace

// The customization point of Boost.Redis by which an argument is written to a request:
// "$<size>\r\n<text>\r\n" for each.
void boost_redis_to_bulk(std::string& payload, const arguments& them) {
    std::array<char, 512>
        buffer;  // enough for nearly all; a string would be filled with zeros first
    constexpr std::size_t most_around = longest_number + 5;  // "$", the size, and two line ends
    char* at = buffer.data();
    for (const std::string_view one : them.all) {
        if (one.size() + most_around > static_cast<std::size_t>(buffer.end() - at)) {
            payload.append(buffer.data(), at);
            at = buffer.data();
        }
        *at++ = '$';
        at = write_line_end(std::to_chars(at, at + longest_number, one.size()).ptr);
        if (one.size() + most_around <= buffer.size()) {
            at = std::copy(one.begin(), one.end(), at);
        } else {
            payload.append(buffer.data(), at).append(one);
            at = buffer.data();
        }
        at = write_line_end(at);
    }
    payload.append(buffer.data(), at);
}

void boost_redis_to_bulk(std::string& /*payload*/, const rest& /*written already*/) {}

namespace {

boost::redis::request::config request_settings() {
    boost::redis::request::config settings;
    settings.cancel_on_connection_lost = true;
    settings.cancel_if_not_connected = true;
    settings.cancel_if_unresponded = true;  // never replayed: see design, 3
    return settings;
}

void write(const core::command& command, const dialect& words, script_form form,
           boost::redis::request& to) {
    const bool full = form == script_form::in_full;
    const std::string_view run = full ? "EVAL" : "EVALSHA";
    const number ttl(command.ttl.count());
    switch (command.verb) {
        case core::verb::acquire:
            to.push("SET", arguments{{command.key, command.token, "NX", "PX", ttl.text()}}, rest(),
                    rest(), rest(), rest());
            break;
        case core::verb::extend: {
            const std::string_view script = full ? scripts::extend : words.extend_digest;
            to.push(run, arguments{{script, "1", command.key, command.token, ttl.text()}}, rest(),
                    rest(), rest(), rest());
            break;
        }
        case core::verb::release: {
            const std::string_view script = full ? scripts::release : words.release_digest;
            to.push(run, arguments{{script, "1", command.key, command.token}}, rest(), rest(),
                    rest());
            break;
        }
        case core::verb::acquire_fenced:
        case core::verb::raise_fence: {
            const bool takes = command.verb == core::verb::acquire_fenced;
            const std::string_view script = full ? scripts::fence : words.fence_digest;
            const number fence(static_cast<long long>(command.fence));
            const number idle(std::chrono::milliseconds(fence_idle).count());
            const number spare(command.spare_fences);
            to.push(run,
                    arguments{{script, "2", command.key, fence_key(command.key), command.token,
                               takes ? ttl.text() : "0", fence.text(), idle.text(), spare.text()}},
                    rest(), rest(), rest(), rest(), rest(), rest(), rest(), rest());
            break;
        }
        case core::verb::remaining:
            if (has_prelude(command.verb, words)) {
                to.push("CLIENT", arguments{{"CACHING", "YES"}}, rest());
            }
            to.push("PTTL", arguments{{command.key}});
            break;
    }
}

}  // namespace

encoder::request_pointer encoder::encode(const batch& commands, const server_facts& facts,
                                         script_form form) {
    const auto result =
        requests_.take([] { return std::make_shared<boost::redis::request>(request_settings()); });
    result->clear();
    for (const submission& one : commands.submissions()) {
        write(one.command, facts.dialect, form, *result);
    }
    return result;
}

encoder::request_pointer encoder::encode_shared(const std::shared_ptr<const batch>& commands,
                                                const server_facts& facts) {
    if (last_ != commands || last_dialect_ != facts.dialect) {
        last_request_ = encode(*commands, facts, script_form::digest);
        last_ = commands;
        last_dialect_ = facts.dialect;
    }
    return last_request_;
}

}  // namespace colock::instance::redis
