// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/lua_reply.hpp"

#include "support/small_redis/number_text.hpp"

#include <cassert>

#include <lua.hpp>

namespace colock::small_redis {
namespace {

void push(lua_State* lua, std::string_view text) {
    lua_pushlstring(lua, text.data(), text.size());
}

}  // namespace

void lua_reply::status(std::string_view text) {
    lua_createtable(lua_, 0, 1);
    push(lua_, text);
    lua_setfield(lua_, -2, "ok");
    finish_value();
}

void lua_reply::write_error(std::string_view text) {
    lua_createtable(lua_, 0, 2);
    push(lua_, text);
    lua_setfield(lua_, -2, "err");
    lua_pushboolean(lua_, 1);
    lua_setfield(lua_, -2, "ignore_error_stats_update");
    finish_value();
}

void lua_reply::integer(std::int64_t value) {
    lua_pushnumber(lua_, static_cast<lua_Number>(value));
    finish_value();
}

void lua_reply::real(double value) {
    bulk(number_text(value, dialect_.has_shortest_numbers).text());
}

void lua_reply::bulk(std::string_view text) {
    push(lua_, text);
    finish_value();
}

void lua_reply::null() {
    lua_pushboolean(lua_, 0);
    finish_value();
}

void lua_reply::array(std::size_t size) {
    lua_createtable(lua_, static_cast<int>(size), 0);
    if (size == 0) {
        finish_value();
        return;
    }
    assert(depth_ != open_.size());
    open_[depth_++] = {size, 0};
}

/// Stores the value on the top of the stack in the innermost open array, if there is one.
void lua_reply::finish_value() {
    while (depth_ != 0) {
        open_array& inner = open_[depth_ - 1];
        lua_rawseti(lua_, -2, ++inner.filled);
        if (static_cast<std::size_t>(inner.filled) != inner.size) {
            return;
        }
        --depth_;  // The array itself is now a finished value.
    }
}

}  // namespace colock::small_redis
