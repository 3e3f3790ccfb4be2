# Broken variants of the library. They show whether the checkers of the simulation detect faults.
#
# The sources do not contain the variants. At configure time, altered copies of them are written to the build folder.
# Each alteration takes effect only while its mutant is active. Each mutant of a script is a separate script, which the
# library sends while the mutant is active.
#
# A comment above the altered statement names the mutant: `// mutant: no_drift`, or `-- mutant: no_mark` in a script.
# `// mutant: a, b` names two. A definition describes the form of the statement and names nothing of the code, if
# possible. So it stays valid when code is renamed, moved or formatted.

include_guard(GLOBAL)

# colock_find_mutants(): finds these comments. It sets mutant_marker_<name> and mutant_file_<name> for each mutant.
macro(colock_find_mutants)
    set(marked_mutants)
    file(
        GLOB_RECURSE files
        RELATIVE "${PROJECT_SOURCE_DIR}"
        "${PROJECT_SOURCE_DIR}/src/*.[ch]pp" "${PROJECT_SOURCE_DIR}/src/*.lua"
        "${PROJECT_SOURCE_DIR}/test/simulation/*.[ch]pp"
    )
    foreach(file IN LISTS files)
        file(STRINGS "${PROJECT_SOURCE_DIR}/${file}" markers REGEX "^ *(//|--) mutant: ")
        if(markers)
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
        endif()
        foreach(marker IN LISTS markers)
            string(REGEX REPLACE "^.*mutant: " "" names "${marker}")
            string(REPLACE ", " ";" names "${names}")
            foreach(name IN LISTS names)
                if(name IN_LIST marked_mutants)
                    message(FATAL_ERROR "mutant ${name}: remove its comment in ${file} or in ${mutant_file_${name}}")
                endif()
                list(APPEND marked_mutants "${name}")
                set(mutant_marker_${name} "${marker}")
                set(mutant_file_${name} "${file}")
            endforeach()
        endforeach()
    endforeach()
endmacro()

# colock_mutant(<name> <description> <operation>): defines a mutant. The statement ends at the first line that ends in
# `;`, `{`, `}` or `:`. In a script it is one line. Line breaks and comments in it do not matter. The operations are:
#
# NEVER, ALWAYS            The condition is false, or true: of `if`, `while` and `?`, or what is returned or assigned.
# SKIP                     The statement is left out.
# BEFORE <code>            The code is inserted before the statement.
# FIND <text> WITH <text>  A part is replaced. $1, $2 ... stand for any text, as long as possible.
#
# In C++, MUTANT is true while the mutant is active. A script does not need it.
function(colock_mutant name description)
    cmake_parse_arguments(PARSE_ARGV 2 arg "NEVER;ALWAYS;SKIP" "BEFORE;FIND;WITH" "")
    if(NOT DEFINED mutant_file_${name})
        message(FATAL_ERROR "mutant ${name}: no source names it. Write `// mutant: ${name}` above the statement to alter.")
    endif()
    set(file "${mutant_file_${name}}")
    cmake_path(GET file EXTENSION extension)
    list(LENGTH mutant_names index)
    set(is_active "::colock::simulation::is_active(${index})")
    string(MAKE_C_IDENTIFIER "text_${file}" text)
    if(NOT DEFINED ${text})
        file(READ "${PROJECT_SOURCE_DIR}/${file}" ${text})
    endif()

    string(FIND "${${text}}" "${mutant_marker_${name}}\n" begin)
    string(LENGTH "${mutant_marker_${name}}\n" length)
    math(EXPR begin "${begin} + ${length}")
    string(SUBSTRING "${${text}}" 0 ${begin} head)
    string(SUBSTRING "${${text}}" ${begin} -1 tail)
    set(statement "")
    set(line_ends "")
    while(NOT statement MATCHES "[;{}:]$")
        string(REGEX MATCH "^[^\n]*\n" line "${tail}")
        string(LENGTH "${line}" length)
        string(SUBSTRING "${tail}" ${length} -1 tail)
        string(REGEX REPLACE "(^|  )(//|--) .*$" "" line "${line}")
        string(STRIP "${line}" line)
        string(STRIP "${statement} ${line}" statement)
        string(APPEND line_ends "\n")
        if(extension STREQUAL ".lua" OR tail STREQUAL "")
            break()
        endif()
    endwhile()

    if(extension STREQUAL ".lua")
        set(conditions "^(if |elseif )(.*)( then)$" "^(return |local [a-z_]+ = )(.*)()$")
        set(never "false")
        set(always "true")
        set(skipped "")
        set(before "${arg_BEFORE} ${statement}")
    else()
        set(
            conditions
            "^(} else if [(]|if [(]|while [(])(.*)([)] {)$" "^(return |[^=]* = )(.*)( [?] .*)$"
            "^(return |[^=]* = )(.*)(.)$" "^(.*{ return )(.*)(. })$"
        )
        set(never "($2) && !MUTANT")
        set(always "($2) || MUTANT")
        set(skipped "if (!MUTANT) { ${statement} }")
        set(before "if (MUTANT) { ${arg_BEFORE} } ${statement}")
    endif()
    set(altered "${statement}")
    if(arg_SKIP)
        set(altered "${skipped}")
    elseif(DEFINED arg_BEFORE)
        set(altered "${before}")
    elseif(DEFINED arg_FIND)
        string(REGEX REPLACE "[][+.*()^?|]" "\\\\\\0" pattern "${arg_FIND}")
        string(REGEX REPLACE "[$][1-9]" "(.*)" pattern "${pattern}")
        string(REGEX REPLACE "[$]([1-9])" "\\\\\\1" with "${arg_WITH}")
        string(REGEX REPLACE "${pattern}" "${with}" altered "${statement}")
    else()
        foreach(form IN LISTS conditions)
            if(altered STREQUAL statement AND statement MATCHES "${form}")
                set(altered "${CMAKE_MATCH_1}${always}${CMAKE_MATCH_3}")
                if(arg_NEVER)
                    set(altered "${CMAKE_MATCH_1}${never}${CMAKE_MATCH_3}")
                endif()
                string(REPLACE "$2" "${CMAKE_MATCH_2}" altered "${altered}")
            endif()
        endforeach()
    endif()
    if(altered STREQUAL statement)
        message(SEND_ERROR "mutant ${name}: its operation does not fit this statement of ${file}: ${statement}")
    endif()
    string(REPLACE "MUTANT" "${is_active}" altered "${altered}")
    string(REGEX REPLACE "\n *" " " altered "${altered}")
    set(altered "${head}${altered}${line_ends}${tail}")
    if(extension STREQUAL ".lua")
        set(mutant_${index}_file "${PROJECT_SOURCE_DIR}/${file}" PARENT_SCOPE)
        set(mutant_${index}_text "${altered}" PARENT_SCOPE)
        set(mutant_scripts ${mutant_scripts} ${index} PARENT_SCOPE)
    else()
        set(${text} "${altered}" PARENT_SCOPE)
        if(NOT file IN_LIST mutant_files)
            set(mutant_files ${mutant_files} "${file}" PARENT_SCOPE)
        endif()
    endif()
    set(mutant_names ${mutant_names} "${name}" PARENT_SCOPE)
    set(mutant_table "${mutant_table}    {\"${name}\", \"${description}\"},\n" PARENT_SCOPE)
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
    foreach(name IN LISTS marked_mutants)
        if(NOT name IN_LIST mutant_names)
            message(FATAL_ERROR "${mutant_file_${name}}: mutant ${name} has no definition, so remove its comment")
        endif()
    endforeach()
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
