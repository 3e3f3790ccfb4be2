# colock_test(NAME SOURCES file... [LABELS label...] [TIMEOUT seconds] [LIBRARIES target...]
#             [LAYERS layer...] [SERIAL | WAITS] [THREADS | SUPPORT_THREADS]
#             [SERVERS_TOO | REDIS8_TOO | VALKEY_ONLY])
#
# Defines one Boost.Test executable, registered with ctest under its own name. It may include the layers'
# headers ("core/...") and the public ones. A main function is linked to it, so its sources include
# <boost/test/unit_test.hpp>. A test with a main of its own includes <boost/test/included/unit_test.hpp> in
# one of its sources.
#
# LAYERS: the executable links only these folders of src. It cannot include the public headers.
#
# LABELS:
# - `unit`: tests without servers.
# - `integration`: tests that need servers.
# - `conformance`: the same votes from every kind of instance.
# - `package`: consumers of the installed library.
# - `interop`: other libraries.
# - `page`: the page of the like counter in a browser.
# - `prometheus`: metrics, checked by promtool.
# - `chaos`: random faults.
# - `versions`: servers of other versions than the system's.
# - `long`: tests that take more than a minute.
#
# SERIAL: the test measures time, so nothing runs in parallel with it. Integration tests are serial too,
# except with WAITS. WAITS: the test mostly waits for time to pass. On two processors, four such tests run at
# a time, according to the presets' "jobs". A test that keeps a processor busy, as a unit test does, counts as
# two (PROCESSORS).
#
# THREADS: more than one thread uses colock. ThreadSanitizer runs only these tests, because it finds nothing
# where one thread does. SUPPORT_THREADS: one thread uses colock, and other threads belong to a proxy or to a fake
# server. They may also belong to colock's resolver of names, which network_test has with THREADS. Without a
# sanitizer, a test that starts a thread fails if it has neither, so that none is forgotten.
#
# Faults: everything that can go wrong with a lock has a number. A case that shows a fault carries the number
# behind its name, as *label("fault-25"). All cases of one number are a separate ctest test, NAME.fault-25,
# with the labels `faults` and `fault-25`. The test NAME runs the cases without a number. So `ctest -L
# fault-25` runs all cases of fault 25, and no case runs twice. A case has one number. With WAITS, the tests
# of one executable do not run in parallel with each other.
#
# SERVERS_TOO: the test also runs as NAME_on_valkey and NAME_on_redis8, with these in place of redis-server.
# This needs a Valkey >= 9 and a Redis >= 8. REDIS8_TOO: it also runs as NAME_on_redis8. VALKEY_ONLY: it runs
# only as NAME_on_valkey. Under a sanitizer, a test runs on one server only, because the code of colock that
# it runs is the same.
#
# TIMEOUT: in seconds, 60 by default. It only ends a test that hangs. So it is at least five times
# the duration of the test alone on a quick machine. In builds for coverage and for sanitizers it is
# four times as long.
#
# These alternatives were measured with g++ 12 and rejected:
# - One precompiled header for all integration tests (Boost.Test, Asio, colock). A source takes 4 to 9 s of
#   processor time, of which it saves 0.6 to 1.8 s. It takes 5.5 s itself, and 168 MB. For 80 sources that is
#   45 s of a build of 14 minutes on two processors. But ccache could no longer share the tests between
#   clones, because the header differs in each.
# - Fewer, larger programs. Linking one takes 0.5 s.

include_guard(GLOBAL)

