# colock_test(NAME SOURCES file... [PROGRAM program] [LABELS label...] [TIMEOUT seconds] [LIBRARIES target...]
#             [LAYERS layer...] [SERIAL | WAITS] [THREADS | SUPPORT_THREADS]
#             [SERVERS_TOO | EACH_SERVER | REDIS8_TOO | VALKEY_ONLY])
#
# Defines one test of ctest, and the Boost.Test executable with the same name. It may include the layers'
# headers ("core/...") and the public ones. A main function is linked to it, so its sources include
# <boost/test/unit_test.hpp>. A test with a main of its own includes <boost/test/included/unit_test.hpp> in
# one of its sources.
#
# PROGRAM: the executable that this test shares with others. With COLOCK_UNITY_BUILD, its sources are compiled as
# one, so the headers of Asio and Boost.Test are compiled once for about four sources. Three tests then take 35 s of
# CPU time instead of 63 s (g++ 12, -O0). Each source has one outermost test suite with the name of the file, and
# everything else is inside of this suite. ctest selects the tests by these names.
#
# LAYERS: the executable links only these folders of src. It cannot include the public headers.
#
# LABELS:
# - `unit`: tests without servers.
# - `integration`: tests that need servers.
# - `conformance`: the same votes from every kind of instance.
# - `simulation`: scenarios and random worlds in virtual time.
# - `install`: a consumer of the installed library.
# - of the second tier: see test/second_tier.txt.
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
# fault-25` runs all cases of fault 25, and no case runs twice. A case has one number. With WAITS, NAME and its
# faults do not run in parallel with each other.
#
# SERVERS_TOO: the test also runs as NAME_on_valkey and NAME_on_redis8, with these in place of redis-server.
# This needs a Valkey >= 9 and a Redis >= 8. EACH_SERVER: the same, and a run of .ci/run uses both servers, while
# it uses only one of them for the others. REDIS8_TOO: the test also runs as NAME_on_redis8. VALKEY_ONLY: it runs
# only as NAME_on_valkey. Under a sanitizer, a test runs on one server only, because the code of colock that
# it runs is the same. The labels turn_of_SERVER and also_on_SERVER serve `test/run.sh --turn`.
#
# TIMEOUT: in seconds, 60 by default. It only ends a test that hangs. So it is at least five times
# the duration of the test alone on a quick machine. In builds for coverage and for sanitizers it is
# four times as long.
#
# One precompiled header for all integration tests was measured with g++ 12 and rejected. It would save 0.6 to 1.8 s of
# the 4 to 9 s of a source, and ccache could not share the tests between clones.

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

# colock_text(NAME TEXT): defines an object library with `extern const char* const NAME` in the namespace colock::test.
# The text may contain a path. A definition with a path would keep the sources of a test out of another clone's ccache.
function(colock_text name text)
    set(source "${PROJECT_BINARY_DIR}/generated/${name}.cpp")
    file(
        GENERATE
        OUTPUT "${source}"
        CONTENT "namespace colock::test {
extern const char* const ${name};
const char* const ${name} = \"${text}\";
}
"
    )
    add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
    target_compile_features(${name} PRIVATE cxx_std_20)
endfunction()
colock_text(source_folder "${PROJECT_SOURCE_DIR}")

# colock_path_of(PROGRAM TARGET...): gives the targets the text `path_of_PROGRAM`.
function(colock_path_of program)
    set(name path_of_${program})
    if(NOT TARGET ${name})
        colock_text(${name} "$<TARGET_FILE:${program}>")
    endif()
    foreach(target IN LISTS ARGN)
        target_link_libraries(${target} PRIVATE ${name})
        add_dependencies(${target} ${program})
    endforeach()
endfunction()

# The arguments of colock_test(), as arg_SOURCES and so on.
macro(colock_parse_test)
    cmake_parse_arguments(
        PARSE_ARGV 1 arg
        "SERIAL;WAITS;THREADS;SUPPORT_THREADS;SERVERS_TOO;EACH_SERVER;REDIS8_TOO;VALKEY_ONLY"
        "PROGRAM;TIMEOUT"
        "SOURCES;LABELS;LIBRARIES;LAYERS"
    )
endmacro()

