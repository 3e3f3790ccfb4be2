// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_PACKAGE_SHARED_LIBRARY_PART_HPP
#define COLOCK_TEST_PACKAGE_SHARED_LIBRARY_PART_HPP

#include <string>

/// Acquires a lock and releases it. Returns its resource.
std::string lock_once();

#endif
