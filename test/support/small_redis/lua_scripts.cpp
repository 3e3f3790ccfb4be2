// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/lua_scripts.hpp"

#include "support/small_redis/execution.hpp"
#include "support/small_redis/lua_reply.hpp"
#include "support/small_redis/number_text.hpp"
#include "support/small_redis/server.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <lua.hpp>

// A Lua error jumps over C++ frames without running destructors. A function that may raise one therefore
// holds no object with a destructor at that moment. Out-of-memory errors are not handled.

namespace colock::small_redis {
namespace {

constexpr const char* readonly = "Attempt to modify a readonly table";

std::string_view text_at(lua_State* lua, int index) {
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua, index, &size);
    return text == nullptr ? std::string_view() : std::string_view(text, size);
}

void push(lua_State* lua, std::string_view text) {
    lua_pushlstring(lua, text.data(), text.size());
}

/// Pushes a table with one text field.
void push_reply(lua_State* lua, const char* field, std::string_view text) {
    lua_createtable(lua, 0, 1);
    push(lua, text);
    lua_setfield(lua, -2, field);
}

/// Raises an error in the form of a failed call.
int raise(lua_State* lua, std::string_view text) {
    push_reply(lua, "err", text);
    return lua_error(lua);
}

int refuse_change(lua_State* lua) {
    return luaL_error(lua, readonly);
}

int refuse_unknown_global(lua_State* lua) {
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                      lua_tostring(lua, 2));
}

/// Implements rawset. It leaves protected tables unchanged.
int raw_set(lua_State* lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checkany(lua, 2);
    luaL_checkany(lua, 3);
    if (luaL_getmetafield(lua, 1, "__metatable") != 0) {
        return raise(lua, "ERR Attempt to modify a readonly table");
    }
    lua_settop(lua, 3);
    lua_rawset(lua, 1);
    return 1;
}

/// Implements pcall. For the error of a command, the script gets a text instead of a table, like in Redis
/// before 7.
int catch_errors(lua_State* lua) {
    luaL_checkany(lua, 1);
    const int failed = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
    if (failed != 0 && lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        if (lua_isstring(lua, -1) != 0) {
            lua_replace(lua, -2);
        } else {
            lua_pop(lua, 1);
        }
    }
    lua_pushboolean(lua, failed == 0 ? 1 : 0);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

/// Converts an error to a table, and adds the line where it happened.
int add_place(lua_State* lua) {
    lua_Debug where{};
    bool is_known = lua_getstack(lua, 1, &where) != 0 && lua_getinfo(lua, "nSl", &where) != 0;
    if (is_known && std::string_view(where.what) == "C") {
        is_known = lua_getstack(lua, 2, &where) != 0 && lua_getinfo(lua, "nSl", &where) != 0;
    }
    if (!lua_istable(lua, 1)) {
        const bool is_text = lua_isstring(lua, 1) != 0;
        lua_pushfstring(lua, "ERR %s", is_text ? lua_tostring(lua, 1) : luaL_typename(lua, 1));
        lua_createtable(lua, 0, 3);
        lua_insert(lua, -2);
        lua_setfield(lua, -2, "err");
        lua_replace(lua, 1);
        lua_settop(lua, 1);
    }
    if (is_known) {
        lua_pushstring(lua, where.source);
        lua_setfield(lua, 1, "source");
        lua_pushinteger(lua, where.currentline);
        lua_setfield(lua, 1, "line");
    }
    return 1;
}

int make_error_reply(lua_State* lua) {
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        push_reply(lua, "err", "ERR wrong number or type of arguments");
        return 1;
    }
    // A text of one word has no code.
    std::string_view text = text_at(lua, 1);
    if (text.starts_with('-')) {
        text.remove_prefix(1);
    }
    if (text.find(' ') == std::string_view::npos) {
        lua_pushliteral(lua, "ERR ");
        push(lua, text);
        lua_concat(lua, 2);
        text = text_at(lua, -1);
    }
    push_reply(lua, "err", text);
    return 1;
}

int make_status_reply(lua_State* lua) {
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        push_reply(lua, "err", "ERR wrong number or type of arguments");
        return 1;
    }
    push_reply(lua, "ok", text_at(lua, 1));
    return 1;
}

int make_sha1(lua_State* lua) {
    if (lua_gettop(lua) != 1) {
        return raise(lua, "ERR wrong number of arguments");
    }
    const std::string_view text = text_at(lua, 1);
    push(lua, sha1_hex(text));
    return 1;
}

int write_log(lua_State* lua) {
    if (lua_gettop(lua) < 2) {
        return raise(lua, "ERR redis.log() requires two arguments or more.");
    }
    if (lua_isnumber(lua, 1) == 0) {
        return raise(lua, "ERR First argument must be a number (log level).");
    }
    return 0;
}

