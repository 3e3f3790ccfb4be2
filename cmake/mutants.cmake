# Broken variants of the library. They show whether the checkers of the simulation detect faults.
#
# The sources do not contain the variants. At configure time, copies of the altered sources are written to the
# build folder. Each alteration takes effect only while its mutant is active. The altered text must occur
# exactly once, word for word. If the code has changed, configuring fails, and the mutant must follow.

include_guard(GLOBAL)

# Scripts are altered in the same way. Each mutant of a script is a separate script, which the library sends
# while the mutant is active.

# colock_mutant(NAME <name> WHAT <in words> FILE <source> FIND <text> WITH <text>): defines a mutant. In the
# new text, @MUTANT@ is true while the mutant is active. A script does not need it. File names begin at the
# repository's root.
function(colock_mutant)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;WHAT;FILE;FIND;WITH" "")
    list(LENGTH mutant_names index)
    string(MAKE_C_IDENTIFIER "text_${arg_FILE}" text)
    cmake_path(GET arg_FILE EXTENSION extension)
    if(extension STREQUAL ".lua" OR NOT DEFINED ${text})
        file(READ "${PROJECT_SOURCE_DIR}/${arg_FILE}" ${text})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${arg_FILE}")
    endif()
    string(FIND "${${text}}" "${arg_FIND}" first)
    string(FIND "${${text}}" "${arg_FIND}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
        message(FATAL_ERROR "mutant ${arg_NAME}: ${arg_FILE} does not have this exactly once: ${arg_FIND}")
    endif()
    if(extension STREQUAL ".lua")
        string(REPLACE "${arg_FIND}" "${arg_WITH}" altered "${${text}}")
        set(mutant_${index}_file "${PROJECT_SOURCE_DIR}/${arg_FILE}" PARENT_SCOPE)
        set(mutant_${index}_text "${altered}" PARENT_SCOPE)
        set(mutant_scripts ${mutant_scripts} ${index} PARENT_SCOPE)
        set(mutant_names ${mutant_names} "${arg_NAME}" PARENT_SCOPE)
        set(mutant_table "${mutant_table}    {\"${arg_NAME}\", \"${arg_WHAT}\"},\n" PARENT_SCOPE)
        return()
    endif()
    if(NOT "${arg_FILE}" IN_LIST mutant_files)
        set(mutant_files ${mutant_files} "${arg_FILE}" PARENT_SCOPE)
    endif()
    string(REPLACE "@MUTANT@" "::colock::simulation::is_active(${index})" new "${arg_WITH}")
    string(REPLACE "${arg_FIND}" "${new}" altered "${${text}}")
    set(${text} "${altered}" PARENT_SCOPE)
    set(mutant_names ${mutant_names} "${arg_NAME}" PARENT_SCOPE)
    set(mutant_table "${mutant_table}    {\"${arg_NAME}\", \"${arg_WHAT}\"},\n" PARENT_SCOPE)
endfunction()

# colock_write_script_mutants(TARGET <target> HEADER <file> NAMESPACE <name>): writes the header of the
# scripts that the target embeds. Each script is replaced by another one while a mutant of it is active.
function(colock_write_script_mutants)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;HEADER;NAMESPACE" "")
    get_target_property(scripts ${arg_TARGET} COLOCK_SCRIPTS)
    set(names "")
    string(
        CONCAT content
        "// Generated from the .lua files by cmake/mutants.cmake.\n#pragma once\n\n#include \"kinds/script.hpp\"\n"
        "#include \"simulation/mutants.hpp\"\n\n#include <array>\n#include <cstddef>\n\nnamespace ${arg_NAMESPACE} {\n\n"
        "template <std::size_t Count>\nstruct altered_script {\n    struct variant {\n        int mutant;\n        script text;\n    };\n"
        "    std::array<variant, Count> variants;\n    constexpr operator const script&() const noexcept {\n"
        "        for (const variant& one : variants) {\n            if (colock::simulation::is_active(one.mutant)) {\n"
        "                return one.text;\n            }\n        }\n        return variants.front().text;\n    }\n};\n"
    )
    foreach(script IN LISTS scripts)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
        cmake_path(GET script STEM name)
        list(APPEND names "${name}")
        colock_read_lua("${script}" text FILES files)
        string(SHA1 digest "${text}")
        set(variants "    {-2, {R\"lua(${text})lua\", \"${digest}\"}},\n")
        set(count 1)
        foreach(index IN LISTS mutant_scripts)
            if("${mutant_${index}_file}" IN_LIST files)
                colock_read_lua("${script}" text ALTERED "${mutant_${index}_file}" TEXT "${mutant_${index}_text}")
                string(SHA1 digest "${text}")
                string(APPEND variants "    {${index}, {R\"lua(${text})lua\", \"${digest}\"}},\n")
                math(EXPR count "${count} + 1")
            endif()
        endforeach()
        string(APPEND content "\ninline constexpr altered_script<${count}> ${name}{{{\n${variants}}}};\n")
    endforeach()
    list(JOIN names ", " names)
    string(APPEND content "\ninline constexpr auto all = std::to_array<script>({${names}});\n\n}  // namespace ${arg_NAMESPACE}\n")
    set(former "")
    if(EXISTS "${arg_HEADER}")
        file(READ "${arg_HEADER}" former)
    endif()
    if(NOT former STREQUAL content)
        file(WRITE "${arg_HEADER}" "${content}")
    endif()
endfunction()

# colock_write_mutants(FOLDER <folder> SOURCES <source>... RESULT <variable>): writes the altered copies
# under the folder. Sets the variable to the sources, with the copies in place of the originals, and the
# table of the mutants.
function(colock_write_mutants)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "FOLDER;RESULT" "SOURCES")
    set(result "${arg_FOLDER}/mutants.cpp")
    # A copy from an earlier run would hide a source that has no mutant any more.
    file(GLOB_RECURSE copies RELATIVE "${arg_FOLDER}" "${arg_FOLDER}/src/*" "${arg_FOLDER}/test/*")
    foreach(file IN LISTS copies)
        if(NOT file IN_LIST mutant_files)
            file(REMOVE "${arg_FOLDER}/${file}")
        endif()
    endforeach()
    foreach(file IN LISTS arg_SOURCES)
        if(file IN_LIST mutant_files)
            list(APPEND result "${arg_FOLDER}/${file}")
        else()
            list(APPEND result "${PROJECT_SOURCE_DIR}/${file}")
        endif()
    endforeach()
    foreach(file IN LISTS mutant_files)
        string(MAKE_C_IDENTIFIER "text_${file}" text)
        file(
            CONFIGURE
            OUTPUT "${arg_FOLDER}/${file}"
            CONTENT "#include \"simulation/mutants.hpp\"\n#line 1 \"${file}\"\n${${text}}"
            @ONLY
        )
    endforeach()
    list(LENGTH mutant_names count)
    file(
        CONFIGURE
        OUTPUT "${arg_FOLDER}/mutants.cpp"
        CONTENT "#include \"simulation/mutants.hpp\"

namespace colock::simulation {

static const mutant table[] = {
${mutant_table}};
const mutant* const mutants = table;
const std::size_t mutant_count = ${count};

}  // namespace colock::simulation
"
        @ONLY
    )
    set(${arg_RESULT} "${result}" PARENT_SCOPE)
endfunction()
