# colock_warnings(target): our own warnings, all of them errors, PRIVATE, so that none reaches a consumer.

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
        # Asio's fences, seen through templates: ThreadSanitizer does not model them, and says so.
        target_compile_options(${target} PRIVATE -Wno-tsan)
        if(COLOCK_SANITIZED)
            # GCC documents these as unreliable together with -fsanitize.
            target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
            # At -O1 it inlines one end only of how Asio allocates the frames of coroutines.
            target_compile_options(${target} PRIVATE -Wno-mismatched-new-delete)
        endif()
    elseif(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 15)
        # std::stable_sort of libstdc++ 12 calls a function that libstdc++ itself deprecates. GCC reports our own calls.
        target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
    endif()
endfunction()
