// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_FIELD_REFUSED_HPP
#define COLOCK_TEST_SUPPORT_FIELD_REFUSED_HPP

#include <colock/error.hpp>

#include <concepts>
#include <string>

namespace colock::test {

/// Returns the field that the library rejects with `config_error`, or an empty text if it rejects none.
std::string field_refused(const std::invocable auto& action) {
    try {
        action();
    } catch (const config_error& e) {
        return e.field();
    }
    return {};
}

}  // namespace colock::test

#endif
