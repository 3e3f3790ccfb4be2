// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_INSTANCE_SET_TEXT_HPP
#define COLOCK_TEST_SUPPORT_INSTANCE_SET_TEXT_HPP

#include "core/instance_set.hpp"

#include <cstddef>
#include <string>

namespace colock::test {

/// Returns the indexes of the set, such as "13", among the first `instances`.
inline std::string to_text(const core::instance_set& some,
                           std::size_t instances = core::instance_set::most) {
    std::string result;
    for (std::size_t i = 0; i != instances; ++i) {
        result += some.contains(i) ? std::to_string(i) : "";
    }
    return result;
}

}  // namespace colock::test

#endif
