#include "instance/redis/batch.hpp"

#include "instance/redis/scripts.hpp"

#include <string_view>

namespace colock::instance::redis {
namespace {

boost::redis::request::config request_settings() {
    boost::redis::request::config settings;
    settings.cancel_on_connection_lost = true;
    settings.cancel_if_not_connected = true;
    settings.cancel_if_unresponded = true;  // never replayed: see design, 3
    return settings;
}

}  // namespace

batch::batch() : request_(request_settings()) {}

void batch::clear() {
    request_.clear();
    commands_.clear();
    answered_ = 0;
}

void batch::add(const pending_command& pending, const server_facts& facts) {
    const core::command& command = pending.command;
    const bool full = pending.script_in_full;
    const std::string_view run = full ? "EVAL" : "EVALSHA";
    switch (command.verb) {
        case core::verb::acquire:
            request_.push("SET", command.key, command.token, "NX", "PX", command.ttl.count());
            break;
        case core::verb::extend:
            request_.push(run, full ? scripts::extend : std::string_view(facts.extend_sha), 1,
                          command.key, command.token, command.ttl.count());
            break;
        case core::verb::release:
            request_.push(run, full ? scripts::release : std::string_view(facts.release_sha), 1,
                          command.key, command.token);
            break;
        case core::verb::remaining: request_.push("PTTL", command.key); break;
    }
    commands_.push_back(pending);
}

}  // namespace colock::instance::redis