function(colock_test name)
    colock_parse_test()
    if(NOT arg_SOURCES)
        message(FATAL_ERROR "colock_test(${name}): no SOURCES")
    endif()
    set(program ${name})
    if(arg_PROGRAM)
        set(program ${arg_PROGRAM})
    endif()
    set(kind "${arg_THREADS} ${arg_SUPPORT_THREADS}")
    if(TARGET ${program})
        get_target_property(kind_of_program ${program} COLOCK_THREADS)
        if(NOT kind STREQUAL kind_of_program)
            message(FATAL_ERROR "colock_test(${name}): all tests of ${program} must have the same of THREADS and SUPPORT_THREADS")
        endif()
        target_sources(${program} PRIVATE ${arg_SOURCES})
        target_link_libraries(${program} PRIVATE ${arg_LIBRARIES})
    else()
        add_executable(${program} ${arg_SOURCES})
        set_target_properties(${program} PROPERTIES COLOCK_THREADS "${kind}")
        if(arg_PROGRAM)
            set_target_properties(
                ${program} PROPERTIES UNITY_BUILD ${COLOCK_UNITY_BUILD} UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 0
            )
            if(COLOCK_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
                target_compile_options(${program} PRIVATE -Wno-subobject-linkage)  # GCC takes the sources for headers.
            endif()
        endif()
        if(arg_LAYERS)
            list(TRANSFORM arg_LAYERS PREPEND colock_ OUTPUT_VARIABLE layers)
            target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/test")
            target_link_libraries(${program} PRIVATE ${layers})
            colock_warnings(${program})
        else()
            colock_use_internals(${program})
        endif()
        target_link_libraries(${program} PRIVATE ${arg_LIBRARIES})
        colock_unoptimized_if_sanitized(${program})
        target_compile_options(${program} PRIVATE -O0)
        if(COLOCK_SANITIZED STREQUAL "thread" AND NOT arg_THREADS)
            set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
        elseif(NOT COLOCK_SANITIZED AND NOT arg_THREADS AND NOT arg_SUPPORT_THREADS)
            target_link_libraries(${program} PRIVATE colock_one_thread)
        endif()
        colock_text_of(text ${arg_SOURCES})
        if(NOT text MATCHES "boost/test/included/unit_test.hpp")
            target_link_libraries(${program} PRIVATE colock_test_main)
        endif()
    endif()
    if(COLOCK_SANITIZED STREQUAL "thread" AND NOT arg_THREADS)
        return()
    endif()
    if(arg_PROGRAM)
        list(TRANSFORM arg_SOURCES REPLACE "^.*/|[.]cpp$" "" OUTPUT_VARIABLE suites)
        set_property(TARGET ${program} APPEND PROPERTY COLOCK_SUITES ${suites})
    endif()
    foreach(label IN ITEMS unit integration conformance)
        if(label IN_LIST arg_LABELS)
            add_dependencies(${label}_tests ${program})
        endif()
    endforeach()
    list(JOIN ARGN " " arguments)  # A deferred call evaluates its variables late.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL colock_add_test ${name} ${arguments})")  # when all suites are known
endfunction()

# colock_text_of(RESULT file...): sets RESULT to the text of these files.
function(colock_text_of result)
    set(all "")
    foreach(source IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE file)
        if(EXISTS "${file}")
            file(READ "${file}" text)
            string(APPEND all "${text}")
        endif()
    endforeach()
    set(${result} "${all}" PARENT_SCOPE)
endfunction()

# colock_add_test(NAME ...): registers with ctest what colock_test() has defined.
function(colock_add_test name)
    colock_parse_test()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${COLOCK_TIMEOUT_FACTOR}")
    set(program ${name})
    set(only)     # The filters that select this test's suites in its program.
    set(not_rest) # The filters that exclude the other suites.
    if(arg_PROGRAM)
        set(program ${arg_PROGRAM})
        list(TRANSFORM arg_SOURCES REPLACE "^.*/|[.]cpp$" "" OUTPUT_VARIABLE suites)
        list(TRANSFORM suites PREPEND "--run_test=" OUTPUT_VARIABLE only)
        get_target_property(not_rest ${program} COLOCK_SUITES)
        list(REMOVE_ITEM not_rest ${suites})
        list(TRANSFORM not_rest PREPEND "--run_test=!")
    endif()

    set(faults)
    set(others FALSE)  # Whether there are cases without a number.
    foreach(source IN LISTS arg_SOURCES)
        colock_text_of(text "${source}")
        string(REGEX MATCHALL "label\\(\"fault-[0-9][0-9][0-9]?\"\\)" labels "${text}")
        if(labels)
            cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE file)
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
                message(FATAL_ERROR "${source}: a case with two numbers: ${case}")
            endif()
        endforeach()
    endforeach()
    list(REMOVE_DUPLICATES faults)
    list(SORT faults)

    set(variants ${name})
    if(arg_VALKEY_ONLY)
        set(variants)
    endif()
    if(COLOCK_VALKEY_SERVER AND (arg_VALKEY_ONLY OR ((arg_SERVERS_TOO OR arg_EACH_SERVER) AND NOT COLOCK_SANITIZED)))
        list(APPEND variants ${name}_on_valkey)
    endif()
    if(COLOCK_REDIS8_SERVER AND (arg_SERVERS_TOO OR arg_EACH_SERVER OR arg_REDIS8_TOO) AND NOT COLOCK_SANITIZED)
        list(APPEND variants ${name}_on_redis8)
    endif()
    foreach(variant IN LISTS variants)
        set(labels ${arg_LABELS})
        set(environment)
        if(variant MATCHES "_on_(valkey|redis8)$")
            set(server ${CMAKE_MATCH_1})
            string(TOUPPER "${server}" upper)
            set(environment "COLOCK_REDIS_SERVER=${COLOCK_${upper}_SERVER}")
            list(APPEND labels versions)
            if(arg_SERVERS_TOO OR arg_REDIS8_TOO)
                list(APPEND labels turn_of_${server})
            endif()
        else()
            set(elsewhere ${variants})
            list(FILTER elsewhere INCLUDE REGEX "_on_")
            list(TRANSFORM elsewhere REPLACE "^.*_on_" "also_on_")
            list(APPEND labels ${elsewhere})
        endif()
        set(tests)
        foreach(fault IN LISTS faults)
            set(test ${variant}.${fault})
            list(APPEND tests ${test})
            add_test(NAME ${test} COMMAND ${program} --color_output=no "--run_test=@${fault}" ${not_rest})
            set_tests_properties(${test} PROPERTIES LABELS "${labels};faults;${fault}")
        endforeach()
        if(others OR NOT faults)
            list(APPEND tests ${variant})
            list(TRANSFORM faults PREPEND "--run_test=!@" OUTPUT_VARIABLE without_faults)
            add_test(NAME ${variant} COMMAND ${program} --color_output=no ${only} ${without_faults})
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
