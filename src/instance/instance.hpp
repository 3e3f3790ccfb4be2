// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_INSTANCE_HPP
#define COLOCK_INSTANCE_INSTANCE_HPP

#include <colock/instance_info.hpp>

#include "core/time.hpp"
#include "instance/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace colock::instance {

/// Receives the events of an instance. Called on the instance's executor.
class instance_observer {
public:
    /// The readiness of instance `index` has changed.
    virtual void on_state_change(std::size_t index) = 0;

    /// Instance `index` has commands of its own to send. It needs a call of `send`, even with an empty batch.
    virtual void on_pending(std::size_t index) = 0;

    /// Instance `index` accepts commands again, after votes that failed because it was `down` or `stalled`.
    virtual void on_accepting(std::size_t index) = 0;

    /// A key may have changed since instance `index` reported its remaining lifetime (`remaining`), and may
    /// be gone. Not all instances report changes.
    virtual void on_key_changed(std::size_t index, std::string_view key) = 0;

    /// Any key may have changed, see `on_key_changed`.
    virtual void on_all_keys_changed(std::size_t index) = 0;

protected:
    ~instance_observer() = default;
};

using state = instance_state;

/// The state of an instance, for display. Its times are on the clock of the library.
struct status : instance_info {
    std::string why_quarantined;  ///< The reason for the current or last quarantine.
    bool is_cluster = false;
};

/// One voter: a server, or a group of servers with one vote.
///
/// An instance executes the commands of each batch in order.
///
/// Thread-safety: one thread at a time, except for `snapshot`.
class instance {
public:
    virtual ~instance() = default;
    instance(const instance&) = delete;
    instance& operator=(const instance&) = delete;

    /// Starts to connect. Retries until `stop`.
    virtual void start() = 0;

    /// Closes the connection permanently. Unanswered commands fail. Idempotent.
    virtual void stop() = 0;

    /// Sends the commands of a batch that target this instance. If the instance is not ready or has too many
    /// commands in flight, it votes `failed`, possibly within this call. The batch does not change while an
    /// instance refers to it.
    virtual void send(const std::shared_ptr<const batch>& commands, core::time_point now) = 0;

    /// Returns whether locks may be acquired on it.
    [[nodiscard]] virtual bool ready() const noexcept = 0;

    /// Returns whether it is connected and has not stalled. It may be quarantined.
    [[nodiscard]] virtual bool takes_commands(core::time_point /*now*/) const { return ready(); }

    /// Returns whether it has answered since then, or has nothing older to answer.
    [[nodiscard]] virtual bool answers_since(core::time_point /*then*/) const { return false; }

    /// Returns how many more commands it can be sent with replies near their unloaded delay. Returns
    /// `unlimited` if it has no limit or accepts no commands.
    [[nodiscard]] virtual std::size_t room() const noexcept { return unlimited; }
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    /// Returns whether its first attempt to connect is in progress.
    [[nodiscard]] virtual bool starting() const noexcept = 0;

    /// Returns the id of the server if it can keep remote queues now (see `core::queue_ticket`). It must be
    /// ready and support client tracking. The id is the same for all clients. Returns 0 otherwise.
    [[nodiscard]] virtual std::uint64_t keeper_id() const noexcept { return 0; }

    /// Returns its state, for display. Thread-safe.
    [[nodiscard]] virtual status snapshot() const = 0;

protected:
    instance() = default;
};

}  // namespace colock::instance

#endif
