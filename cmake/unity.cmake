# Builds the sources of a target in groups. Each group is one translation unit. So the headers of Asio are
# compiled once for each layer of the library, and once for eight sources of a test.
#
# Each layer of the library is one group, which takes at most 30 s and 1.1 GB (g++ 12, -O3). All layers take 70 s of
# CPU, and in groups of eight sources 98 s. A change of one source takes longer. So this is for builds that
# compile everything once: installations, other projects, tests. The preset for work compiles each source alone.
# So does the build of the library with clang 14 in .ci/run, which finds a missing include. Nothing finds one in a test.

include_guard(GLOBAL)

set(colock_unity_default ON)
if(PROJECT_IS_TOP_LEVEL OR DEFINED CMAKE_UNITY_BUILD)
    set(colock_unity_default ${CMAKE_UNITY_BUILD})
endif()
option(COLOCK_UNITY_BUILD "Compile sources in groups, which takes less time" ${colock_unity_default})
set(CMAKE_UNITY_BUILD OFF)  # Only targets with colock_unity() are made for it.

# colock_unity(TARGET [WHOLE] [APART file...]): WHOLE makes one group in place of groups of eight sources.
# APART names sources that are compiled alone, by a name or a regular expression. Most
# have a name in their unnamed namespace that means something else in another source. The group of a source is the same
# in all targets of a folder.
function(colock_unity target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE" "" "APART")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${COLOCK_UNITY_BUILD} UNITY_BUILD_MODE GROUP)
    if(COLOCK_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # GCC takes the sources of a group for headers.
    endif()
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    foreach(file IN LISTS arg_APART)
        string(REPLACE "." "[.]" pattern "${file}")
        set(together ${sources})
        list(FILTER together EXCLUDE REGEX "(^|/)${pattern}$")
        if(together STREQUAL sources)
            message(FATAL_ERROR "colock_unity(${target}): ${file} is not a source of it")
        endif()
        set(sources ${together})
    endforeach()
    list(LENGTH sources count)
    set(size 8)
    if(arg_WHOLE)
        set(size ${count})
    endif()
    set(index 0)
    foreach(source IN LISTS sources)
        get_source_file_property(known ${source} UNITY_GROUP)
        if(NOT known)
            math(EXPR group "${index} * ((${count} + ${size} - 1) / ${size}) / ${count}")
            set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${group})
        endif()
        math(EXPR index "${index} + 1")
    endforeach()
endfunction()
