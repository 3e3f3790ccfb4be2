// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_REDIS_SESSION_HPP
#define COLOCK_TEST_SIMULATION_REDIS_SESSION_HPP

#include "simulation/request.hpp"

#include "core/vote.hpp"
#include "instance/batch.hpp"
#include "instance/redis/cluster_map.hpp"
#include "instance/redis/encoder.hpp"
#include "instance/redis/probe.hpp"
#include "instance/redis/resend_queue.hpp"
#include "kinds/capabilities.hpp"
#include "resp/value.hpp"
#include "support/small_redis/server.hpp"
#include "support/small_redis/session.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

using instance::redis::resend_queue;
using kinds::script_form;
using small_redis::wall_microseconds;

/// What the production probe has found out about a server.
struct probed_server {
    instance::redis::server_facts facts;
    std::string objection;  ///< why it must not vote. Empty if it may

    /// Whether the client must not send that command, since it could not release or renew the lock.
    [[nodiscard]] bool forbids(const kinds::command& command) const;
};

/// Probes a server. From then on it knows the scripts.
const probed_server& probe(small_redis::server& host);

/// A command, and its place among all that its client has sent over one connection.
struct sent_request {
    request what;
    resend_queue::number number = 0;
};

/// What a reply is for its command.
struct outcome {
    core::vote vote{};  ///< if nothing else is said
    std::optional<script_form>
        again{};  ///< it was not executed, and is to be sent again in this form
    bool is_refused_for_good = false;  ///< the server refuses the command of its own that was sent
    /// It was not executed, since its slot is elsewhere, or cannot be used now.
    std::optional<instance::redis::redirection> elsewhere{};
    bool ends_connection = false;  ///< the server is a replica
};

/// A client's session at a small Redis, with the production encoder in front of it and the production decoder behind it. It reads
/// replies as `instance::redis::connection` does.
class redis_session {
public:
    /// The server must outlive it.
    redis_session(small_redis::server& host, const probed_server& probed);

    /// Has the server execute what is sent as one command. Returns an outcome for each. They are valid until the next call.
    std::span<const outcome> execute(std::span<const sent_request> commands, script_form form,
                                     wall_microseconds now);

    /// Takes what the server has told of changed keys.
    std::vector<std::string> take_changes();
    /// Nobody hears any more of changed keys.
    void end() { session_.state = {}; }

    [[nodiscard]] const probed_server& probed() const { return probed_; }
    [[nodiscard]] small_redis::session& at_server() { return session_; }

private:
    void read(std::span<const sent_request> commands, script_form form);
    [[nodiscard]] outcome outcome_of(const kinds::command& command, script_form form,
                                     const resp::value& reply) const;
    [[nodiscard]] outcome outcome_of_many(std::span<const sent_request> commands, std::size_t i,
                                          script_form form, const resp::value& reply) const;
    void note_push(std::string_view push);

    const probed_server& probed_;
    small_redis::session session_;
    instance::batch batch_;
    instance::redis::encoder encoder_;
    std::vector<outcome> outcomes_;
    std::vector<std::string> changes_;
};

}  // namespace colock::simulation

#endif
