// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/thread_check.hpp"

#include <cstdio>
#include <cstdlib>

namespace colock::runtime {

void thread_check::end_program() noexcept {
    std::fputs(
        "colock: two threads have used a client, or its locks and leases, at the same time. Set "
        "config::thread_safe, or use them on the client's executor only, one thread at a time.\n",
        stderr);
    std::abort();
}

}  // namespace colock::runtime
