// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Debian's newer Boost archives are built by g++ 13 or later. If an exception leaves a noexcept function,
// their code ends the program through this entry point of the C++ ABI. The libstdc++ of g++ 12 does not have
// it, so find_boost.cmake links this one.

#include <cxxabi.h>

#include <exception>

extern "C" [[noreturn]] void __cxa_call_terminate(void* exception) noexcept {
    if (exception != nullptr) {
        abi::__cxa_begin_catch(exception);
    }
    std::terminate();
}
