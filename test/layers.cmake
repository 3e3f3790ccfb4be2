# Checks the layers of src. An include only points down, and time and random numbers come from
# the environment.
#
# - cmake -DROOT=<repository> -P layers.cmake             Checks the sources.
# - cmake -DSELF_TEST_IN=<empty folder> -P layers.cmake   Checks that each kind of fault is found.

cmake_minimum_required(VERSION 3.25)

# The includes that are allowed in each layer. Each regular expression matches the included name
# with its delimiters.
set(standard "<[a-z_0-9]+>")
set(foreign "<(boost/(asio|container_hash|system|intrusive|unordered|version)|openssl|sys|netinet|arpa)[/.][^>]+>|<[a-z_0-9]+[.]h>")
set(layer_core "^(\"core/.+\"|${standard})$")
set(layer_resp "^(\"resp/.+\"|${standard})$")
set(layer_kinds "^(\"(core|resp|kinds)/.+\"|${standard})$")
set(layer_platform "^(\"(core|platform)/.+\"|${standard}|${foreign})$")
set(public_values "<colock/(histograms|instance_info|observer)[.]hpp>")  # What users are shown is declared once.
set(layer_instance "^(\"(core|resp|platform|kinds|instance)/.+\"|${public_values}|${standard}|${foreign}|<boost/url/[^>]+>)$")
set(layer_runtime "^(\"(core|platform|kinds|instance|runtime)/.+\"|${public_values}|${standard}|<boost/(container_hash|intrusive|unordered)/[^>]+>)$")
set(layer_asio_host "^(\"(core|platform|kinds|instance|runtime)/.+\"|${standard}|${foreign})$")
set(layer_public "^(<colock/.+>|${standard}|<boost/(asio|system)[/.].+>)$")

# The namespaces of the layers above each layer. The layer must not name them, not even in a
# forward declaration.
set(above_core "(platform|kinds|instance|runtime|resp)")
set(above_platform "(resp|kinds|instance|runtime)")
set(above_resp "(core|platform|kinds|instance|runtime)")
set(above_kinds "(platform|instance|runtime)")
set(above_instance "(runtime)")

# The lock kinds and their scripts. Only src/kinds may name them.
set(one_kind "kinds::(exclusive|fenced|shared|writer|fenced_writer|fenced_shared|remote_queue|semaphore|multi|versioned|once|fifo|fenced_fifo|inspection)([^a-z_]|$)")

# Each kind has a folder. No file above these folders includes one of them, so a kind is added without a
# change there. Each existing kind includes only the kinds that it is made of.
set(folder_of_kind "[a-z_]+")
set(kinds_below_exclusive "none")
set(kinds_below_queue "none")
set(kinds_below_multi "none")
set(kinds_below_semaphore "none")
set(kinds_below_fenced "exclusive")
set(kinds_below_fifo "exclusive|fenced")
set(kinds_below_shared "exclusive|fenced")
set(kinds_below_versioned "none")
set(kinds_below_once "none")
set(kinds_below_inspection "fenced|fifo|queue|semaphore|shared|versioned")

# The runtime headers that a file must not include. The first entry that matches the file's name applies. The
# mediator of a key includes its operations, leases and ticket. They do not include each other, except that an
# operation makes its leases.
set(runtime_parts
    "asio_host=/none/"
    "engine=asio_host"
    "client_context=asio_host|engine"
    "snapshot_operation=asio_host|engine"
    "key/key_queue=asio_host|engine"
    "key/local_queue=asio_host|engine|client_context|key_queue|acquire_operation|lease_operation|lease_driver|ticket|lock_spec|loop"
    "key/lease_driver=asio_host|engine|acquire_operation|ticket"
    "key/ticket=asio_host|engine|acquire_operation|lease_driver|lease_operation"
    "key/places=asio_host|engine|acquire_operation|lease_driver|lease_operation|ticket"
    "key/=asio_host|engine|key_queue|acquire_operation|lease_operation|lease_driver|ticket"
    "operations/acquire_operation=asio_host|engine"
    "operations/lease_operation=asio_host|engine|client_context|key_queue|acquire_operation|ticket"
    "operations/inquiry_operation=asio_host|engine|key_queue|acquire_operation|lease_operation|lease_driver|ticket"
    "operations/record_operation=asio_host|engine|key_queue|acquire_operation|lease_operation|lease_driver|ticket"
    "operations/request_operation=asio_host|engine|key_queue|acquire_operation|lease_operation|lease_driver|ticket"
    "operations/settlement_operation=asio_host|engine|key_queue|acquire_operation|lease_operation|ticket"
    "=asio_host|engine|client_context|key_queue|acquire_operation|lease_operation|lease_driver|ticket"
)

