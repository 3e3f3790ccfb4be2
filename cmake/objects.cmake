# colock_objects(NAME [SOURCES file...] [APART file...] [LIBRARIES target...]): defines one layer of src as an OBJECT library.
# For APART, see unity.cmake.
#
# The only include root of colock is src/, so a layer cannot include the public headers above it. The objects
# of all layers become members of the one archive `colock`. See src/CMakeLists.txt.

include_guard(GLOBAL)
include(unity)

# The archive may become part of a shared library, so it is position-independent unless the user has decided
# otherwise. The functions of colock are not meant to be replaced there. GCC may therefore inline them as it
# does in a program, and the code is as large as without -fPIC. Clang inlines them in any case.
function(colock_position_independent target)
    if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${target} PRIVATE -fno-semantic-interposition)
        endif()
    endif()
endfunction()

# A shared library exports only what has COLOCK_EXPORT. See include/colock/detail/export.hpp.
function(colock_hidden target)
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

function(colock_objects name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;APART;LIBRARIES")
    if(NOT arg_SOURCES)
        set(arg_SOURCES "${CMAKE_CURRENT_BINARY_DIR}/${name}_empty.cpp")
        file(CONFIGURE OUTPUT "${arg_SOURCES}" CONTENT "" @ONLY)
    endif()
    add_library(${name} OBJECT ${arg_SOURCES})
    target_compile_features(${name} PUBLIC cxx_std_20)
    target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(${name} PUBLIC ${arg_LIBRARIES})
    colock_position_independent(${name})
    colock_hidden(${name})
    colock_unity(${name} WHOLE APART ${arg_APART})
    colock_warnings(${name})
endfunction()
