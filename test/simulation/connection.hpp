// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_CONNECTION_HPP
#define COLOCK_TEST_SIMULATION_CONNECTION_HPP

#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include "core/validity.hpp"
#include "core/vote.hpp"
#include "instance/batch.hpp"
#include "kinds/command.hpp"

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

/// A command on its way. It may arrive when its sender is no more, so its words are its own.
class request {
public:
    explicit request(const instance::submission& from)
        : receiver(from.receiver),
          tag(from.tag),
          command(from.command),
          words_(std::make_shared<const words>(
              words{std::string(from.command.key), std::string(from.command.token),
                    from.command.values != nullptr ? *from.command.values : std::string()})) {
        command.key = words_->key;
        command.token = words_->token;
        command.values = from.command.values != nullptr ? &words_->values : nullptr;
    }

    [[nodiscard]] const std::string& key() const { return words_->key; }
    [[nodiscard]] const std::string& token() const { return words_->token; }

    instance::vote_receiver* receiver;
    instance::command_tag tag;
    kinds::command command;
    token_life* life = nullptr;           // of a lease's command
    std::uint64_t order = 0;              // among what the client has sent to that instance
    core::time_point sent = core::never;  // never, if it was not
    unsigned hops = 0;                    // how often a node has sent it on

private:
    struct words {
        std::string key;
        std::string token;
        std::string values;
    };
    std::shared_ptr<const words> words_;
};

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
    /// The server has not executed it: it belongs to that node.
    virtual void on_moved(const request& r, std::size_t node) = 0;
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
    void send(const request& r);

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
        std::optional<request> what{};
        core::vote answer{};
        std::optional<std::size_t> moved_to{};
        std::string changed_key{};  // instead of all that
    };
    /// One TCP connection.
    struct wire {
        std::array<std::deque<message>, 2> messages;
        std::array<true_time, 2> last_arrival{};
        std::array<bool, 2> is_held_up{};  // it goes on at a time that is known
        bool broken = false;
        std::optional<message>
            unreplicated{};  // a grant that waits for replicas, and all else behind it
    };

    void put(wire& w, direction d, message m);
    void pump(wire& w, direction d);
    void execute(wire& w, const request& r);
    void track(wire& w, const std::string& key);
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
    bool abandoned_ = false;
    core::time_point quarantined_until_ = core::time_point::min();
};

}  // namespace colock::simulation

#endif
