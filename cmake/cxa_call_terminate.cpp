// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Debian's newer Boost archives are built by g++ 13 or later, which ends a program that throws out of a noexcept function
// through this entry point of the C++ ABI. The libstdc++ of g++ 12 has none; find_boost.cmake links this one there.

#include <cxxabi.h>

#include <exception>

extern "C" [[noreturn]] void __cxa_call_terminate(void* exception) noexcept {
    if (exception != nullptr) {
        abi::__cxa_begin_catch(exception);
    }
    std::terminate();
}