int do_nothing(lua_State* /*lua*/) {
    return 0;
}

/// Replaces the table on the top of the stack by a read-only view of it.
void protect(lua_State* lua) {
    lua_newtable(lua);
    lua_createtable(lua, 0, 3);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, refuse_change);
    lua_setfield(lua, -2, "__newindex");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
    lua_remove(lua, -2);
}

/// Opens the libraries that scripts may use.
void open_libraries(lua_State* lua) {
    constexpr std::array<luaL_Reg, 4> libraries{{
        {"", luaopen_base},
        {LUA_TABLIBNAME, luaopen_table},
        {LUA_STRLIBNAME, luaopen_string},
        {LUA_MATHLIBNAME, luaopen_math},
    }};
    for (const luaL_Reg& one : libraries) {
        lua_pushcfunction(lua, one.func);
        lua_pushstring(lua, one.name);
        lua_call(lua, 1, 0);
    }
    for (const char* const name : {"print", "loadfile", "dofile", "getfenv", "setfenv", "newproxy",
                                   "load", "loadstring", "module", "require"}) {
        lua_pushnil(lua);
        lua_setglobal(lua, name);
    }
    lua_register(lua, "rawset", raw_set);
    lua_register(lua, "pcall", catch_errors);
    for (const char* const name : {"table", "string", "math", "coroutine"}) {
        lua_getglobal(lua, name);
        protect(lua);
        lua_setglobal(lua, name);
    }
}

/// Converts the result of a script. The conversion of a table depends on its fields.
struct result_writer {
    lua_State* lua;
    reply& out;

    /// Writes the value on the top of the stack, and removes it.
    void write() {  // NOLINT(misc-no-recursion)
        switch (lua_type(lua, -1)) {
            case LUA_TSTRING:
                out.bulk(text_at(lua, -1));
                break;
            case LUA_TBOOLEAN:
                lua_toboolean(lua, -1) != 0 ? out.integer(1) : out.null();
                break;
            case LUA_TNUMBER:
                out.integer(to_integer(lua_tonumber(lua, -1)));
                break;
            case LUA_TTABLE:
                write_table();
                break;
            default:
                out.null();
        }
        lua_pop(lua, 1);
    }

private:
    /// Converts like the processor. A value that does not fit becomes the smallest integer.
    static std::int64_t to_integer(double value) {
        constexpr double limit = 9'223'372'036'854'775'808.0;
        return value >= -limit && value < limit ? static_cast<std::int64_t>(value)
                                                : std::numeric_limits<std::int64_t>::min();
    }

    /// Pushes a field of the table on the top of the stack.
    bool has(const char* field, int type) {
        lua_pushstring(lua, field);
        lua_rawget(lua, -2);
        if (lua_type(lua, -1) == type) {
            return true;
        }
        lua_pop(lua, 1);
        return false;
    }

    void write_table() {  // NOLINT(misc-no-recursion)
        if (lua_checkstack(lua, 6) == 0) {
            out.error("ERR reached lua stack limit");
            return;
        }
        if (has("err", LUA_TSTRING)) {
            out.error(text_at(lua, -1));
        } else if (has("ok", LUA_TSTRING)) {
            out.status(text_at(lua, -1));
        } else if (has("double", LUA_TNUMBER)) {
            out.real(lua_tonumber(lua, -1));
        } else if (has("map", LUA_TTABLE)) {
            write_pairs(true);
        } else if (has("set", LUA_TTABLE)) {
            write_pairs(false);
        } else {
            write_array();
            return;
        }
        lua_pop(lua, 1);
    }

    void write_pairs(bool is_map) {  // NOLINT(misc-no-recursion)
        std::size_t size = 0;
        for (lua_pushnil(lua); lua_next(lua, -2) != 0; ++size) {
            lua_pop(lua, 1);
        }
        is_map ? out.map(size) : out.set(size);
        lua_pushnil(lua);
        while (lua_next(lua, -2) != 0) {
            lua_pushvalue(lua, -2);
            write();
            is_map ? write() : lua_pop(lua, 1);
        }
    }

    /// An array ends before its first nil.
    void write_array() {  // NOLINT(misc-no-recursion)
        int size = 0;
        for (lua_rawgeti(lua, -1, 1); !lua_isnil(lua, -1); lua_rawgeti(lua, -1, size + 1)) {
            lua_pop(lua, 1);
            ++size;
        }
        lua_pop(lua, 1);
        out.array(static_cast<std::size_t>(size));
        for (int i = 1; i <= size; ++i) {
            lua_rawgeti(lua, -1, i);
            write();
        }
    }
};

