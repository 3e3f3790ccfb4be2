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

/// How a client reaches an instance: it finds the server for each command, and connects to it. There is one kind for
/// each topology of `instance::redis`.
class route : public connection_owner {
public:
    route(world& w, client& c, voter& v, std::size_t index);

    /// Sends a command, or hears at once why not: both through `client::send_on`.
    virtual void send(const request& r) = 0;

    // What goes wrong.

    /// One of its connections breaks.
    virtual void reset();
    void reset(std::optional<duration> deliver_after);
    void reset(std::size_t node, std::optional<duration> deliver_after);
    void block(connection::direction d, true_time until);
    /// The client does not hear that Sentinel before `until`.
    virtual void cut_sentinel(std::size_t /*sentinel*/, true_time /*until*/) {}
    /// A Sentinel tells of a failover.
    virtual void on_failover_message(std::size_t /*sentinel*/) {}
    void abandon();
    /// No connection is made any more, and those that there are end.
    void close();

    /// Whether locks may be taken there.
    [[nodiscard]] bool ready() const;
    /// As `instance::keeper_id`, of one that is ready.
    [[nodiscard]] virtual std::uint64_t keeper_id() const = 0;
    /// Until when none may, though it can be reached.
    [[nodiscard]] core::time_point quarantined_until() const;

    core::time_point admit(const server& /*s*/) override { return core::time_point::min(); }
    void on_accepting() override;
    void on_broken() override;
    void on_answer(const request& r, const core::vote& v) override;
    void on_key_changed(const std::string& key) override;
    /// As a server that is no node of a cluster: an error.
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

    /// A new connection, which has not been started.
    connection& connect_to(std::size_t node);
    [[nodiscard]] core::time_point end_of_quarantine(core::time_point since) const;
    /// All clients know that node by it; 0 if it keeps no queues.
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

/// The route to that instance, by its topology.
std::unique_ptr<route> make_route(world& w, client& c, voter& v, std::size_t index);

}  // namespace colock::simulation

#endif
