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

/// The findings of the production probe about a server.
struct probed_server {
    instance::redis::server_facts facts;
    std::string objection;  ///< Why it must not vote. Empty if it may.

    /// Returns whether the client must not send the command. It could not release or renew such a lock.
    [[nodiscard]] bool forbids(const kinds::command& command) const;
};

/// Probes a server. It has the scripts afterwards.
const probed_server& probe(small_redis::server& host);

/// A command, with its position among the commands on one connection.
struct sent_request {
    request what;
    resend_queue::number number = 0;
};

/// The meaning of a reply for its command.
struct outcome {
    core::vote vote{};  ///< If no other member is set.
    std::optional<script_form>
        again{};  ///< The command was not executed and must be sent again in this form.
    bool is_refused_for_good = false;  ///< The server refuses its native command.
    /// The command was not executed, because its slot is elsewhere or unusable at the moment.
    std::optional<instance::redis::redirection> elsewhere{};
    bool ends_connection = false;  ///< The server is a replica.
};

/// A client's session with a small Redis. It uses the production encoder and decoder, and reads replies as
/// `instance::redis::connection` does.
class redis_session {
public:
    /// The server must outlive the session.
    redis_session(small_redis::server& host, const probed_server& probed);

    /// Executes commands that are sent as one. Returns an outcome for each. The outcomes are valid until the
    /// next call.
    std::span<const outcome> execute(std::span<const sent_request> commands, script_form form,
                                     wall_microseconds now);

    /// Removes and returns the changed keys that the server has reported.
    std::vector<std::string> take_changes();
    /// Ends the reports of changed keys.
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
