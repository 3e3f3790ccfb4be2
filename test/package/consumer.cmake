# Configures, builds and runs one consumer. Called by the tests in this folder's CMakeLists.txt.

function(step what)
    message(STATUS "${what}")
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${what}: failed (${result})")
    endif()
endfunction()

string(REPLACE "|" ";" prefix_path "${PREFIX_PATH}")
set(prefix "${BINARY}/prefix")
file(REMOVE_RECURSE "${prefix}")
if(INSTALL_FROM)
    step("install" "${CMAKE_COMMAND}" --install "${INSTALL_FROM}" --prefix "${prefix}")
    list(PREPEND prefix_path "${prefix}")
endif()

# No optimization and no debug information: a consumer only shows whether the code compiles and links.
set(options "-DCMAKE_BUILD_TYPE=None" "-DCMAKE_CXX_COMPILER=${COMPILER}")
string(REPLACE "|" ";" more_options "${OPTIONS}")
list(APPEND options ${more_options})
list(JOIN prefix_path "\\;" prefix_path)
string(REPLACE "|" "\\;" launcher "${LAUNCHER}")
if(TOOLCHAIN)
    list(APPEND options "-DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}")
endif()
step(
    "configure" "${CMAKE_COMMAND}" --fresh -G Ninja -S "${SOURCE}" -B "${BINARY}/build" ${options}
    "-DCMAKE_PREFIX_PATH=${prefix_path}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}"
)
if(CONFIGURE_ONLY)
    return()
endif()
step("build" "${CMAKE_COMMAND}" --build "${BINARY}/build" --parallel 2)
step("run" "${BINARY}/build/consumer")
