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

/// The SHA-1 of a text, in hexadecimal digits.
std::string sha1_hex(std::string_view text);

/// Compiles scripts, keeps them compiled, and runs them, with Lua 5.1 as servers do. All servers of a thread share one. Which server
/// knows which script is not its business.
class lua_scripts {
public:
    static lua_scripts& of_this_thread();

    lua_scripts(const lua_scripts&) = delete;
    lua_scripts& operator=(const lua_scripts&) = delete;
    ~lua_scripts();

    /// A script that can be run.
    struct script {
        int reference = 0;  ///< its function, in the registry of Lua
        std::string digest;
        std::shared_ptr<const std::string> text;
    };

    /// A script that was compiled, or null.
    [[nodiscard]] const script* find(std::string_view digest) const;

    /// The script, compiled. Null if it is wrong, and then the error is in `error`.
    const script* compile(std::string_view text, std::string& error);

    /// Runs a script. `e` is the command that calls it. Its keys and its arguments are those.
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
    int environment_ = 0;  // references
    int globals_ = 0;
    int error_handler_ = 0;
    std::deque<script> scripts_;
    std::unordered_map<std::string_view, const script*> by_text_;
    std::unordered_map<std::string_view, const script*> by_digest_;
    execution* current_ = nullptr;  // the call of the script that runs
};

}  // namespace colock::small_redis

#endif
