#include "instance/redis/encoder.hpp"

#include "instance/companion_key.hpp"
#include "instance/fence.hpp"
#include "instance/redis/scripts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <initializer_list>
#include <limits>

namespace colock::instance::redis {

/// What a request is to consist of, for `request::push`, by way of Boost.Redis's customization point for
/// arguments. (Written by `push`, argument by argument and piece by piece, a batch takes four times
/// as long.)
struct whole_payload {
    std::string& text;  // left with what the request had before
};

void boost_redis_to_bulk(std::string& payload, const whole_payload& whole) {
    payload.swap(whole.text);
}

/// Nothing, and a reply is expected for it.
struct no_payload {};

void boost_redis_to_bulk(std::string& payload, const no_payload& /*nothing*/) {
    payload.clear();
}

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

/// Writes commands: https://redis.io/docs/latest/develop/reference/protocol-spec/
class command_writer {
public:
    explicit command_writer(std::string& to) : to_(to) {}

    void write(std::initializer_list<std::string_view> arguments) {
        constexpr std::size_t around = 1 + longest_number + 2 + 2;  // "$<size>\r\n", and "\r\n"
        std::size_t most = around;
        for (const std::string_view one : arguments) {
            most += one.size() + around;
        }
        const std::size_t begin = to_.size();
        to_.resize(begin + most);
        char* at = write_size(to_.data() + begin, '*', arguments.size());
        for (const std::string_view one : arguments) {
            at = write_size(at, '$', one.size());
            at = std::copy(one.begin(), one.end(), at);
            at = write_line_end(at);
        }
        to_.resize(static_cast<std::size_t>(at - to_.data()));
        ++written_;
    }

    [[nodiscard]] std::size_t written() const noexcept { return written_; }

private:
    static char* write_size(char* at, char kind, std::size_t size) noexcept {
        *at++ = kind;
        if (size < 10) {
            *at++ = static_cast<char>('0' + size);
        } else {
            at = std::to_chars(at, at + longest_number, size).ptr;
        }
        return write_line_end(at);
    }
    static char* write_line_end(char* at) noexcept {
        *at++ = '\r';
        *at++ = '\n';
        return at;
    }

    std::string& to_;
    std::size_t written_ = 0;
};

boost::redis::request::config request_settings() {
    boost::redis::request::config settings;
    settings.cancel_on_connection_lost = true;
    settings.cancel_if_not_connected = true;
    settings.cancel_if_unresponded = true;  // never replayed: see design, 3
    return settings;
}

void write_native_delete(const core::command& command, const dialect& words, command_writer& to) {
    if (words.native_delete == native_delete::delifeq) {
        to.write({"DELIFEQ", command.key, command.token});
    } else {
        to.write({"DELEX", command.key, "IFEQ", command.token});
    }
}

void write(const core::command& command, const dialect& words, script_form form,
           command_writer& to) {
    const bool full = form == script_form::in_full;
    const std::string_view run = full ? "EVAL" : "EVALSHA";
    const number ttl(command.ttl.count());
    switch (command.verb) {
        case core::verb::acquire:
            to.write({"SET", command.key, command.token, "NX", "PX", ttl.text()});
            break;
        case core::verb::extend: {
            const std::string_view script = full ? scripts::extend : words.extend_digest;
            to.write({run, script, "1", command.key, command.token, ttl.text()});
            break;
        }
        case core::verb::release: {
            if (is_native(command.verb, words, form)) {
                write_native_delete(command, words, to);
                break;
            }
            const std::string_view script = full ? scripts::release : words.release_digest;
            to.write({run, script, "1", command.key, command.token});
            break;
        }
        case core::verb::acquire_fenced:
        case core::verb::raise_fence: {
            const bool takes = command.verb == core::verb::acquire_fenced;
            const std::string_view script = full ? scripts::fence : words.fence_digest;
            const number fence(static_cast<long long>(command.fence));
            const number idle(std::chrono::milliseconds(fence_idle).count());
            const number spare(command.spare_fences);
            to.write({run, script, "2", command.key, fence_key(command.key), command.token,
                      takes ? ttl.text() : "0", fence.text(), idle.text(), spare.text()});
            break;
        }
        case core::verb::join_line:
        case core::verb::leave_line: {
            const bool joins = command.verb == core::verb::join_line;
            const std::string_view script =
                full ? (joins ? scripts::join : scripts::leave)
                     : std::string_view(joins ? words.join_digest : words.leave_digest);
            const std::string line = line_key(command.key);
            const number own(static_cast<long long>(command.fence));
            const std::string ticket = ticket_key(command.key, command.fence);
            if (joins) {
                to.write({run, script, "2", line, ticket, own.text(), ttl.text(), line + ':'});
            } else {
                to.write({run, script, "2", line, ticket, own.text()});
            }
            break;
        }
        case core::verb::remaining:
            if (has_prelude(command.verb, words)) {
                to.write({"CLIENT", "CACHING", "YES"});
            }
            to.write({"PTTL", command.key});
            break;
    }
}

}  // namespace

encoder::request_pointer encoder::encode(const batch& commands, const server_facts& facts,
                                         script_form form) {
    text_.clear();
    command_writer writer(text_);
    for (const submission& one : commands.submissions()) {
        write(one.command, facts.dialect, form, writer);
    }
    const auto result =
        requests_.take([] { return std::make_shared<boost::redis::request>(request_settings()); });
    result->clear();
    if (writer.written() != 0) {
        result->push("", whole_payload{text_});
        expect_more(*result, writer.written() - 1);
    }
    return result;
}

/// Has a request expect so many replies more than it does.
void encoder::expect_more(boost::redis::request& of, std::size_t replies) {
    for (std::size_t i = 0; replies >> i != 0; ++i) {
        if (i == expectations_.size()) {
            boost::redis::request& next = expectations_.emplace_back();
            if (i == 0) {
                next.push("", no_payload());
            } else {
                next.append(expectations_[i - 1]);
                next.append(expectations_[i - 1]);
            }
        }
        if ((replies >> i & 1U) != 0) {
            of.append(expectations_[i]);
        }
    }
}

encoder::request_pointer encoder::encode_shared(const std::shared_ptr<const batch>& commands,
                                                const server_facts& facts) {
    if (last_ != commands || last_dialect_ != facts.dialect) {
        last_request_ = encode(*commands, facts, script_form::shortest);
        last_ = commands;
        last_dialect_ = facts.dialect;
    }
    return last_request_;
}

}  // namespace colock::instance::redis
