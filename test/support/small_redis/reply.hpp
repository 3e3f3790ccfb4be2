// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_REPLY_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_REPLY_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock::small_redis {

/// The destination of a reply: bytes for a client, or a Lua value for a script.
class reply {
public:
    reply() = default;
    reply(const reply&) = delete;
    reply& operator=(const reply&) = delete;
    virtual ~reply() = default;

    virtual void status(std::string_view text) = 0;
    /// Writes an error. `text` contains the code.
    void error(std::string_view text) {
        has_failed_ = true;
        write_error(text);
    }
    virtual void integer(std::int64_t value) = 0;
    virtual void real(double value) = 0;
    virtual void bulk(std::string_view text) = 0;
    virtual void verbatim(std::string_view text) = 0;
    virtual void null() = 0;
    virtual void boolean(bool value) = 0;
    /// Begins an array of this size. Its values follow.
    virtual void array(std::size_t size) = 0;
    /// Begins a map of this size. Its pairs follow.
    virtual void map(std::size_t size) = 0;
    virtual void set(std::size_t size) = 0;
    /// Returns true if members and scores come as pairs. Otherwise they alternate, like in RESP2.
    [[nodiscard]] virtual bool has_pairs() const noexcept = 0;

    void ok() { status("OK"); }
    void wrong_type() {
        error("WRONGTYPE Operation against a key holding the wrong kind of value");
    }
    void syntax_error() { error("ERR syntax error"); }
    void not_an_integer() { error("ERR value is not an integer or out of range"); }

    /// Returns true if an error was written.
    [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

private:
    virtual void write_error(std::string_view text) = 0;

    bool has_failed_ = false;
};

}  // namespace colock::small_redis

#endif
