#include "instance/redis/batch.hpp"

#include "instance/redis/scripts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

namespace colock::instance::redis {

/// All arguments of a command, for `request::push`, which takes them one by one and appends each
/// piece by piece to its string. Encoding is half of what a command costs; here it is one go: the
/// first argument writes all of them, and `rest` stands for the others.
struct arguments {
    std::initializer_list<std::string_view> all;
};
struct rest {};

namespace {

constexpr std::size_t longest_number = std::numeric_limits<long long>::digits10 + 2;

/// "$<size>\r\n<text>\r\n", at `at`; returns the end of it.
char* write_bulk(char* at, std::string_view text) {
    *at++ = '$';
    at = std::to_chars(at, at + longest_number, text.size()).ptr;
    *at++ = '\r';
    *at++ = '\n';
    at = std::copy(text.begin(), text.end(), at);
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

/// A number as text.
class number {
public:
    explicit number(long long value)
        : size_(static_cast<std::size_t>(
              std::to_chars(text_.data(), text_.data() + text_.size(), value).ptr -
              text_.data())) {}
    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

private:
    std::array<char, longest_number> text_{};
    std::size_t size_;
};

boost::redis::request::config request_settings() {
    boost::redis::request::config settings;
    settings.cancel_on_connection_lost = true;
    settings.cancel_if_not_connected = true;
    settings.cancel_if_unresponded = true;  // never replayed: see design, 3
    return settings;
}

}  // namespace

// The customization point of Boost.Redis by which an argument is written to a request.
void boost_redis_to_bulk(std::string& payload, const arguments& them) {
    constexpr std::size_t most_around = longest_number + 5;  // "$", the size, and two line ends
    std::size_t most = 0;
    for (const std::string_view one : them.all) {
        most += one.size() + most_around;
    }
    const std::size_t begin = payload.size();
    payload.resize(begin + most);
    char* at = payload.data() + begin;
    for (const std::string_view one : them.all) {
        at = write_bulk(at, one);
    }
    payload.resize(static_cast<std::size_t>(at - payload.data()));
}

void boost_redis_to_bulk(std::string& /*payload*/, const rest& /*written already*/) {}

batch::batch() : request_(request_settings()) {}

void batch::clear() {
    request_.clear();
    commands_.clear();
    answered_ = 0;
}

void batch::encode(const pending_command& pending, const server_facts& facts) {
    const core::command& command = pending.command;
    const bool full = pending.script_in_full;
    const std::string_view run = full ? "EVAL" : "EVALSHA";
    switch (command.verb) {
        case core::verb::acquire: {
            const number ttl(command.ttl.count());
            request_.push("SET", arguments{{command.key, command.token, "NX", "PX", ttl.text()}},
                          rest(), rest(), rest(), rest());
            break;
        }
        case core::verb::extend: {
            const number ttl(command.ttl.count());
            const std::string_view script = full ? scripts::extend : facts.extend_sha;
            request_.push(run, arguments{{script, "1", command.key, command.token, ttl.text()}},
                          rest(), rest(), rest(), rest());
            break;
        }
        case core::verb::release: {
            const std::string_view script = full ? scripts::release : facts.release_sha;
            request_.push(run, arguments{{script, "1", command.key, command.token}}, rest(), rest(),
                          rest());
            break;
        }
        case core::verb::remaining:
            request_.push("PTTL", command.key);
            break;
    }
}

}  // namespace colock::instance::redis
