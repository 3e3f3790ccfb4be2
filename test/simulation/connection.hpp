// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_CONNECTION_HPP
#define COLOCK_TEST_SIMULATION_CONNECTION_HPP

#include "simulation/redis_session.hpp"
#include "simulation/request.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include "core/validity.hpp"
#include "core/vote.hpp"
#include "instance/redis/resend_queue.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {

class connection;

/// The observer of a connection: the route from a client to its instance.
class connection_owner {
public:
    connection_owner() = default;
    connection_owner(const connection_owner&) = delete;
    connection_owner& operator=(const connection_owner&) = delete;
    virtual ~connection_owner() = default;

    /// Called when the connection is established. Returns the end of the quarantine that began with the
    /// server's promotion.
    virtual core::time_point admit(const server& s) = 0;
    /// Called when the connection is ready.
    virtual void on_accepting() = 0;
    virtual void on_broken() = 0;
    virtual void on_answer(const request& r, const core::vote& v) = 0;
    /// Called when a tracked key has changed.
    virtual void on_key_changed(const std::string& key) = 0;
    /// Called when the server has not executed the command, because its slot is elsewhere or unusable at the
    /// moment.
    virtual void on_redirected(const request& r, const instance::redis::redirection& to) = 0;
    /// Sends a command again that the server has not executed, in this form. Returns false if there is a
    /// reason not to.
    virtual bool send_again(connection& way, const request& r, script_form form) = 0;
    /// Runs the step when the client runs.
    virtual void run_or_defer(world::step what) = 0;
};

/// A client's connection to a server, with the properties of TCP. Messages arrive in order, possibly late. If
/// a message is lost, the connection breaks. It reconnects automatically.
class connection {
public:
    connection(world& w, voter& v, std::size_t node, std::string client, const local_clock& clock,
               std::uint64_t& last_executed, connection_owner& owner);

    /// Connects.
    void start() { connect(); }
    [[nodiscard]] bool ready() const { return wire_ != nullptr; }
    /// Returns the end of the server's quarantine as the client computes it, by the client's clock.
    [[nodiscard]] core::time_point quarantined_until() const { return quarantined_until_; }
    /// Returns whether the server cannot serve such a lock. The command must then not be sent.
    [[nodiscard]] bool forbids(const kinds::command& command) const {
        return wire_ != nullptr && wire_->session->probed().forbids(command);
    }
    /// Sends a command, in this form if one is given. Releases that are sent at the same time may be merged
    /// into one command. `again` means that the server has not executed it before.
    void send(const request& r, std::optional<script_form> form, bool again);

    enum direction : std::size_t { to_server, to_client };
    /// Delivers no messages before `until`.
    void block(direction d, true_time until);
    /// Breaks the connection and fails all unanswered commands. Messages in flight are lost, or arrive much
    /// later. Without `deliver_after`, this is random.
    void reset(std::optional<duration> deliver_after = std::nullopt);
    /// Resets the connection without reconnecting.
    void close();
    /// Called when the client has ended.
    void abandon();

private:
    struct message {
        true_time arrival{};
        true_time sent{};
        std::vector<sent_request>
            commands{};  // To the server: commands sent as one. To the client: one command.
        script_form form = script_form::shortest;
        outcome answer{};
        std::string changed_key{};  // Replaces all of these.
    };
    /// One TCP connection.
    struct wire {
        std::unique_ptr<redis_session> session{};
        std::array<std::deque<message>, 2> messages;
        std::array<true_time, 2> last_arrival{};
        std::array<bool, 2> is_held_up{};  // Delivery resumes at a known time.
        bool broken = false;
        std::optional<message>
            unreplicated{};  // A grant that waits for replicas, with all later messages.
    };

    void put(wire& w, direction d, message m);
    void pump(wire& w, direction d);
    void execute(wire& w, const message& m);
    void answer(wire& w, const message& m, std::size_t which, outcome with);
    void tell_changes(wire& w);
    void on_reply(const message& m);
    void on_vote(const sent_request& r, const core::vote& v);
    void send_again(const sent_request& r, script_form form);
    void resend();
    [[nodiscard]] script_form usual_form() const {
        return shortest_refused_ ? script_form::digest : script_form::shortest;
    }
    void wait_for_replicas(wire& w, std::uint64_t written, true_time until);
    void connect();
    void probe();
    [[nodiscard]] true_time open_at(const wire& w, direction d) const;

    world& world_;
    voter& voter_;
    std::size_t node_;
    server& server_;
    std::string client_;
    const local_clock& clock_;  // The client's clock.
    std::uint64_t& last_executed_;
    connection_owner& owner_;
    std::array<true_time, 2> blocked_until_{};
    std::vector<std::unique_ptr<wire>> wires_;
    wire* wire_ = nullptr;  // The connection in use.
    // As in `instance::redis::node`:
    resend_queue to_resend_;
    std::vector<request> resent_;  // The queued commands, in order.
    resend_queue::number last_number_ = 0;
    bool shortest_refused_ = false;
    bool abandoned_ = false;
    core::time_point quarantined_until_ = core::time_point::min();
};

}  // namespace colock::simulation

#endif