# Clocks and random numbers, which only the environment may ask for.
set(clocks_and_dice "clock::now|clock_gettime|system_clock|high_resolution_clock|random_device|mt19937")

# The destructors of static objects may still use locks. A `thread_local` that has a destructor
# is gone by then.
set(lasting_thread_local "thread_local (bool|char|int|[a-z_:]+[*]) ")

# Functions that read the variables of the environment. Another thread may change these at the same time.
set(environment "getenv\\(|set_default_verify_paths\\(")

# find_lines(file what regex [EXCEPT regex]): adds an entry to `all` for each line of the file that matches.
# The entry begins with `name`.
function(find_lines file what regex)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "EXCEPT" "")
    file(STRINGS "${file}" lines REGEX "${regex}")
    foreach(line IN LISTS lines)
        if(NOT arg_EXCEPT OR NOT line MATCHES "${arg_EXCEPT}")
            list(APPEND all "${name} ${what}: ${line}")
        endif()
    endforeach()
    set(all "${all}" PARENT_SCOPE)
endfunction()

# find_faults(root): sets `found` to an entry for each fault under `root`. Such faults are an include that
# points up, and a clock that is read.
function(find_faults root)
    set(all "")
    foreach(layer IN ITEMS core platform resp kinds instance runtime public)
        set(folder "${root}/src/${layer}")
        if(layer STREQUAL "public")
            set(folder "${root}/include")
        endif()
        file(GLOB_RECURSE files "${folder}/*.hpp" "${folder}/*.cpp" "${folder}/*.ipp")
        foreach(file IN LISTS files)
            file(STRINGS "${file}" lines REGEX "^[ \t]*#[ \t]*include")
            cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${root}" OUTPUT_VARIABLE name)
            set(allowed "${layer_${layer}}")
            if(name MATCHES "^src/runtime/asio_host[.]")
                set(allowed "${layer_asio_host}")
            endif()
            foreach(line IN LISTS lines)
                string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*([<\"][^>\"]*[>\"]).*$" "\\1" include "${line}")
                if(NOT include MATCHES "${allowed}")
                    list(APPEND all "${name} must not include ${include}")
                endif()
            endforeach()
            if(DEFINED above_${layer})
                find_lines("${file}" "must not name a layer above it" "^[^/]*(^|[^a-z_])${above_${layer}}(::| {)")
            endif()
            if(layer MATCHES "^(core|instance|runtime)$")
                find_lines(
                    "${file}" "must not name a lock kind"
                    "^[^/]*(${one_kind})|^#include \"kinds/(${folder_of_kind}/|holder_steps[.]hpp|lock_key[.]hpp)"
                )
            endif()
            if(name MATCHES "^src/kinds/[^/]+$")
                find_lines("${file}" "must not include a kind" "^#include \"kinds/${folder_of_kind}/")
            elseif(name MATCHES "^src/kinds/(${folder_of_kind})/")
                set(kind "${CMAKE_MATCH_1}")
                if(DEFINED kinds_below_${kind})
                    find_lines(
                        "${file}" "must not include that kind" "^#include \"kinds/${folder_of_kind}/"
                        EXCEPT "\"kinds/(${kind}|${kinds_below_${kind}})/"
                    )
                endif()
            endif()
            if(name MATCHES "^src/runtime/")
                foreach(part IN LISTS runtime_parts)
                    string(REGEX MATCH "^([^=]*)=(.*)$" _ "${part}")
                    set(unknown "${CMAKE_MATCH_2}")
                    if(name MATCHES "^src/runtime/${CMAKE_MATCH_1}")
                        break()
                    endif()
                endforeach()
                foreach(line IN LISTS lines)
                    if(line MATCHES "\"runtime/([a-z]+/)?(${unknown})[.]hpp\"")
                        list(APPEND all "${name} must not know ${line}")
                    endif()
                endforeach()
            endif()
            if(name MATCHES "^src/(core|runtime)/" AND NOT name MATCHES "^src/runtime/asio_host[.]")
                find_lines("${file}" "must ask the environment" "${clocks_and_dice}")
            endif()
        endforeach()
    endforeach()
    file(GLOB_RECURSE files "${root}/src/*.?pp" "${root}/include/*.?pp")
    foreach(file IN LISTS files)
        cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${root}" OUTPUT_VARIABLE name)
        find_lines(
            "${file}" "must have no thread_local but a pointer, or one of a type without a destructor" "^[^/]*thread_local "
            EXCEPT "${lasting_thread_local}"
        )
        if(NOT name STREQUAL "src/instance/redis/environment.cpp")
            find_lines("${file}" "must leave the environment to read_environment" "${environment}")
        endif()
    endforeach()
    set(found "${all}" PARENT_SCOPE)
endfunction()

# expect_text(file text wrong|right): checks a tree that contains only this file.
function(expect_text file text verdict)
    file(REMOVE_RECURSE "${SELF_TEST_IN}")
    file(WRITE "${SELF_TEST_IN}/${file}" "#pragma once\n${text}\n")
    find_faults("${SELF_TEST_IN}")
    if((verdict STREQUAL "wrong" AND NOT found) OR (verdict STREQUAL "right" AND found))
        message(FATAL_ERROR "self-test: ${text} in ${file} should be ${verdict}; found: '${found}'")
    endif()
endfunction()

# expect(file include wrong|right): checks a tree with one file that contains only this include.
function(expect file include verdict)
    expect_text("${file}" "#include ${include}  // a comment" ${verdict})
endfunction()

if(SELF_TEST_IN)
    expect(src/core/acquire.hpp "\"core/vote.hpp\"" right)
    expect(src/core/acquire.hpp "<chrono>" right)
    expect(src/core/acquire.hpp "<boost/asio.hpp>" wrong)
    expect(src/core/acquire.hpp "\"instance/instance.hpp\"" wrong)
    expect(src/core/acquire.hpp "\"../runtime/engine.hpp\"" wrong)
    expect(src/core/acquire.hpp "<colock/error.hpp>" wrong)
    expect(src/resp/reader.cpp "\"resp/value.hpp\"" right)
    expect(src/resp/reader.cpp "\"core/vote.hpp\"" wrong)
    expect(src/resp/reader.cpp "<boost/asio/buffer.hpp>" wrong)
    expect(src/platform/fork.cpp "<sys/stat.h>" right)
    expect(src/platform/clock.cpp "\"instance/batch.hpp\"" wrong)
    expect(src/kinds/exclusive/exclusive.cpp "\"platform/clock.hpp\"" wrong)
    expect(src/kinds/exclusive/exclusive.cpp "\"resp/writer.hpp\"" right)
    expect(src/kinds/exclusive/exclusive.cpp "\"instance/batch.hpp\"" wrong)
    expect(src/kinds/exclusive/exclusive.cpp "\"kinds/exclusive/exclusive.hpp\"" right)
    expect(src/kinds/exclusive/exclusive.cpp "\"kinds/lock_key.hpp\"" right)
    expect(src/kinds/exclusive/exclusive.cpp "\"kinds/shared/shared.hpp\"" wrong)
    expect(src/kinds/shared/writer.cpp "\"kinds/fenced/fenced.hpp\"" right)
    expect(src/kinds/fenced/fenced.cpp "\"kinds/shared/shared.hpp\"" wrong)
    expect(src/kinds/own/own.cpp "\"kinds/fenced/fenced.hpp\"" right)
    expect(src/kinds/kind.cpp "\"kinds/kind.hpp\"" right)
    expect(src/kinds/kind.cpp "\"kinds/queue/remote_queue.hpp\"" wrong)
    expect(src/kinds/holder_steps.cpp "\"kinds/own/own.hpp\"" wrong)
    expect(src/core/command.hpp "\"kinds/kind.hpp\"" wrong)
    expect_text(src/core/command.hpp "namespace colock::kinds {" wrong)
    expect_text(src/core/command.hpp "    const kinds::lock_kind* kind = nullptr" wrong)
    expect_text(src/core/command.hpp "/// See `kinds::lock_kind`." right)
    expect_text(src/core/lease.hpp "namespace colock::core {" right)
    expect_text(src/kinds/kind.hpp "const runtime::engine& owner" wrong)
    expect_text(src/instance/batch.hpp "kinds::command command" right)
    expect_text(src/runtime/lock_spec.hpp "const kinds::lock_kind* kind = &kinds::exclusive" wrong)
    expect_text(src/runtime/lock_spec.hpp "/// As `kinds::exclusive`." right)
    expect_text(src/instance/redis/node.cpp "kind.admission == kinds::shared)" wrong)
    expect(src/instance/redis/encoder.cpp "\"kinds/holder_steps.hpp\"" wrong)
    expect(src/instance/redis/encoder.cpp "\"kinds/shared/shared.hpp\"" wrong)
    expect(src/instance/redis/encoder.cpp "\"kinds/replies.hpp\"" right)
    expect(src/instance/redis/connection.cpp "\"resp/reader.hpp\"" right)
    expect(src/instance/redis/connection.cpp "<boost/asio/buffer.hpp>" right)
    expect(src/instance/redis/connection.cpp "<boost/redis/connection.hpp>" wrong)
    expect(src/instance/redis/connection.cpp "\"instance/redis/batcher.hpp\"" right)
    expect(src/instance/redis/connection.cpp "\"runtime/engine.hpp\"" wrong)
    expect(src/instance/redis/connection.cpp "<colock/config.hpp>" wrong)
    expect(src/runtime/engine.cpp "\"instance/instance.hpp\"" right)
    expect(src/runtime/engine.cpp "<colock/client.hpp>" wrong)
    expect(src/runtime/engine.cpp "<boost/asio/post.hpp>" wrong)
    expect(src/runtime/asio_host.cpp "<boost/asio/post.hpp>" right)
    expect(src/runtime/asio_host.hpp "\"runtime/engine.hpp\"" right)
    expect(src/runtime/engine.hpp "\"runtime/client_context.hpp\"" right)
    expect(src/runtime/engine.cpp "\"runtime/key/lease_driver.hpp\"" right)
    expect(src/runtime/key/key_queue.cpp "\"runtime/key/ticket.hpp\"" right)
    expect(src/runtime/key/local_queue.hpp "\"kinds/admission.hpp\"" right)
    expect(src/runtime/key/local_queue.cpp "\"runtime/operations/acquire_operation.hpp\"" wrong)
    expect(src/runtime/key/ticket.cpp "\"runtime/operations/acquire_operation.hpp\"" wrong)
    expect(src/runtime/operations/lease_operation.cpp "\"runtime/client_context.hpp\"" wrong)
    expect(src/runtime/loop/outbox.hpp "\"runtime/key/key_queue.hpp\"" wrong)
    expect(src/runtime/key/lease_driver.cpp "\"runtime/engine.hpp\"" wrong)
    expect(src/runtime/operations/acquire_operation.hpp "\"runtime/key/lease_driver.hpp\"" right)
    expect_text(src/runtime/engine.cpp "const auto now = platform::clock::now()" wrong)
    expect_text(src/core/acquire.cpp "std::random_device entropy" wrong)
    expect_text(src/runtime/asio_host.cpp "return platform::clock::now()" right)
    expect_text(src/runtime/engine.cpp "const auto now = world_.now()" right)
    expect_text(src/api/lock_handle.cpp "thread_local std::shared_ptr<policy> latest" wrong)
    expect_text(include/colock/mutex.hpp "    static thread_local cleaner at_end" wrong)
    expect_text(src/runtime/thread_check.hpp "static thread_local char mark" right)
    expect_text(src/runtime/recycling_allocator.cpp "constinit thread_local cache* kept" right)
    expect_text(src/runtime/recycling_allocator.cpp "/// No thread_local std::string" right)
    expect_text(src/instance/redis/tls.cpp "std::getenv(name)" wrong)
    expect_text(src/instance/redis/tls.cpp "tls.set_default_verify_paths(failure)" wrong)
    expect_text(src/instance/redis/environment.cpp "std::getenv(name)" right)
    expect(include/colock/mutex.hpp "<boost/asio/deferred.hpp>" right)
    expect(include/colock/mutex.hpp "<boost/redis/connection.hpp>" wrong)
    expect(include/colock/mutex.hpp "<openssl/ssl.h>" wrong)
    expect(include/colock/mutex.hpp "<nlohmann/json.hpp>" wrong)
    expect(include/colock/detail/handlers.hpp "\"runtime/engine.hpp\"" wrong)
    file(REMOVE_RECURSE "${SELF_TEST_IN}")
    message(STATUS "each kind of fault is found")
else()
    find_faults("${ROOT}")
    if(found)
        list(JOIN found "\n  " text)
        message(FATAL_ERROR "the layers do not allow this:\n  ${text}")
    endif()
    message(STATUS "no include points up, only the environment reads a clock, no thread_local has a destructor")
endif()
