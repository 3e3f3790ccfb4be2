// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/commands.hpp"
#include "support/small_redis/execution.hpp"
#include "support/small_redis/lua_scripts.hpp"
#include "support/small_redis/server.hpp"

#include <string>

namespace colock::small_redis {
namespace {

constexpr std::size_t first_key = 3;

/// Returns the number of keys that the call of a script declares. Writes an error if it is invalid.
std::optional<std::size_t> declared_keys(execution& e) {
    const auto count = e.integer(2);
    if (!count) {
        return std::nullopt;
    }
    if (*count > static_cast<std::int64_t>(e.arguments.size() - first_key)) {
        e.out.error("ERR Number of keys can't be greater than number of args");
        return std::nullopt;
    }
    if (*count < 0) {
        e.out.error("ERR Number of keys can't be negative");
        return std::nullopt;
    }
    return static_cast<std::size_t>(*count);
}

void run(execution& e, const lua_scripts::script& which, std::size_t key_count) {
    script_run script{.was_out_of_memory = e.host.state.is_out_of_memory};
    execution call = e;
    call.script = &script;
    lua_scripts::of_this_thread().run(which, e.arguments.subspan(first_key, key_count),
                                      e.arguments.subspan(first_key + key_count), call);
}

/// Compiles a script and adds it to the server. Writes an error if it is invalid.
const lua_scripts::script* compile(execution& e, std::string_view text) {
    std::string error;
    const auto* const script = lua_scripts::of_this_thread().compile(text, error);
    if (script == nullptr) {
        e.out.error(error);
    } else {
        e.host.add_script(script->digest, script->text);
    }
    return script;
}

void report_no_script(execution& e) {
    e.out.error("NOSCRIPT " + std::string(e.host.dialect().no_script));
}

void eval(execution& e) {
    const auto count = declared_keys(e);
    if (!count) {
        return;
    }
    if (const auto* const script = compile(e, e.word(1))) {
        run(e, *script, *count);
    }
}

void evalsha(execution& e) {
    constexpr std::size_t digest_size = 40;
    if (e.word(1).size() != digest_size) {
        report_no_script(e);
        return;
    }
    const auto count = declared_keys(e);
    if (!count) {
        return;
    }
    std::string_view digest = e.word(1);
    const auto* text = e.host.find_script(digest);
    std::string lower;
    if (text == nullptr) {
        lower = digest;
        for (char& c : lower) {
            c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
        digest = lower;
        text = e.host.find_script(digest);
    }
    if (text == nullptr) {
        report_no_script(e);
        return;
    }
    lua_scripts& all = lua_scripts::of_this_thread();
    const auto* script = all.find(digest);
    std::string error;
    if (script == nullptr) {  // Another thread has compiled it without an error.
        script = all.compile(**text, error);
    }
    run(e, *script, *count);
}

void load(execution& e) {
    if (const auto* const script = compile(e, e.word(2))) {
        e.out.bulk(script->digest);
    }
}

void exists(execution& e) {
    e.out.array(e.arguments.size() - 2);
    for (std::size_t i = 2; i != e.arguments.size(); ++i) {
        e.out.integer(e.host.find_script(e.word(i)) != nullptr ? 1 : 0);
    }
}

void flush(execution& e) {
    const std::size_t count = e.arguments.size();
    if (count > 3 || (count == 3 && !is_word(e.word(2), "sync") && !is_word(e.word(2), "async"))) {
        e.out.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    e.host.forget_scripts();
    e.out.ok();
}

constexpr unsigned no_script = command::not_in_scripts;
constexpr key_positions declared{.first = first_key, .last = -1, .step = 1, .count_at = 2};

constexpr command commands[] = {
    {"eval", -3, no_script, declared, eval},      {"evalsha", -3, no_script, declared, evalsha},
    {"script", -2, command::has_subcommands},     {"script|load", 3, no_script, {}, load},
    {"script|exists", -3, no_script, {}, exists}, {"script|flush", -2, no_script, {}, flush},
};

}  // namespace

const std::span<const command> script_commands = commands;

}  // namespace colock::small_redis
