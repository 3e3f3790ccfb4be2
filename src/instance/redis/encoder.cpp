// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/encoder.hpp"

#include "kinds/scripts.hpp"
#include "resp/writer.hpp"

namespace colock::instance::redis {

namespace {

/// Many releases as one call of a script.
void write_releases(std::span<const submission> them, script_form form, resp::command_writer& to) {
    constexpr std::size_t before_keys = 3;
    to.begin(before_keys + 2 * them.size());
    if (is_in_full(form)) {
        to.add(resp::words<"EVAL">);
        to.add(kinds::scripts::release_many.text);
    } else {
        to.add(resp::words<"EVALSHA">);
        to.add(kinds::scripts::release_many.digest);
    }
    to.add(resp::number(static_cast<long long>(them.size())).text());
    for (const submission& one : them) {
        to.add(one.command.key);
    }
    for (const submission& one : them) {
        to.add(one.command.token);
    }
}

void write(const kinds::command& command, const capabilities& server, script_form form,
           resp::command_writer& to) {
    if (form == script_form::asking) {
        to.write(resp::words<"ASKING">);
    } else if (is_watched(command.step, server, form)) {
        to.write(resp::words<"CLIENT", "CACHING", "YES">);
    }
    if (command.step == core::step::withdraw) {
        command.kind->withdraw(command, to);
        return;
    }
    if (kinds::is_behind_announcement(command, form)) {
        command.kind->announce(command, form, to);
    }
    command.kind->encode(command, server, form, to);
}

/// All commands of a batch, into `buffer`.
std::string_view write_all(const batch& commands, const capabilities& server, script_form form,
                           std::string& buffer) {
    resp::command_writer writer(buffer);
    std::span<const submission> rest = commands.submissions();
    while (!rest.empty()) {
        const std::size_t count = sent_as_one(rest, server, form);
        if (count == 1) {
            write(rest.front().command, server, form, writer);
        } else {
            write_releases(rest.first(count), form, writer);
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
