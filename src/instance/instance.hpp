#ifndef COLOCK_INSTANCE_INSTANCE_HPP
#define COLOCK_INSTANCE_INSTANCE_HPP

#include "core/command.hpp"
#include "core/vote.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace colock::instance {

/// Says which command of a receiver a vote answers; the receiver's own to choose.
using command_tag = std::uint32_t;

/// Who submits commands and gets the votes. It stays alive until all of them have come, or the
/// instance is destroyed.
class vote_receiver {
public:
    /// The vote of instance number `index` on the command submitted with `tag`. Called exactly once
    /// for each, never inside `submit`. May submit.
    virtual void on_vote(std::size_t index, command_tag tag, core::vote vote) = 0;

    /// Asked just before the command is sent: false withdraws it.
    virtual bool wanted(std::size_t index, command_tag tag) const = 0;

protected:
    ~vote_receiver() = default;
};

/// Who wants to know how the instances are. Called on the instance's executor.
class instance_observer {
public:
    /// Instance number `index` has become ready, or has stopped to be.
    virtual void on_state_change(std::size_t index) = 0;

    /// Instance number `index` has commands to `flush`. Called once before each flush.
    virtual void on_pending(std::size_t index) = 0;

protected:
    ~instance_observer() = default;
};

enum class state : std::uint8_t { connecting, probing, ready, down, closed };

struct status {
    instance::state state = state::connecting;
    std::string address;  ///< without credentials
    std::string reason;   ///< why it is, or last was, down
    std::string version;
    std::string run_id;
    std::chrono::seconds uptime{};
    std::size_t in_flight = 0;
};

/// One server (or what stands for one) that votes.
///
/// Commands are collected by `submit`, and go out together with `flush`; those to one instance are
/// executed in the order in which they were submitted.
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

    /// Queues a command for the next `flush`. The vote of an instance that is not ready, or has too
    /// many in flight, is a failed one.
    virtual void submit(const core::command& command, vote_receiver& receiver, command_tag tag) = 0;

    /// Sends what was submitted.
    virtual void flush() = 0;

    /// Whether commands submitted now would be sent.
    [[nodiscard]] virtual bool ready() const noexcept = 0;

    /// Whether its first try to connect is still under way.
    [[nodiscard]] virtual bool starting() const noexcept = 0;

    /// Its state, for people. Thread-safe.
    [[nodiscard]] virtual status snapshot() const = 0;

protected:
    instance() = default;
};

}  // namespace colock::instance

#endif
