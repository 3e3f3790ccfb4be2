// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_ROUTE_HPP
#define COLOCK_TEST_SIMULATION_ROUTE_HPP

#include "simulation/connection.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {

class client;

/// A client's route to an instance. It finds the server for each command and connects to it. There is one
/// class for each topology of `instance::redis`.
class route : public connection_owner {
public:
    route(world& w, client& c, voter& v, std::size_t index);

    /// Sends a command, or reports immediately why it is not sent. Both go through `client::send_on`.
    virtual void send(const request& r) = 0;

    // Faults.

    /// Breaks one of the connections.
    virtual void reset();
    void reset(std::optional<duration> deliver_after);
    void reset(std::size_t node, std::optional<duration> deliver_after);
    void block(connection::direction d, true_time until);
    /// Cuts the client off from this Sentinel until `until`.
    virtual void cut_sentinel(std::size_t /*sentinel*/, true_time /*until*/) {}
    /// Called when a Sentinel announces a failover.
    virtual void on_failover_message(std::size_t /*sentinel*/) {}
    void abandon();
    /// Closes all connections without new ones.
    void close();

    /// Returns whether the instance accepts acquires.
    [[nodiscard]] bool ready() const;
    /// Returns whether a server is connected. It may be quarantined.
    [[nodiscard]] bool connected() const;
    /// As `instance::keeper_id` of a ready instance.
    [[nodiscard]] virtual std::uint64_t keeper_id() const = 0;
    /// Returns the end of the quarantine of a reachable instance.
    [[nodiscard]] core::time_point quarantined_until() const;

    core::time_point admit(const server& /*s*/) override { return core::time_point::min(); }
    void on_accepting() override;
    void on_broken() override;
    void on_answer(const request& r, const core::vote& v) override;
    void on_key_changed(const std::string& key) override;
    /// Handles a redirect as a server outside of a cluster does, with an error.
    void on_redirected(const request& r, const instance::redis::redirection& /*to*/) override {
        on_answer(r, core::vote::failed(core::failure::server_error));
    }
    bool send_again(connection& way, const request& r, script_form form) override;
    void run_or_defer(world::step what) override;

protected:
    struct link {
        std::size_t node;
        std::unique_ptr<connection> to;
    };

    /// Returns a new connection that has not been started.
    connection& connect_to(std::size_t node);
    [[nodiscard]] core::time_point end_of_quarantine(core::time_point since) const;
    /// Returns the ID by which all clients identify that node, or 0 if it hosts no queues.
    [[nodiscard]] std::uint64_t keeper_id_of(std::size_t node) const;

    world& world_;
    client& client_;
    voter& voter_;
    std::size_t index_;
    std::vector<link> links_;

private:
    std::array<true_time, 2> blocked_until_{};
    std::uint64_t last_executed_ = 0;
};

/// Returns a route to this instance, by its topology.
std::unique_ptr<route> make_route(world& w, client& c, voter& v, std::size_t index);

}  // namespace colock::simulation

#endif
