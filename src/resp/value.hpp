// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RESP_VALUE_HPP
#define COLOCK_RESP_VALUE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock::resp {

/// The types of RESP3 (https://redis.io/docs/latest/develop/reference/protocol-spec/).
enum class type : std::uint8_t {
    simple_string,
    simple_error,
    number,
    null,
    boolean,
    real,
    big_number,
    bulk_string,
    bulk_error,
    verbatim_string,
    array,
    set,
    push,
    map,
    attribute,
};

/// One value of a reply, without the values that it contains. Its text is a view of the bytes that were read.
struct value {
    resp::type type = type::null;
    /// For a scalar: as received. A verbatim string comes without its format.
    std::string_view text;
    std::size_t children = 0;  ///< How many values it contains. Two for each entry of a map.
};

constexpr bool is_error(const value& v) noexcept {
    return v.type == type::simple_error || v.type == type::bulk_error;
}

}  // namespace colock::resp

#endif
