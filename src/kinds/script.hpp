// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_SCRIPT_HPP
#define COLOCK_KINDS_SCRIPT_HPP

#include "kinds/capabilities.hpp"
#include "resp/writer.hpp"

#include <initializer_list>
#include <span>
#include <string_view>

namespace colock::kinds {

/// A Lua script for a server. It is generated from a .lua file: see cmake/embed_lua.cmake.
struct script {
    std::string_view text;
    /// Its SHA-1 in hexadecimal digits. A server that has seen the script accepts the digest
    /// instead of the text.
    std::string_view digest;
};

/// Writes a call of a script with its keys and its arguments.
template <typename... Arguments>
void write_script(const script& called, script_form form, resp::command_writer& to,
                  std::span<const std::string_view> keys, const Arguments&... arguments) {
    const resp::number key_count(static_cast<long long>(keys.size()));
    if (is_in_full(form)) {
        to.write(resp::words<"EVAL">, called.text, key_count.text(), keys, arguments...);
    } else {
        to.write(resp::words<"EVALSHA">, called.digest, key_count.text(), keys, arguments...);
    }
}
template <typename... Arguments>
void write_script(const script& called, script_form form, resp::command_writer& to,
                  std::initializer_list<std::string_view> keys, const Arguments&... arguments) {
    write_script(called, form, to, std::span(keys.begin(), keys.size()), arguments...);
}

}  // namespace colock::kinds

#endif
