# colock_objects(NAME [SOURCES file...] [LIBRARIES target...]): one layer of src, as an OBJECT library.
#
# The include root is src/ and nothing else of ours, so that a layer cannot see the public headers above it.
# The layers' objects become members of the one archive `colock`; see src/CMakeLists.txt.

include_guard(GLOBAL)

# The archive may become part of somebody's shared library, unless whoever builds it has decided otherwise. Nobody is
# meant to replace our functions there, so that GCC may inline them as it does in a program: the code is as large as
# without -fPIC. (Clang does so anyway.)
function(colock_position_independent target)
    if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${target} PRIVATE -fno-semantic-interposition)
        endif()
    endif()
endfunction()

function(colock_objects name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
    if(NOT arg_SOURCES)
        set(arg_SOURCES "${CMAKE_CURRENT_BINARY_DIR}/${name}_empty.cpp")
        file(CONFIGURE OUTPUT "${arg_SOURCES}" CONTENT "" @ONLY)
    endif()
    add_library(${name} OBJECT ${arg_SOURCES})
    target_compile_features(${name} PUBLIC cxx_std_20)
    target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${name} PUBLIC ${arg_LIBRARIES})
    colock_position_independent(${name})
    colock_warnings(${name})
endfunction()
