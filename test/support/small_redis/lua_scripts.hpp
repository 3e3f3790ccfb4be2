// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_LUA_SCRIPTS_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_LUA_SCRIPTS_HPP

#include "support/small_redis/command_table.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

struct lua_State;

namespace colock::small_redis {

struct execution;

/// Returns the SHA-1 of a text, in hexadecimal digits.
std::string sha1_hex(std::string_view text);

/// Compiles, caches and runs scripts with Lua 5.1, like the real servers. All servers of a thread share one
/// object. Each server itself records which scripts it has loaded.
class lua_scripts {
public:
    static lua_scripts& of_this_thread();

    lua_scripts(const lua_scripts&) = delete;
    lua_scripts& operator=(const lua_scripts&) = delete;
    ~lua_scripts();

    /// A compiled script.
    struct script {
        int reference = 0;  ///< The reference to its function in the Lua registry.
        std::string digest;
        std::shared_ptr<const std::string> text;
    };

    /// Returns a compiled script, or null.
    [[nodiscard]] const script* find(std::string_view digest) const;

    /// Returns the compiled script. If it is invalid, returns null and sets `error`.
    const script* compile(std::string_view text, std::string& error);

    /// Runs a script with these keys and arguments. `e` is the command that calls it.
    void run(const script& which, words keys, words arguments, execution& e);

private:
    lua_scripts();

    static int call(lua_State* lua);
    static int protected_call(lua_State* lua);
    bool call_server(lua_State* lua, bool raises_errors);
    void set_global(const char* name, words values);
    void write_failure(const script& which, execution& e);

    struct memory;

    std::unique_ptr<memory> memory_;
    lua_State* lua_;
    int environment_ = 0;  // References in the Lua registry.
    int globals_ = 0;
    int error_handler_ = 0;
    std::deque<script> scripts_;
    std::unordered_map<std::string_view, const script*> by_text_;
    std::unordered_map<std::string_view, const script*> by_digest_;
    execution* current_ = nullptr;  // The call of the running script.
};

}  // namespace colock::small_redis

#endif
