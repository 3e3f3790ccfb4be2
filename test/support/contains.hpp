// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_CONTAINS_HPP
#define COLOCK_TEST_SUPPORT_CONTAINS_HPP

#include <string_view>

namespace colock::test {

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace colock::test

#endif
