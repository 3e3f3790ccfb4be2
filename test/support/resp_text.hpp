// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_RESP_TEXT_HPP
#define COLOCK_TEST_SUPPORT_RESP_TEXT_HPP

#include "resp/reader.hpp"
#include "resp/value.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace colock::test {

/// Returns the first byte of a value, and its text.
inline std::string to_text(const resp::value& v) {
    constexpr std::string_view first_bytes = "+-:_#,($!=*~>%|";
    return first_bytes[static_cast<std::size_t>(v.type)] + std::string(v.text);
}

/// Returns the next value with all that it contains, such as `*[:1 $text]`.
inline std::string to_text(resp::cursor& values) {  // NOLINT(misc-no-recursion)
    const resp::value v = values.next();
    std::string result = to_text(v);
    if (v.type < resp::type::array) {
        return result;
    }
    result += '[';
    for (std::size_t i = 0; i != v.children; ++i) {
        result += (i == 0 ? "" : " ") + to_text(values);
    }
    return result + ']';
}

}  // namespace colock::test

#endif
