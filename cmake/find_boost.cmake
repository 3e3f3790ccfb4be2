# Finds Boost >= 1.88, in this order:
#
# - A Boost that is given to CMake by Boost_ROOT, CMAKE_PREFIX_PATH or a package manager's toolchain.
# - The system's Boost.
# - A Boost that cmake/bootstrap.sh has unpacked into build/boost/<version>/ in colock's own folder.
#
# Inside another project, a Boost that the project has found comes before all of these.
#
# COLOCK_BOOST_VERSION selects one of the unpacked versions. It is a cache variable or an environment
# variable. Sets COLOCK_BOOST_PREFIX, which CMAKE_PREFIX_PATH needs to find the same Boost again. It is
# empty for the others.

set(COLOCK_BOOST_VERSION "" CACHE STRING "Use this unpacked Boost, for example 1.88, instead of any other")
set(COLOCK_BOOST_PREFIX "")

# If Boost.URL exists only as a static library, Boost's package files require Boost_USE_STATIC_LIBS. This is a
# macro, because the results of find_package must reach the caller. Boost_FOUND does not cover components
# without REQUIRED.
macro(colock_find_any_boost)
    find_package(Boost 1.88 CONFIG QUIET COMPONENTS headers url)
    if(Boost_FOUND AND NOT TARGET Boost::url AND NOT DEFINED Boost_USE_STATIC_LIBS)
        set(Boost_USE_STATIC_LIBS ON)
        find_package(Boost 1.88 CONFIG QUIET COMPONENTS headers url)
        unset(Boost_USE_STATIC_LIBS)
    endif()
    if(NOT TARGET Boost::url)
        set(Boost_FOUND FALSE)
    endif()
endmacro()

set(colock_boost_tree "${PROJECT_SOURCE_DIR}/build/boost")

# If an earlier run found an unpacked Boost, the cache entries do not express a wish of the user. They are
# removed, so that another version can be chosen.
string(FIND "${Boost_DIR}" "${colock_boost_tree}/" colock_boost_position)
if(colock_boost_position EQUAL 0)
    get_cmake_property(colock_cache_variables CACHE_VARIABLES)
    foreach(variable IN LISTS colock_cache_variables)
        if(variable MATCHES "^([Bb]oost_.*|Boost)_DIR$")
            unset(${variable} CACHE)
        endif()
    endforeach()
endif()

set(colock_boost_wanted "${COLOCK_BOOST_VERSION}")
if(NOT colock_boost_wanted)
    set(colock_boost_wanted "$ENV{COLOCK_BOOST_VERSION}")
endif()

# One project can have the targets of only one Boost.
set(colock_boost_is_given FALSE)
if(NOT PROJECT_IS_TOP_LEVEL AND TARGET Boost::headers)
    set(colock_boost_is_given TRUE)
    set(colock_boost_wanted "")
endif()

if(NOT colock_boost_wanted)
    colock_find_any_boost()
    if(Boost_FOUND)
        message(STATUS "Boost ${Boost_VERSION}: ${Boost_DIR}")
        return()
    endif()
    if(colock_boost_is_given)
        message(FATAL_ERROR "colock needs Boost 1.88 or newer, with Boost.URL; this project has found ${Boost_VERSION} in ${Boost_DIR}")
    endif()
    if(EXISTS "${colock_boost_tree}/default")
        file(STRINGS "${colock_boost_tree}/default" colock_boost_wanted LIMIT_COUNT 1)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${colock_boost_tree}/default")
    endif()
endif()

if(NOT colock_boost_wanted OR NOT EXISTS "${colock_boost_tree}/${colock_boost_wanted}/.complete")
    string(CONCAT colock_boost_message
        "Boost ${colock_boost_wanted} was not found (colock needs 1.88 or newer, with Boost.URL).\n"
        "On Debian run ${PROJECT_SOURCE_DIR}/cmake/bootstrap.sh --library (with COLOCK_BOOST_VERSION=${colock_boost_wanted} "
        "if you chose a version); "
        "elsewhere set Boost_ROOT, or use the toolchain file of vcpkg or Conan."
    )
    message(FATAL_ERROR "${colock_boost_message}")
endif()

set(COLOCK_BOOST_PREFIX "${colock_boost_tree}/${colock_boost_wanted}/usr")
set(Boost_USE_STATIC_LIBS ON)
find_package(
    Boost ${colock_boost_wanted} CONFIG REQUIRED COMPONENTS headers url
    PATHS "${COLOCK_BOOST_PREFIX}" NO_DEFAULT_PATH
)
message(STATUS "Boost ${Boost_VERSION}: build/boost/${colock_boost_wanted}")

# The unpacked archive may come from a newer compiler than the one in use. See the source file.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles(
    "extern \"C\" void __cxa_call_terminate(void*); int main() { __cxa_call_terminate(nullptr); }"
    COLOCK_HAS_CXA_CALL_TERMINATE
)
if(NOT COLOCK_HAS_CXA_CALL_TERMINATE)
    add_library(colock_cxa_call_terminate STATIC "${PROJECT_SOURCE_DIR}/cmake/cxa_call_terminate.cpp")
    set_property(TARGET Boost::url APPEND PROPERTY INTERFACE_LINK_LIBRARIES colock_cxa_call_terminate)
endif()
