// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_LUA_REPLY_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_LUA_REPLY_HPP

#include "support/small_redis/dialect.hpp"
#include "support/small_redis/reply.hpp"

#include <array>
#include <cstddef>
#include <string_view>

struct lua_State;

namespace colock::small_redis {

/// Pushes a reply onto the Lua stack in the form that scripts receive. Scripts receive RESP2 replies.
class lua_reply final : public reply {
public:
    lua_reply(lua_State* lua, const dialect& speaks) : lua_(lua), dialect_(speaks) {}

    void status(std::string_view text) override;
    void integer(std::int64_t value) override;
    void real(double value) override;
    void bulk(std::string_view text) override;
    void verbatim(std::string_view text) override { bulk(text); }
    void null() override;
    void boolean(bool value) override { integer(value ? 1 : 0); }
    void array(std::size_t size) override;
    void map(std::size_t size) override { array(2 * size); }
    void set(std::size_t size) override { array(size); }
    [[nodiscard]] bool has_pairs() const noexcept override { return false; }

private:
    struct open_array {
        std::size_t size = 0;
        int filled = 0;
    };

    void write_error(std::string_view text) override;
    void finish_value();

    lua_State* lua_;
    const dialect& dialect_;
    std::array<open_array, 8> open_{};
    std::size_t depth_ = 0;
};

}  // namespace colock::small_redis

#endif
