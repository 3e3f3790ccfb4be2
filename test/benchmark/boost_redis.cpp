// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The implementation of Boost.Redis, which a program that uses it compiles once.
#include <boost/redis/src.hpp>
