// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Replaces the function that starts a thread. It is linked to each test that has neither THREADS nor
// SUPPORT_THREADS: see colock_test().

#include <pthread.h>

#include <cstdio>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* /*id*/, const pthread_attr_t* /*attributes*/,
                              void* (* /*run*/)(void*), void* /*argument*/) {
    std::fputs("This test starts a thread. If a further thread uses colock, add THREADS to its "
               "colock_test(), so that ThreadSanitizer runs it. Otherwise add SUPPORT_THREADS.\n",
               stderr);
    std::abort();
}
