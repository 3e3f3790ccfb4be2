#include "instance/redis/encoder.hpp"

#include "instance/redis/scripts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <limits>

namespace colock::instance::redis {

/// All arguments of a command, for `request::push`, which takes them one by one and appends each
/// piece by piece to its string. Here it is one go: the first argument writes all of them, and `rest`
/// stands for the others.
struct arguments {
    std::initializer_list<std::string_view> all;
    std::array<std::size_t, 5>& positions;  // out: where in the payload each of them begins
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
    constexpr std::size_t most_around = longest_number + 5;  // "$", the size, and two line ends
    std::size_t most = 0;
    for (const std::string_view one : them.all) {
        most += one.size() + most_around;
    }
    const std::size_t begin = payload.size();
    payload.resize(begin + most);
    char* at = payload.data() + begin;
    std::size_t index = 0;
    for (const std::string_view one : them.all) {
        *at++ = '$';
        at = write_line_end(std::to_chars(at, at + longest_number, one.size()).ptr);
        them.positions[index++] = static_cast<std::size_t>(at - payload.data());
        at = write_line_end(std::copy(one.begin(), one.end(), at));
    }
    payload.resize(static_cast<std::size_t>(at - payload.data()));
}

void boost_redis_to_bulk(std::string& /*payload*/, const rest& /*written already*/) {}

void encoder::encode(const std::vector<pending_command>& commands, const server_facts& facts,
                     boost::redis::request& to) {
    if (!wrote(commands, facts)) {
        written_.clear();
        records_.clear();
        extend_sha_ = facts.extend_sha;
        release_sha_ = facts.release_sha;
        for (const pending_command& pending : commands) {
            write(pending);
        }
    }
    to.append(written_);
}

bool encoder::wrote(const std::vector<pending_command>& commands, const server_facts& facts) const {
    return extend_sha_ == facts.extend_sha && release_sha_ == facts.release_sha &&
           std::equal(records_.begin(), records_.end(), commands.begin(), commands.end(),
                      [this](const record& known, const pending_command& pending) {
                          return is(known, pending);
                      });
}

bool encoder::is(const record& known, const pending_command& pending) const {
    const core::command& command = pending.command;
    return known.verb == command.verb && known.ttl == command.ttl &&
           known.script_in_full == pending.script_in_full &&
           (known.verb == core::verb::remaining ||  // sends no token
            written_.payload().substr(known.token_at, known.token_size) == command.token) &&
           written_.payload().substr(known.key_at, known.key_size) == command.key;
}

void encoder::write(const pending_command& pending) {
    const core::command& command = pending.command;
    const bool full = pending.script_in_full;
    const std::string_view run = full ? "EVAL" : "EVALSHA";
    const number ttl(command.ttl.count());
    std::array<std::size_t, 5> at{};
    std::size_t key_at = 0;
    std::size_t token_at = 0;
    switch (command.verb) {
        case core::verb::acquire:
            written_.push("SET",
                          arguments{{command.key, command.token, "NX", "PX", ttl.text()}, at},
                          rest(), rest(), rest(), rest());
            key_at = at[0];
            token_at = at[1];
            break;
        case core::verb::extend: {
            const std::string_view script = full ? scripts::extend : extend_sha_;
            written_.push(run, arguments{{script, "1", command.key, command.token, ttl.text()}, at},
                          rest(), rest(), rest(), rest());
            key_at = at[2];
            token_at = at[3];
            break;
        }
        case core::verb::release: {
            const std::string_view script = full ? scripts::release : release_sha_;
            written_.push(run, arguments{{script, "1", command.key, command.token}, at}, rest(),
                          rest(), rest());
            key_at = at[2];
            token_at = at[3];
            break;
        }
        case core::verb::remaining:
            written_.push("PTTL", arguments{{command.key}, at});
            key_at = at[0];
            break;
    }
    records_.push_back({command.verb, full, command.ttl, key_at, command.key.size(), token_at,
                        command.token.size()});
}

}  // namespace colock::instance::redis
