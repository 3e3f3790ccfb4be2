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

/// What hears of a connection: that which leads a client to its instance.
class connection_owner {
public:
    connection_owner() = default;
    connection_owner(const connection_owner&) = delete;
    connection_owner& operator=(const connection_owner&) = delete;
    virtual ~connection_owner() = default;

    /// It was connected. Gives until when the server grants no locks since it was promoted.
    virtual core::time_point admit(const server& s) = 0;
    /// It has become ready.
    virtual void on_accepting() = 0;
    virtual void on_broken() = 0;
    virtual void on_answer(const request& r, const core::vote& v) = 0;
    /// Something has happened to a key that the client has asked for.
    virtual void on_key_changed(const std::string& key) = 0;
    /// The server has not executed it, since its slot is elsewhere, or cannot be used now.
    virtual void on_redirected(const request& r, const instance::redis::redirection& to) = 0;
    /// Sends again what the server has not executed, in that form. Returns false if there is a reason not to.
    virtual bool send_again(connection& way, const request& r, script_form form) = 0;
    /// Does that when the client runs.
    virtual void run_or_defer(world::step what) = 0;
};

/// A client's connection to a server, as TCP makes it: what is sent arrives in order, late, or not
/// at all, and then the connection breaks. It connects again by itself.
class connection {
public:
    connection(world& w, voter& v, std::size_t node, std::string client, const local_clock& clock,
               std::uint64_t& last_executed, connection_owner& owner);

    /// To connect.
    void start() { connect(); }
    [[nodiscard]] bool ready() const { return wire_ != nullptr; }
    /// Until when its server grants no locks, for all that the client knows, by the client's clock.
    [[nodiscard]] core::time_point quarantined_until() const { return quarantined_until_; }
    /// Whether its server cannot serve such a lock, so that the command must not be sent.
    [[nodiscard]] bool forbids(const kinds::command& command) const {
        return wire_ != nullptr && wire_->session->probed().forbids(command);
    }
    /// Sends a command, in that form if one is given. Releases that are sent at the same time may become one command. `again`: the
    /// server has not executed it before.
    void send(const request& r, std::optional<script_form> form, bool again);

    enum direction : std::size_t { to_server, to_client };
    /// Nothing gets through before `until`.
    void block(direction d, true_time until);
    /// Breaks; what was not answered is failed. What was sent and has not arrived never does, or does
    /// so much later than it would have; without `deliver_after` chance decides.
    void reset(std::optional<duration> deliver_after = std::nullopt);
    /// As `reset`, and it does not connect again.
    void close();
    /// The client has ended.
    void abandon();

private:
    struct message {
        true_time arrival{};
        true_time sent{};
        std::vector<sent_request>
            commands{};  // to the server: what is sent as one. To the client: one
        script_form form = script_form::shortest;
        outcome answer{};
        std::string changed_key{};  // instead of all that
    };
    /// One TCP connection.
    struct wire {
        std::unique_ptr<redis_session> session{};
        std::array<std::deque<message>, 2> messages;
        std::array<true_time, 2> last_arrival{};
        std::array<bool, 2> is_held_up{};  // it goes on at a time that is known
        bool broken = false;
        std::optional<message>
            unreplicated{};  // a grant that waits for replicas, and all else behind it
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
    const local_clock& clock_;  // the client's
    std::uint64_t& last_executed_;
    connection_owner& owner_;
    std::array<true_time, 2> blocked_until_{};
    std::vector<std::unique_ptr<wire>> wires_;
    wire* wire_ = nullptr;  // the one in use
    // As in `instance::redis::node`:
    resend_queue to_resend_;
    std::vector<request> resent_;  // the commands in it, in its order
    resend_queue::number last_number_ = 0;
    bool shortest_refused_ = false;
    bool abandoned_ = false;
    core::time_point quarantined_until_ = core::time_point::min();
};

}  // namespace colock::simulation

#endif
