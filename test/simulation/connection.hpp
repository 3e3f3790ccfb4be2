#ifndef COLOCK_TEST_SIMULATION_CONNECTION_HPP
#define COLOCK_TEST_SIMULATION_CONNECTION_HPP

#include "simulation/server.hpp"
#include "simulation/world.hpp"

#include "core/command.hpp"
#include "core/lease.hpp"
#include "core/validity.hpp"
#include "core/vote.hpp"

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

struct token_life;

/// A command on its way.
struct request {
    token_life* life = nullptr;
    core::lease_tag tag{core::lease_tag::purpose_type::acquire};
    core::command command;
    std::uint64_t order = 0;  // among what the client has sent to that instance
};

/// A client's connection to an instance, as TCP makes it: what is sent arrives in order, late, or not
/// at all, and then the connection breaks. It connects again by itself.
class connection {
public:
    /// What the client hears.
    using answer_handler = std::function<void(const request&, const core::vote&)>;

    /// `on_accepting` is called whenever it has become ready.
    connection(world& w, server& s, std::string client, const local_clock& clock,
               std::uint64_t& last_executed, answer_handler on_answer, world::step on_accepting);

    [[nodiscard]] bool ready() const { return wire_ != nullptr; }
    /// Until when its server grants no locks, for all that the client knows, by the client's clock.
    [[nodiscard]] core::time_point quarantined_until() const { return quarantined_until_; }
    void send(const request& r);

    enum direction : std::size_t { to_server, to_client };
    /// Nothing gets through before `until`.
    void block(direction d, true_time until);
    /// Breaks; what was not answered is failed. What was sent and has not arrived never does, or does
    /// so much later than it would have; without `deliver_after` chance decides.
    void reset(std::optional<duration> deliver_after = std::nullopt);
    /// The client has ended.
    void abandon();

private:
    struct message {
        true_time arrival;
        request what;
        core::vote answer;
    };
    /// One TCP connection.
    struct wire {
        std::array<std::deque<message>, 2> messages;
        std::array<true_time, 2> last_arrival{};
        bool broken = false;
    };

    void put(wire& w, direction d, message m);
    void pump(wire& w, direction d);
    void execute(wire& w, const request& r);
    void connect();
    void probe();
    [[nodiscard]] true_time open_at(const wire& w, direction d) const;

    world& world_;
    server& server_;
    std::string client_;
    const local_clock& clock_;  // the client's
    std::uint64_t& last_executed_;
    answer_handler on_answer_;
    world::step on_accepting_;
    std::array<true_time, 2> blocked_until_{};
    std::vector<std::unique_ptr<wire>> wires_;
    wire* wire_ = nullptr;  // the one in use
    bool abandoned_ = false;
    core::time_point quarantined_until_ = core::time_point::min();
};

}  // namespace colock::simulation

#endif
