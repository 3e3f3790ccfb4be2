// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_INSTANCE_HPP
#define COLOCK_INSTANCE_INSTANCE_HPP

#include "core/time.hpp"
#include "instance/batch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance {

/// Is told how the instances are. Called on the instance's executor.
class instance_observer {
public:
    /// Instance number `index` has become ready, or has stopped to be.
    virtual void on_state_change(std::size_t index) = 0;

    /// Instance number `index` has something of its own to send: it wants a `send`, even if of an
    /// empty batch.
    virtual void on_pending(std::size_t index) = 0;

    /// Instance number `index` takes commands again, after votes that failed since it was `down`.
    virtual void on_accepting(std::size_t index) = 0;

    /// Something has happened to a key since instance number `index` told how long it `remaining` has to
    /// live: it may be gone. Not all instances tell.
    virtual void on_key_changed(std::size_t index, std::string_view key) = 0;

    /// As `on_key_changed`, of any key.
    virtual void on_all_keys_changed(std::size_t index) = 0;

protected:
    ~instance_observer() = default;
};

enum class state : std::uint8_t { connecting, probing, quarantined, ready, down, closed };

/// One server process of an instance, for people.
struct node_status {
    std::string address;
    std::string role;  ///< "master" or "sentinel"
    instance::state state = state::connecting;
    std::string reason;  ///< why it is quarantined; else why it is, or last was, down
};

struct status {
    instance::state state = state::connecting;
    std::string address;          ///< without credentials
    std::string reason;           ///< why it is, or last was, down
    std::string why_quarantined;  ///< why it is, or last was, quarantined
    std::string version;
    std::string run_id;
    std::chrono::seconds uptime{};
    core::time_point quarantined_until = core::time_point::min();
    std::size_t in_flight = 0;
    std::size_t window = 0;          ///< how many commands may be in flight; 0: any number
    core::duration delay{};          ///< from sending a command to its answer, last
    std::vector<node_status> nodes;  ///< none if it is in memory
};

/// One server (or what stands for one) that votes.
///
/// Commands come to it in batches, and are executed in the order in which they stand there.
///
/// Thread-safety: one thread at a time, but for `snapshot`.
class instance {
public:
    virtual ~instance() = default;
    instance(const instance&) = delete;
    instance& operator=(const instance&) = delete;

    /// Starts to connect, and keeps at it until `stop`.
    virtual void start() = 0;

    /// Ends the connection for good. Commands not answered fail. Idempotent.
    virtual void stop() = 0;

    /// Sends the commands of a batch that are for this instance. The vote of one that is not ready,
    /// or has too many in flight, is a failed one, and may come at once. The batch does not change
    /// until nobody else refers to it.
    virtual void send(const std::shared_ptr<const batch>& commands, core::time_point now) = 0;

    /// Whether locks may be taken on it.
    [[nodiscard]] virtual bool ready() const noexcept = 0;

    /// How many more commands it can be sent so that its answers stay near their unloaded delay. The largest number if it
    /// can take any number, or takes none.
    [[nodiscard]] virtual std::size_t room() const noexcept { return unlimited; }
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    /// Whether its first try to connect is still under way.
    [[nodiscard]] virtual bool starting() const noexcept = 0;

    /// A number of the server by which all its clients know it, if it can keep remote queues for them now (see
    /// `core::queue_ticket`): it is ready, and tells of changes. Else 0.
    [[nodiscard]] virtual std::uint64_t keeper_id() const noexcept { return 0; }

    /// Its state, for people. Thread-safe.
    [[nodiscard]] virtual status snapshot() const = 0;

protected:
    instance() = default;
};

}  // namespace colock::instance

#endif
