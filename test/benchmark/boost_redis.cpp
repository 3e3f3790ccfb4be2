// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The implementation of Boost.Redis. A program must compile it in exactly one source file.
#include <boost/redis/src.hpp>
