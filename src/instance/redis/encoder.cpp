#include "instance/redis/encoder.hpp"

#include "instance/auxiliary_key.hpp"
#include "instance/fence.hpp"
#include "instance/redis/scripts.hpp"
#include "resp/writer.hpp"

#include <chrono>

namespace colock::instance::redis {

using resp::number;
using resp::word;
using resp::words;

namespace {

/// A script with that number of keys, which come first, and its arguments.
template <word Keys, typename... Arguments>
void write_script(std::string_view script, std::string_view digest, script_form form,
                  resp::command_writer& to, const Arguments&... arguments) {
    if (is_in_full(form)) {
        to.write(words<"EVAL">, script, words<Keys>, arguments...);
    } else {
        to.write(words<"EVALSHA">, digest, words<Keys>, arguments...);
    }
}

void write_release(const core::command& command, const capabilities& capabilities, script_form form,
                   resp::command_writer& to) {
    if (!is_native(command.verb, capabilities, form)) {
        write_script<"1">(scripts::release, capabilities.release_digest, form, to, command.key,
                          command.token);
    } else if (capabilities.native_delete == native_delete::delifeq) {
        to.write(words<"DELIFEQ">, command.key, command.token);
    } else {
        to.write(words<"DELEX">, command.key, words<"IFEQ">, command.token);
    }
}

/// As one.
void write_releases(std::span<const submission> them, const capabilities& capabilities,
                    script_form form, resp::command_writer& to) {
    constexpr std::size_t before_keys = 3;
    to.begin(before_keys + 2 * them.size());
    if (is_in_full(form)) {
        to.add(words<"EVAL">);
        to.add(scripts::release_many);
    } else {
        to.add(words<"EVALSHA">);
        to.add(std::string_view(capabilities.release_many_digest));
    }
    to.add(number(static_cast<long long>(them.size())).text());
    for (const submission& one : them) {
        to.add(one.command.key);
    }
    for (const submission& one : them) {
        to.add(one.command.token);
    }
}

void write_fence(const core::command& command, const capabilities& capabilities, script_form form,
                 resp::command_writer& to) {
    const bool takes = command.verb == core::verb::acquire_fenced;
    const number ttl(takes ? command.ttl.count() : 0);
    const number fence(static_cast<long long>(command.fence));
    const number idle(std::chrono::milliseconds(fence_idle).count());
    write_script<"2">(scripts::fence, capabilities.fence_digest, form, to, command.key,
                      fence_key(command.key), command.token, ttl.text(), fence.text(), idle.text());
}

void write_count(const core::command& command, const capabilities& capabilities, script_form form,
                 resp::command_writer& to) {
    const number fence(static_cast<long long>(command.fence));
    const number idle(std::chrono::milliseconds(fence_idle).count());
    write_script<"1">(scripts::count, capabilities.count_digest, form, to, fence_key(command.key),
                      fence.text(), idle.text());
}

void write_line(const core::command& command, const capabilities& capabilities, script_form form,
                resp::command_writer& to) {
    const std::string queue = queue_key(command.key);
    const std::string ticket = ticket_key(command.key, command.fence);
    const number own(static_cast<long long>(command.fence));
    if (command.verb == core::verb::join_queue) {
        write_script<"2">(scripts::join, capabilities.join_digest, form, to, queue, ticket,
                          own.text(), number(command.ttl.count()).text(),
                          ticket_prefix(command.key));
    } else {
        write_script<"2">(scripts::leave, capabilities.leave_digest, form, to, queue, ticket,
                          own.text());
    }
}

void write(const core::command& command, const capabilities& capabilities, script_form form,
           resp::command_writer& to) {
    if (form == script_form::asking) {
        to.write(words<"ASKING">);
    }
    switch (command.verb) {
        case core::verb::acquire:
            to.write(words<"SET">, command.key, command.token, words<"NX", "PX">,
                     number(command.ttl.count()).text());
            break;
        case core::verb::extend:
            write_script<"1">(scripts::extend, capabilities.extend_digest, form, to, command.key,
                              command.token, number(command.ttl.count()).text());
            break;
        case core::verb::release:
            write_release(command, capabilities, form, to);
            break;
        case core::verb::acquire_fenced:
        case core::verb::raise_fence:
            write_fence(command, capabilities, form, to);
            break;
        case core::verb::count_fence:
            write_count(command, capabilities, form, to);
            break;
        case core::verb::join_queue:
        case core::verb::leave_queue:
            write_line(command, capabilities, form, to);
            break;
        case core::verb::remaining:
            if (is_watched(command.verb, capabilities, form)) {
                to.write(words<"CLIENT", "CACHING", "YES">);
            }
            to.write(words<"PTTL">, command.key);
            break;
    }
}

/// All commands of a batch, into `buffer`.
std::string_view write_all(const batch& commands, const capabilities& capabilities,
                           script_form form, std::string& buffer) {
    resp::command_writer writer(buffer);
    std::span<const submission> rest = commands.submissions();
    while (!rest.empty()) {
        const std::size_t count = sent_as_one(rest, capabilities, form);
        if (count == 1) {
            write(rest.front().command, capabilities, form, writer);
        } else {
            write_releases(rest.first(count), capabilities, form, writer);
        }
        rest = rest.subspan(count);
    }
    return writer.text();
}

}  // namespace

std::string_view encoder::encode(const batch& commands, const server_facts& facts,
                                 script_form form) {
    return write_all(commands, facts.capabilities, form, buffer_);
}

std::string_view encoder::encode_shared(const std::shared_ptr<const batch>& commands,
                                        const server_facts& facts, script_form form) {
    if (last_ != commands || last_form_ != form || last_capabilities_ != facts.capabilities) {
        last_.reset();  // until all of it is written
        last_text_ = write_all(*commands, facts.capabilities, form, last_buffer_);
        last_ = commands;
        last_form_ = form;
        last_capabilities_ = facts.capabilities;
    }
    return last_text_;
}

}  // namespace colock::instance::redis