file(
    CONFIGURE
    OUTPUT "${PROJECT_BINARY_DIR}/generated/test_main.cpp"
    CONTENT "#define BOOST_TEST_MODULE colock\n#include <boost/test/included/unit_test.hpp>\n"
)
add_library(colock_test_main OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/generated/test_main.cpp")
target_compile_features(colock_test_main PUBLIC cxx_std_20)
target_link_libraries(colock_test_main PUBLIC Boost::headers)
target_compile_options(colock_test_main PRIVATE -O0)  # Optimizing it takes longer than all its work.

# Ends a test that starts a thread without saying so.
add_library(colock_one_thread OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/test/support/one_thread.cpp")
target_compile_features(colock_one_thread PUBLIC cxx_std_20)

set(COLOCK_TIMEOUT_FACTOR 1)
if(COLOCK_SANITIZED OR COLOCK_COVERAGE)
    set(COLOCK_TIMEOUT_FACTOR 4)
endif()

# Targets that build one kind of test: unit_tests, integration_tests, conformance_tests.
foreach(label IN ITEMS unit integration conformance)
    add_custom_target(${label}_tests)
endforeach()

# colock_find_server(RESULT PROGRAM OLDEST_MAJOR TITLE folder...): sets RESULT to the program in one of these
# folders, or to an empty text. Options of find_program may follow the folders.
function(colock_find_server result program oldest title)
    find_program(candidate ${program} HINTS ${ARGN} NO_CACHE)
    set(${result} "" PARENT_SCOPE)
    if(candidate)
        execute_process(COMMAND "${candidate}" --version OUTPUT_VARIABLE version ERROR_QUIET)
        if(version MATCHES "v=([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL oldest)
            set(${result} "${candidate}" PARENT_SCOPE)
            return()
        endif()
    endif()
    message(STATUS "No ${title} (cmake/bootstrap.sh --servers): the tests on it are left out")
endfunction()

# The Valkey that cmake/bootstrap.sh has unpacked, or the system's. Of Redis 8, only the unpacked server is
# used, because all other tests run on the system's.
colock_find_server(COLOCK_VALKEY_SERVER valkey-server 9 "Valkey >= 9" "${PROJECT_SOURCE_DIR}/build/valkey")
colock_find_server(
    COLOCK_REDIS8_SERVER redis-server 8 "Redis >= 8 besides the system's" "${PROJECT_SOURCE_DIR}/build/redis8" NO_DEFAULT_PATH
)

# colock_use_internals(TARGET): for executables that use the library's internals: tests, their support
# library and benchmarks.
function(colock_use_internals target)
    target_include_directories(
        ${target}
        PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/test" "${PROJECT_BINARY_DIR}/generated"
    )
    target_link_libraries(
        ${target}
        PRIVATE colock::colock Boost::url OpenSSL::SSL OpenSSL::Crypto nlohmann_json::nlohmann_json
    )
    colock_warnings(${target})
endfunction()

# For sanitizers, tests and their shared code are not optimized, because that takes longer than it saves. A
# quarter of the remaining time would be for the texts of reports that never come. Undefined behaviour in a
# test's own code therefore only ends the test. The library is not compiled like this.
function(colock_unoptimized_if_sanitized target)
    if(COLOCK_SANITIZED)
        target_compile_options(${target} PRIVATE -O0 -fsanitize-undefined-trap-on-error)
    endif()
endfunction()

# colock_path_of(PROGRAM TARGET...): gives the targets `extern const char* const path_of_PROGRAM` in the
# namespace colock::test. It is compiled separately. A definition with a path in it would keep the sources out
# of another clone's ccache.
function(colock_path_of program)
    set(name path_of_${program})
    if(NOT TARGET ${name})
        set(source "${PROJECT_BINARY_DIR}/generated/${name}.cpp")
        file(
            GENERATE
            OUTPUT "${source}"
            CONTENT "namespace colock::test {
extern const char* const ${name};
const char* const ${name} = \"$<TARGET_FILE:${program}>\";
}
"
        )
        add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
        target_compile_features(${name} PRIVATE cxx_std_20)
    endif()
    foreach(target IN LISTS ARGN)
        target_link_libraries(${target} PRIVATE ${name})
        add_dependencies(${target} ${program})
    endforeach()
endfunction()

function(colock_test name)
    cmake_parse_arguments(
        PARSE_ARGV 1 arg
        "SERIAL;WAITS;THREADS;SUPPORT_THREADS;SERVERS_TOO;REDIS8_TOO;VALKEY_ONLY"
        "TIMEOUT"
        "SOURCES;LABELS;LIBRARIES;LAYERS"
    )
    if(NOT arg_SOURCES)
        message(FATAL_ERROR "colock_test(${name}): no SOURCES")
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${COLOCK_TIMEOUT_FACTOR}")

    add_executable(${name} ${arg_SOURCES})
    if(arg_LAYERS)
        list(TRANSFORM arg_LAYERS PREPEND colock_ OUTPUT_VARIABLE layers)
        target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/test")
        target_link_libraries(${name} PRIVATE ${layers})
        colock_warnings(${name})
    else()
        colock_use_internals(${name})
    endif()
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
    colock_unoptimized_if_sanitized(${name})
    target_compile_options(${name} PRIVATE -O0)
    if(COLOCK_SANITIZED STREQUAL "thread" AND NOT arg_THREADS)
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        return()
    endif()
    if(NOT COLOCK_SANITIZED AND NOT arg_THREADS AND NOT arg_SUPPORT_THREADS)
        target_link_libraries(${name} PRIVATE colock_one_thread)
    endif()
    foreach(label IN ITEMS unit integration conformance)
        if(label IN_LIST arg_LABELS)
            add_dependencies(${label}_tests ${name})
        endif()
    endforeach()

    set(own_main FALSE)
    set(faults)
    set(others FALSE)  # Whether there are cases without a number.
    foreach(source IN LISTS arg_SOURCES)
        cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE file)
        if(EXISTS "${file}")
            file(READ "${file}" text)
            if(text MATCHES "boost/test/included/unit_test.hpp")
                set(own_main TRUE)
            endif()
            string(REGEX MATCHALL "label\\(\"fault-[0-9][0-9][0-9]?\"\\)" labels "${text}")
            if(labels)
                set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
                string(REGEX MATCHALL "fault-[0-9][0-9][0-9]?" labels "${labels}")
                list(APPEND faults ${labels})
            endif()
            set(cases)
            if(NOT text MATCHES "_TEST_SUITE\\([^\n]*fault-[0-9][0-9]")  # Otherwise all cases have it.
                string(REGEX MATCHALL "_TEST_CASE[A-Z_]*\\([^{;]*{" cases "${text}")
            endif()
            foreach(case IN LISTS cases)
                if(NOT case MATCHES "fault-[0-9][0-9]")
                    set(others TRUE)
                elseif(case MATCHES "fault-.*fault-")
                    message(FATAL_ERROR "${file}: a case with two numbers: ${case}")
                endif()
            endforeach()
        endif()
    endforeach()
    list(REMOVE_DUPLICATES faults)
    list(SORT faults)
    if(NOT own_main)
        target_link_libraries(${name} PRIVATE colock_test_main)
    endif()

    set(variants ${name})
    if(arg_VALKEY_ONLY)
        set(variants)
    endif()
    if(COLOCK_VALKEY_SERVER AND (arg_VALKEY_ONLY OR (arg_SERVERS_TOO AND NOT COLOCK_SANITIZED)))
        list(APPEND variants ${name}_on_valkey)
    endif()
    if(COLOCK_REDIS8_SERVER AND (arg_SERVERS_TOO OR arg_REDIS8_TOO) AND NOT COLOCK_SANITIZED)
        list(APPEND variants ${name}_on_redis8)
    endif()
    foreach(variant IN LISTS variants)
        set(labels ${arg_LABELS})
        set(environment)
        if(variant MATCHES "_on_(valkey|redis8)$")
            string(TOUPPER "${CMAKE_MATCH_1}" server)
            set(environment "COLOCK_REDIS_SERVER=${COLOCK_${server}_SERVER}")
            list(APPEND labels versions)
        endif()
        set(tests)
        foreach(fault IN LISTS faults)
            set(test ${variant}.${fault})
            list(APPEND tests ${test})
            add_test(NAME ${test} COMMAND ${name} --color_output=no "--run_test=@${fault}")
            set_tests_properties(${test} PROPERTIES LABELS "${labels};faults;${fault}")
        endforeach()
        if(others OR NOT faults)
            list(APPEND tests ${variant})
            list(TRANSFORM faults PREPEND "--run_test=!@" OUTPUT_VARIABLE without_faults)
            add_test(NAME ${variant} COMMAND ${name} --color_output=no ${without_faults})
            set_tests_properties(${variant} PROPERTIES LABELS "${labels}")
        endif()
        set_tests_properties(${tests} PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${environment}")
        if(arg_SERIAL OR ("integration" IN_LIST arg_LABELS AND NOT arg_WAITS))
            set_tests_properties(${tests} PROPERTIES RUN_SERIAL ON)
        elseif("unit" IN_LIST arg_LABELS)
            set_tests_properties(${tests} PROPERTIES PROCESSORS 2)
        elseif(faults)
            set_tests_properties(${tests} PROPERTIES RESOURCE_LOCK ${variant})
        endif()
    endforeach()
endfunction()
