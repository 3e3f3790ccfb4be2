// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_SCRIPT_HPP
#define COLOCK_KINDS_SCRIPT_HPP

#include "kinds/capabilities.hpp"
#include "resp/writer.hpp"

#include <string_view>

namespace colock::kinds {

/// A Lua script for a server. (Made of a .lua file: see cmake/embed_lua.cmake.)
struct script {
    std::string_view text;
    std::string_view
        digest;  ///< its SHA-1 in hexadecimal digits, by which a server knows it that has seen it
};

/// A call of a script with that number of keys, which come first, and its arguments.
template <resp::word Keys, typename... Arguments>
void write_script(const script& called, script_form form, resp::command_writer& to,
                  const Arguments&... arguments) {
    if (is_in_full(form)) {
        to.write(resp::words<"EVAL">, called.text, resp::words<Keys>, arguments...);
    } else {
        to.write(resp::words<"EVALSHA">, called.digest, resp::words<Keys>, arguments...);
    }
}

}  // namespace colock::kinds

#endif
