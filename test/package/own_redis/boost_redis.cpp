// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The consumer's own copy of the implementation of Boost.Redis: colock brings none that it could collide with.
#include <boost/redis/src.hpp>
