// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The consumer's own copy of the implementation of Boost.Redis. colock exports none that could collide with
// it.
#include <boost/redis/src.hpp>
