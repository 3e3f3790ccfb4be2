// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/redis_session.hpp"

#include "instance/redis/address.hpp"
#include "instance/redis/decode.hpp"
#include "instance/redis/key_slot.hpp"
#include "kinds/kind.hpp"
#include "resp/reader.hpp"

#include <cassert>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace colock::simulation {
namespace {

namespace redis = instance::redis;

constexpr std::size_t longest_reply = std::size_t{1} << 20U;
constexpr wall_microseconds any_time = 1'800'000'000'000'000;

/// A healthy server that has been probed.
struct prototype {
    prototype(const small_redis::server& like) : host(like.dialect()) {
        host.access = like.access;
        if (like.cluster) {
            host.cluster.emplace().serve(0, redis::slot_count - 1);
        }
        redis::probe questions(redis::address(), like.cluster ? redis::deployment::cluster
                                                              : redis::deployment::standalone);
        small_redis::session client(host);
        client.receive(questions.text(), any_time);
        std::string_view rest = client.output();
        resp::reader reader(longest_reply);
        while (!questions.answered() && reader.read(rest) == resp::reader::status::complete) {
            questions.on_reply(rest.substr(0, reader.size()));
            rest.remove_prefix(reader.size());
        }
        assert(questions.answered());
        result.facts = questions.facts();
        result.objection = questions.objection().value_or(std::string());
    }

    small_redis::server host;
    probed_server result;
};

}  // namespace

bool probed_server::forbids(const kinds::command& command) const {
    const kinds::kind_traits& kind = command.kind->traits();
    if (core::is_of_record(command.step)) {
        return facts.refused_to_records != nullptr;
    }
    if (!core::takes_key(command)) {
        return false;
    }
    if (kind.admission.counts_holders()) {
        return facts.refused_to_semaphores != nullptr;
    }
    return (kind.orders_waiters && facts.refused_to_orders != nullptr) ||
           (kind.admission.shares_lease() && facts.refused_to_readers != nullptr) ||
           (kind.value_per_holder && facts.refused_to_fenced != nullptr);
}

/// Returns the result of a probe. All servers with the same dialect and rights share it.
const probed_server& probe(small_redis::server& host) {
    using key = std::tuple<const small_redis::dialect*, bool, std::vector<std::string>>;
    static std::map<key, prototype> all;
    const auto found = all.try_emplace(
        key(&host.dialect(), host.cluster.has_value(), host.access.denied_commands), host);
    host.add_scripts_of(found.first->second.host);
    return found.first->second.result;
}

redis_session::redis_session(small_redis::server& host, const probed_server& probed)
    : probed_(probed), session_(host) {
    if (probed.facts.capabilities.tells_changes) {
        session_.state.is_tracking = session_.state.is_opt_in = session_.state.is_no_loop = true;
    }
}

std::span<const outcome> redis_session::execute(std::span<const sent_request> commands,
                                                script_form form, wall_microseconds now) {
    batch_.clear();
    for (const sent_request& one : commands) {
        batch_.submit(one.what.receiver, one.what.tag, core::instance_set::all(), core::never) =
            one.what.command;
    }
    session_.receive(encoder_.encode(batch_, probed_.facts, form), now);
    outcomes_.clear();
    read(commands, form);
    assert(outcomes_.size() == commands.size());
    return outcomes_;
}

void redis_session::read(std::span<const sent_request> commands, script_form form) {
    const std::string bytes = std::exchange(session_.output(), {});
    std::string_view rest = bytes;
    resp::reader reader(longest_reply);
    bool is_prelude = commands.size() == 1 && redis::has_prelude(commands.front().what.command,
                                                                 probed_.facts.capabilities, form);
    while (!rest.empty() && reader.read(rest) == resp::reader::status::complete) {
        const resp::value& root = reader.root();
        if (root.type == resp::type::push) {
            note_push(rest.substr(0, reader.size()));
        } else if (!std::exchange(is_prelude, false)) {
            for (std::size_t i = 0; i != commands.size(); ++i) {
                outcomes_.push_back(commands.size() == 1
                                        ? outcome_of(commands[i].what.command, form, root)
                                        : outcome_of_many(commands, i, form, root));
            }
        }
        rest.remove_prefix(reader.size());
    }
}

outcome redis_session::outcome_of(const kinds::command& command, script_form form,
                                  const resp::value& reply) const {
    const kinds::capabilities& server = probed_.facts.capabilities;
    if (redis::is_plain_grant(command, reply)) {
        return {core::vote::granted()};
    }
    if (redis::is_redirection(reply)) {
        outcome result;
        result.elsewhere = redis::read_redirection(reply.text);
        return result;
    }
    if (redis::is_from_replica(reply)) {
        outcome result{redis::decode(command, reply)};
        result.ends_connection = true;
        return result;
    }
    if (command.kind->is_native(command, server, form)) {
        if (!is_error(reply)) {
            return {command.kind->decode_native(command, reply)};
        }
        outcome result;
        result.again = script_form::digest;
        result.is_refused_for_good = redis::is_refused_for_good(reply);
        return result;
    }
    if (!kinds::is_in_full(form) && redis::is_unknown_script(reply)) {
        outcome result;
        result.again = script_form::in_full;
        return result;
    }
    return {redis::decode(command, reply)};
}

outcome redis_session::outcome_of_many(std::span<const sent_request> commands, std::size_t i,
                                       script_form form, const resp::value& reply) const {
    const kinds::command& first = commands.front().what.command;
    outcome result;
    if (!kinds::is_in_full(form) && redis::is_unknown_script(reply)) {
        result.again = script_form::many_in_full;
    } else if (is_error(reply)) {
        result.again = script_form::digest;
        result.is_refused_for_good = redis::is_refused_for_good(reply);
    } else {
        result.vote = first.kind->coalesces(first, probed_.facts.capabilities, form)
                          ->decode(i, commands.size(), reply);
    }
    return result;
}

std::vector<std::string> redis_session::take_changes() {
    const std::string bytes = std::exchange(session_.output(), {});
    std::string_view rest = bytes;
    resp::reader reader(longest_reply);
    while (!rest.empty() && reader.read(rest) == resp::reader::status::complete) {
        note_push(rest.substr(0, reader.size()));
        rest.remove_prefix(reader.size());
    }
    return std::exchange(changes_, {});
}

/// Parses a push: `invalidate` and the names of keys.
void redis_session::note_push(std::string_view push) {
    resp::cursor values(push);
    values.next();
    values.next();
    const resp::value keys = values.next();
    for (std::size_t i = 0; i != keys.children; ++i) {
        changes_.emplace_back(values.next().text);
    }
}

}  // namespace colock::simulation
