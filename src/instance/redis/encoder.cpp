#include "instance/redis/encoder.hpp"

#include "instance/companion_key.hpp"
#include "instance/fence.hpp"
#include "instance/redis/scripts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
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

constexpr char* write_line_end(char* at) noexcept {
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

constexpr char* write_size(char* at, char kind, std::size_t size) noexcept {
    *at++ = kind;
    if (size < 10) {
        *at++ = static_cast<char>('0' + size);
    } else if (size < 100) {
        *at++ = static_cast<char>('0' + size / 10);
        *at++ = static_cast<char>('0' + size % 10);
    } else {
        at = std::to_chars(at, at + longest_number, size).ptr;
    }
    return write_line_end(at);
}

constexpr char* write_argument(char* at, std::string_view text) noexcept {
    at = write_size(at, '$', text.size());
    at = std::copy(text.begin(), text.end(), at);
    return write_line_end(at);
}

/// At most so much is around an argument: "$<size>\r\n", and "\r\n".
constexpr std::size_t around_argument = 1 + longest_number + 2 + 2;

/// An argument that is known to the compiler.
template <std::size_t Size>
struct word {
    consteval word(const char (&literal)[Size])  // NOLINT(*-explicit-*)
    {
        std::copy_n(literal, Size - 1, text.begin());
    }
    [[nodiscard]] constexpr std::string_view view() const noexcept {
        return {text.data(), text.size()};
    }
    std::array<char, Size - 1> text{};
};

/// Some of these in a row, which stand there as they go over the wire.
template <word... Words>
struct word_list {
    static constexpr std::size_t size = sizeof...(Words);

    [[nodiscard]] static constexpr std::string_view encoded() noexcept {
        return {buffer.text.data(), buffer.size};
    }

private:
    struct encoding {
        consteval encoding() {
            char* at = text.data();
            ((at = write_argument(at, Words.view())), ...);
            size = static_cast<std::size_t>(at - text.data());
        }
        std::array<char, ((Words.text.size() + around_argument) + ...)> text{};
        std::size_t size;
    };
    static constexpr encoding buffer{};
};
template <word... Words>
constexpr word_list<Words...> words;

/// Writes commands: https://redis.io/docs/latest/develop/reference/protocol-spec/
class command_writer {
public:
    /// Overwrites `to`; it has what was written once `finish` is called.
    explicit command_writer(std::string& to) : to_(to) {}

    /// A command of `words` and strings.
    template <typename... Arguments>
    void write(const Arguments&... arguments) {
        char* at = room_for(around_argument + (most(arguments) + ...));
        at = write_size(at, '*', (count(arguments) + ...));
        ((at = put(at, arguments)), ...);
        end_at(at);
        ++written_;
    }

    /// A command of so many words and strings, which `add` adds.
    void begin(std::size_t count) {
        end_at(write_size(room_for(around_argument), '*', count));
        ++written_;
    }
    template <typename Argument>
    void add(const Argument& argument) {
        end_at(put(room_for(most(argument)), argument));
    }

    void finish() { to_.resize(size_); }

    [[nodiscard]] std::size_t written() const noexcept { return written_; }

private:
    static constexpr std::size_t count(std::string_view /*one*/) noexcept { return 1; }
    static constexpr std::size_t most(std::string_view one) noexcept {
        return one.size() + around_argument;
    }
    static char* put(char* at, std::string_view one) noexcept { return write_argument(at, one); }

    template <word... Words>
    static constexpr std::size_t count(word_list<Words...> some) noexcept {
        return some.size;
    }
    template <word... Words>
    static constexpr std::size_t most(word_list<Words...> some) noexcept {
        return some.encoded().size();
    }
    template <word... Words>
    static char* put(char* at, word_list<Words...> some) noexcept {
        return std::copy_n(some.encoded().begin(), some.encoded().size(), at);
    }

    [[nodiscard]] char* room_for(std::size_t more) {
        if (to_.size() - size_ < more) {
            constexpr std::size_t at_first = 512;
            to_.resize(std::max(at_first, 2 * (size_ + more)));
        }
        return to_.data() + size_;
    }

    void end_at(const char* end) noexcept { size_ = static_cast<std::size_t>(end - to_.data()); }

    std::string& to_;
    std::size_t size_ = 0;
    std::size_t written_ = 0;
};

boost::redis::request::config request_settings() {
    boost::redis::request::config settings;
    settings.cancel_on_connection_lost = true;
    settings.cancel_if_not_connected = true;
    settings.cancel_if_unresponded = true;  // never replayed: see design, 3
    return settings;
}

/// A script with that number of keys, which come first, and its arguments.
template <word Keys, typename... Arguments>
void write_script(std::string_view script, std::string_view digest, script_form form,
                  command_writer& to, const Arguments&... arguments) {
    if (is_in_full(form)) {
        to.write(words<"EVAL">, script, words<Keys>, arguments...);
    } else {
        to.write(words<"EVALSHA">, digest, words<Keys>, arguments...);
    }
}

void write_release(const core::command& command, const dialect& dialect, script_form form,
                   command_writer& to) {
    if (!is_native(command.verb, dialect, form)) {
        write_script<"1">(scripts::release, dialect.release_digest, form, to, command.key,
                          command.token);
    } else if (dialect.native_delete == native_delete::delifeq) {
        to.write(words<"DELIFEQ">, command.key, command.token);
    } else {
        to.write(words<"DELEX">, command.key, words<"IFEQ">, command.token);
    }
}

/// As one.
void write_releases(std::span<const submission> them, const dialect& dialect, script_form form,
                    command_writer& to) {
    constexpr std::size_t before_keys = 3;
    to.begin(before_keys + 2 * them.size());
    if (is_in_full(form)) {
        to.add(words<"EVAL">);
        to.add(scripts::release_many);
    } else {
        to.add(words<"EVALSHA">);
        to.add(std::string_view(dialect.release_many_digest));
    }
    to.add(number(static_cast<long long>(them.size())).text());
    for (const submission& one : them) {
        to.add(one.command.key);
    }
    for (const submission& one : them) {
        to.add(one.command.token);
    }
}

void write_fence(const core::command& command, const dialect& dialect, script_form form,
                 command_writer& to) {
    const bool takes = command.verb == core::verb::acquire_fenced;
    const number ttl(takes ? command.ttl.count() : 0);
    const number fence(static_cast<long long>(command.fence));
    const number idle(std::chrono::milliseconds(fence_idle).count());
    write_script<"2">(scripts::fence, dialect.fence_digest, form, to, command.key,
                      fence_key(command.key), command.token, ttl.text(), fence.text(), idle.text());
}

void write_line(const core::command& command, const dialect& dialect, script_form form,
                command_writer& to) {
    const std::string queue = queue_key(command.key);
    const std::string ticket = ticket_key(command.key, command.fence);
    const number own(static_cast<long long>(command.fence));
    if (command.verb == core::verb::join_line) {
        write_script<"2">(scripts::join, dialect.join_digest, form, to, queue, ticket, own.text(),
                          number(command.ttl.count()).text(), ticket_prefix(command.key));
    } else {
        write_script<"2">(scripts::leave, dialect.leave_digest, form, to, queue, ticket,
                          own.text());
    }
}

void write(const core::command& command, const dialect& dialect, script_form form,
           command_writer& to) {
    switch (command.verb) {
        case core::verb::acquire:
            to.write(words<"SET">, command.key, command.token, words<"NX", "PX">,
                     number(command.ttl.count()).text());
            break;
        case core::verb::extend:
            write_script<"1">(scripts::extend, dialect.extend_digest, form, to, command.key,
                              command.token, number(command.ttl.count()).text());
            break;
        case core::verb::release:
            write_release(command, dialect, form, to);
            break;
        case core::verb::acquire_fenced:
        case core::verb::raise_fence:
            write_fence(command, dialect, form, to);
            break;
        case core::verb::join_line:
        case core::verb::leave_line:
            write_line(command, dialect, form, to);
            break;
        case core::verb::remaining:
            if (has_prelude(command.verb, dialect)) {
                to.write(words<"CLIENT", "CACHING", "YES">);
            }
            to.write(words<"PTTL">, command.key);
            break;
    }
}

}  // namespace

encoder::request_pointer encoder::encode(const batch& commands, const server_facts& facts,
                                         script_form form) {
    command_writer writer(text_);
    std::span<const submission> rest = commands.submissions();
    while (!rest.empty()) {
        const std::size_t count = sent_as_one(rest, facts.dialect, form);
        if (count == 1) {
            write(rest.front().command, facts.dialect, form, writer);
        } else {
            write_releases(rest.first(count), facts.dialect, form, writer);
        }
        rest = rest.subspan(count);
    }
    writer.finish();
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
                                                const server_facts& facts, script_form form) {
    if (last_ != commands || last_form_ != form || last_dialect_ != facts.dialect) {
        last_request_ = encode(*commands, facts, form);
        last_ = commands;
        last_form_ = form;
        last_dialect_ = facts.dialect;
    }
    return last_request_;
}

}  // namespace colock::instance::redis
