# colock_warnings(target): enables the warnings of colock, all as errors. They are PRIVATE, so that none
# reaches a consumer.

include_guard(GLOBAL)

function(colock_warnings target)
    if(NOT COLOCK_WARNINGS)
        return()
    endif()
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
            # False alarms on std::string at -O2 and above (GCC bug 105651).
            target_compile_options(${target} PRIVATE -Wno-restrict)
        endif()
        # ThreadSanitizer does not model the fences in Asio's templates, and GCC warns about each of them.
        target_compile_options(${target} PRIVATE -Wno-tsan)
        if(COLOCK_SANITIZED)
            # GCC documents this warning as unreliable together with -fsanitize.
            target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
            # At -O1, GCC inlines either the allocation or the deallocation of Asio's coroutine
            # frames, but not both.
            target_compile_options(${target} PRIVATE -Wno-mismatched-new-delete)
        endif()
    elseif(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 15)
        # std::stable_sort of libstdc++ 12 calls a function that libstdc++ itself deprecates. GCC reports our own calls.
        target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
    endif()
endfunction()
