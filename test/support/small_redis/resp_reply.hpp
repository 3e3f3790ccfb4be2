// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_RESP_REPLY_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_RESP_REPLY_HPP

#include "support/small_redis/dialect.hpp"
#include "support/small_redis/reply.hpp"

#include <string>
#include <string_view>

namespace colock::small_redis {

/// Appends replies to a buffer as RESP3.
class resp_reply final : public reply {
public:
    /// Both arguments must outlive the object.
    resp_reply(std::string& buffer, const dialect& speaks) : to_(buffer), dialect_(speaks) {}

    void status(std::string_view text) override { line('+', text); }
    void integer(std::int64_t value) override;
    void real(double value) override;
    void bulk(std::string_view text) override { text_with_size('$', {}, text); }
    void verbatim(std::string_view text) override { text_with_size('=', "txt:", text); }
    void null() override { to_ += "_\r\n"; }
    void boolean(bool value) override { to_ += value ? "#t\r\n" : "#f\r\n"; }
    void array(std::size_t size) override { header('*', size); }
    void map(std::size_t size) override { header('%', size); }
    void set(std::size_t size) override { header('~', size); }
    [[nodiscard]] bool has_pairs() const noexcept override { return true; }

    /// Begins a push of this size.
    void push(std::size_t size) { header('>', size); }

private:
    void write_error(std::string_view text) override { line('-', text); }
    void line(char kind, std::string_view text);
    void header(char kind, std::size_t size);
    void text_with_size(char kind, std::string_view format, std::string_view text);

    std::string& to_;
    const dialect& dialect_;
};

}  // namespace colock::small_redis

#endif