/// The allocator of an interpreter. Scripts create and drop many small objects, so it keeps free lists by
/// size. Large objects come from the system allocator.
class small_objects {
public:
    /// Has the signature of `lua_Alloc`.
    static void* change(void* self, void* old, std::size_t old_size, std::size_t size) {
        return static_cast<small_objects*>(self)->change(old, old_size, size);
    }

private:
    static constexpr std::size_t step = 16;
    static constexpr std::size_t largest = 512;
    static constexpr std::size_t block = std::size_t{64} * 1024;

    void* change(void* old, std::size_t old_size, std::size_t size) {
        if (old == nullptr) {
            old_size = 0;
        }
        if (old_size > largest && size > largest) {
            return std::realloc(old, size);
        }
        if (old_size != 0 && size != 0 && class_of(old_size) == class_of(size)) {
            return old;
        }
        void* const result = size != 0 ? take(size) : nullptr;
        if (old_size != 0 && (result != nullptr || size == 0)) {
            if (result != nullptr) {
                std::memcpy(result, old, std::min(old_size, size));
            }
            give_back(old, old_size);
        }
        return result;
    }

    static std::size_t class_of(std::size_t size) {
        return size > largest ? largest / step : (size - 1) / step;
    }

    void* take(std::size_t size) {
        if (size > largest) {
            return std::malloc(size);
        }
        void*& first = free_[class_of(size)];
        if (first == nullptr) {
            const std::size_t each = (class_of(size) + 1) * step;
            char* const made =
                blocks_.emplace_back(std::make_unique_for_overwrite<char[]>(block)).get();
            for (std::size_t at = 0; at + each <= block; at += each) {
                give_back(made + at, size);
            }
        }
        void* const result = first;
        std::memcpy(&first, result, sizeof first);
        return result;
    }

    void give_back(void* one, std::size_t size) {
        if (size > largest) {
            std::free(one);
            return;
        }
        void*& first = free_[class_of(size)];
        std::memcpy(one, &first, sizeof first);
        first = one;
    }

    std::array<void*, largest / step> free_{};  // The first free object of each size.
    std::vector<std::unique_ptr<char[]>> blocks_;
};

}  // namespace

struct lua_scripts::memory {
    small_objects objects;
};

std::string sha1_hex(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string result;
    for (unsigned i = 0; i != size; ++i) {
        result += digits[digest[i] / 16];
        result += digits[digest[i] % 16];
    }
    return result;
}

lua_scripts& lua_scripts::of_this_thread() {
    thread_local lua_scripts result;
    return result;
}

lua_scripts::lua_scripts()
    : memory_(std::make_unique<memory>()),
      lua_(lua_newstate(small_objects::change, &memory_->objects)) {
    if (lua_ == nullptr) {
        throw std::bad_alloc();
    }
    open_libraries(lua_);

    lua_newtable(lua_);
    for (const auto& [name, raises_errors] : {std::pair("call", true), std::pair("pcall", false)}) {
        lua_pushlightuserdata(lua_, this);
        lua_pushcclosure(lua_, raises_errors ? call : protected_call, 1);
        lua_setfield(lua_, -2, name);
    }
    constexpr std::array<luaL_Reg, 8> functions{{
        {"error_reply", make_error_reply},
        {"status_reply", make_status_reply},
        {"sha1hex", make_sha1},
        {"log", write_log},
        {"breakpoint", do_nothing},
        {"debug", do_nothing},
        {"replicate_commands", do_nothing},
        {"set_repl", do_nothing},
    }};
    for (const luaL_Reg& one : functions) {
        lua_pushcfunction(lua_, one.func);
        lua_setfield(lua_, -2, one.name);
    }
    constexpr std::array<const char*, 4> levels{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE",
                                                "LOG_WARNING"};
    for (std::size_t i = 0; i != levels.size(); ++i) {
        lua_pushinteger(lua_, static_cast<lua_Integer>(i));
        lua_setfield(lua_, -2, levels[i]);
    }
    protect(lua_);
    lua_setglobal(lua_, "redis");

    // Access to a missing global is an error. Scripts see only a read-only view of the globals.
    lua_pushvalue(lua_, LUA_GLOBALSINDEX);
    lua_createtable(lua_, 0, 1);
    lua_pushcfunction(lua_, refuse_unknown_global);
    lua_setfield(lua_, -2, "__index");
    lua_setmetatable(lua_, -2);
    lua_pushvalue(lua_, -1);
    globals_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
    protect(lua_);
    lua_pushvalue(lua_, -1);
    lua_setglobal(lua_, "_G");
    environment_ = luaL_ref(lua_, LUA_REGISTRYINDEX);

    lua_pushcfunction(lua_, add_place);
    error_handler_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
}

lua_scripts::~lua_scripts() {
    lua_close(lua_);
}

