// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/encoder.hpp"

#include "resp/writer.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

namespace colock::instance::redis {

namespace {

/// Encodes several commands as one.
void write_together(std::span<const submission> them, const capabilities& server, script_form form,
                    resp::command_writer& to) {
    std::array<const kinds::command*, kinds::coalescing::most> commands;
    std::ranges::transform(them, commands.begin(),
                           [](const submission& one) { return &one.command; });
    const kinds::command& first = them.front().command;
    first.kind->coalesces(first, server, form)
        ->encode(std::span(commands).first(them.size()), form, to);
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
        command.kind->announce(command, to);
    }
    command.kind->encode(command, server, form, to);
}

/// Encodes all commands of a batch into `buffer`.
std::string_view write_all(const batch& commands, const capabilities& server, script_form form,
                           std::string& buffer) {
    resp::command_writer writer(buffer);
    std::span<const submission> rest = commands.submissions();
    while (!rest.empty()) {
        const std::size_t count = sent_as_one(rest, server, form);
        [[maybe_unused]] const std::size_t before = writer.text().size();
        if (count == 1) {
            write(rest.front().command, server, form, writer);
        } else {
            write_together(rest.first(count), server, form, writer);
        }
        // A command without text would take the reply of the next one.
        assert(writer.text().size() != before && "its kind does not know this step");
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
        last_.reset();  // Until the whole batch is written.
        last_text_ = write_all(*commands, facts.capabilities, form, last_buffer_);
        last_ = commands;
        last_form_ = form;
        last_capabilities_ = facts.capabilities;
    }
    return last_text_;
}

}  // namespace colock::instance::redis
