# colock_embed_lua(target HEADER path NAMESPACE name SCRIPTS file... [PARTS file...])
#
# Embeds Lua scripts as constants in a generated header.
# In a script, a line `--@include FILE` stands for that file, which is one of the parts. Its path is relative to
# the script.
# Comments and indentation are left out, because some scripts are sent in full each time.
#
# For each NAME.lua, the header <path> has `inline constexpr colock::kinds::script NAME` in the
# namespace. It also has `all`, an array of all scripts. If CMake runs this file as a script (cmake -P),
# it writes the header.

# colock_read_lua(FILE variable [FILES variable] [ALTERED file TEXT text])
#
# Sets the variables to the embedded text of a script, and to the files that it is made of. ALTERED gives one
# of these files another text.
function(colock_read_lua file result)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "FILES;ALTERED;TEXT" "")
    macro(read_part path variable)
        if("${path}" STREQUAL "${arg_ALTERED}")
            set(${variable} "${arg_TEXT}")
        else()
            file(READ "${path}" ${variable})
        endif()
    endmacro()
    set(files "${file}")
    read_part("${file}" text)
    cmake_path(GET file PARENT_PATH directory)
    string(REGEX MATCHALL "--@include [^\n]+" includes "${text}")
    foreach(line IN LISTS includes)
        string(REPLACE "--@include " "" part "${line}")
        cmake_path(ABSOLUTE_PATH part BASE_DIRECTORY "${directory}" NORMALIZE)
        list(APPEND files "${part}")
        read_part("${part}" part_text)
        string(REPLACE "${line}\n" "${part_text}" text "${text}")
    endforeach()
    string(REGEX REPLACE "(\n| ) *--[^\n]*" "\\1" text "\n${text}")  # comments
    string(REGEX REPLACE "[ \n]*\n[ \n]*" "\n" text "${text}")  # indentation and empty lines
    string(STRIP "${text}" text)
    string(FIND "${text}" ")lua\"" end_of_literal)
    if(NOT end_of_literal EQUAL -1)
        message(FATAL_ERROR "${file}: a script must not contain )lua\"")
    endif()
    set(${result} "${text}" PARENT_SCOPE)
    if(arg_FILES)
        set(${arg_FILES} "${files}" PARENT_SCOPE)
    endif()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    set(content "// Generated from the .lua files by cmake/embed_lua.cmake.\n#pragma once\n\n#include \"kinds/script.hpp\"\n\n#include <array>\n\n")
    string(APPEND content "namespace ${NAMESPACE} {\n")
    string(REPLACE "|" ";" SCRIPTS "${SCRIPTS}")
    set(names "")
    foreach(script IN LISTS SCRIPTS)
        cmake_path(GET script STEM name)
        list(APPEND names "${name}")
        colock_read_lua("${script}" text)
        string(SHA1 digest "${text}")
        string(APPEND content "\ninline constexpr script ${name}{R\"lua(${text})lua\", \"${digest}\"};\n")
    endforeach()
    list(JOIN names ", " names)
    string(APPEND content "\ninline constexpr auto all = std::to_array({${names}});\n")
    string(APPEND content "\n}  // namespace ${NAMESPACE}\n")
    file(WRITE "${OUTPUT}" "${content}")
    return()
endif()

include_guard(GLOBAL)
set(colock_embed_lua_script "${CMAKE_CURRENT_LIST_FILE}")

function(colock_embed_lua target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;NAMESPACE" "SCRIPTS;PARTS")
    set(output "${PROJECT_BINARY_DIR}/generated/${arg_HEADER}")
    list(TRANSFORM arg_SCRIPTS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    list(TRANSFORM arg_PARTS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    set_property(TARGET ${target} PROPERTY COLOCK_SCRIPTS "${arg_SCRIPTS}")
    list(JOIN arg_SCRIPTS "|" scripts)
    add_custom_command(
        OUTPUT "${output}"
        COMMAND
            "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DNAMESPACE=${arg_NAMESPACE}" "-DSCRIPTS=${scripts}" -P
            "${colock_embed_lua_script}"
        DEPENDS ${arg_SCRIPTS} ${arg_PARTS} "${colock_embed_lua_script}"
        COMMENT "Embedding the Lua scripts in ${arg_HEADER}"
        VERBATIM
    )
    target_sources(${target} PRIVATE "${output}")
    target_include_directories(${target} PUBLIC "${PROJECT_BINARY_DIR}/generated")
endfunction()