const lua_scripts::script* lua_scripts::compile(std::string_view text, std::string& error) {
    const auto found = by_text_.find(text);
    if (found != by_text_.end()) {
        return found->second;
    }
    if (luaL_loadbuffer(lua_, text.data(), text.size(), "@user_script") != 0) {
        error = "ERR Error compiling script (new function): " + std::string(text_at(lua_, -1));
        lua_pop(lua_, 1);
        return nullptr;
    }
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, environment_);
    lua_setfenv(lua_, -2);
    const script& added =
        scripts_.emplace_back(script{luaL_ref(lua_, LUA_REGISTRYINDEX), sha1_hex(text),
                                     std::make_shared<const std::string>(text)});
    by_text_.emplace(*added.text, &added);
    by_digest_.emplace(added.digest, &added);
    return &added;
}

const lua_scripts::script* lua_scripts::find(std::string_view digest) const {
    const auto found = by_digest_.find(digest);
    return found == by_digest_.end() ? nullptr : found->second;
}

void lua_scripts::set_global(const char* name, words values) {
    lua_createtable(lua_, static_cast<int>(values.size()), 0);
    for (std::size_t i = 0; i != values.size(); ++i) {
        push(lua_, values[i]);
        lua_rawseti(lua_, -2, static_cast<int>(i) + 1);
    }
    lua_setfield(lua_, -2, name);
}

void lua_scripts::run(const script& which, words keys, words arguments, execution& e) {
    current_ = &e;
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, globals_);
    set_global("KEYS", keys);
    set_global("ARGV", arguments);
    lua_pop(lua_, 1);
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, error_handler_);
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, which.reference);
    const int failed = lua_pcall(lua_, 0, 1, -2);
    current_ = nullptr;
    if (failed == 0) {
        result_writer{lua_, e.out}.write();
    } else {
        write_failure(which, e);
    }
    lua_settop(lua_, 0);
}

/// Writes the error on the top of the stack. It is a table, except after an error in the handler itself.
void lua_scripts::write_failure(const script& which, execution& e) {
    const auto field = [this](const char* name) {
        if (!lua_istable(lua_, -1)) {
            return std::string();
        }
        lua_getfield(lua_, -1, name);
        std::string result(text_at(lua_, -1));
        lua_pop(lua_, 1);
        return result;
    };
    std::string text = field("err");
    if (text.empty()) {
        text = "ERR unknown error";
    }
    const std::string source = field("source");
    const std::string line = field("line");
    if (!source.empty() && !line.empty()) {
        const bool has_digest = e.host.dialect().names_failed_script;
        text += " script: " + (has_digest ? which.digest + ", " : std::string()) + "on " + source +
                ":" + line + ".";
    }
    e.out.error(text);
}

int lua_scripts::call(lua_State* lua) {
    auto* const self = static_cast<lua_scripts*>(lua_touserdata(lua, lua_upvalueindex(1)));
    return self->call_server(lua, true) ? 1 : lua_error(lua);
}

int lua_scripts::protected_call(lua_State* lua) {
    auto* const self = static_cast<lua_scripts*>(lua_touserdata(lua, lua_upvalueindex(1)));
    self->call_server(lua, false);
    return 1;
}

/// Executes the command on the stack and pushes the reply. Returns false if the reply is an error that must
/// be raised.
bool lua_scripts::call_server(lua_State* lua, bool raises_errors) {
    constexpr int most_without_memory = 16;
    std::array<std::string_view, most_without_memory> few;
    std::vector<std::string_view> many;
    execution& caller = *current_;
    const dialect& speaks = caller.host.dialect();
    lua_reply out(lua, speaks);

    const int count = lua_gettop(lua);
    if (count > most_without_memory) {
        many.resize(static_cast<std::size_t>(count));
    }
    const std::span<std::string_view> command(
        count > most_without_memory ? many.data() : few.data(), static_cast<std::size_t>(count));
    bool is_valid = true;
    for (int i = 1; i <= count && is_valid; ++i) {
        if (lua_type(lua, i) == LUA_TNUMBER) {
            push(lua, number_text(lua_tonumber(lua, i), speaks.has_shortest_numbers).text());
            lua_replace(lua, i);
        }
        is_valid = lua_type(lua, i) == LUA_TSTRING;
        command[static_cast<std::size_t>(i - 1)] = text_at(lua, i);
    }
    if (count == 0) {
        out.error("ERR " + std::string(speaks.no_arguments_in_script));
    } else if (!is_valid) {
        out.error("ERR " + std::string(speaks.wrong_arguments_in_script));
    } else {
        execution e{caller.host, caller.client, command, caller.now, out, caller.script, &caller};
        caller.host.call_from_script(e);
    }
    return !(raises_errors && out.has_failed());
}

}  // namespace colock::small_redis
