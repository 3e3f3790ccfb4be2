// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_EVENTS_HPP
#define COLOCK_RUNTIME_EVENTS_HPP

#include <colock/observer.hpp>

#include "core/outcome.hpp"
#include "core/time.hpp"
#include "instance/instance.hpp"
#include "runtime/loop/turn_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace colock::runtime {

using colock::acquired_event;
using colock::blocked_event;
using colock::denied_event;

/// A lease was lost.
struct lost_event {
    std::string resource;
    std::string token;
    std::uint64_t fence = 0;
    std::size_t holders = 1;
    core::loss why = core::loss::none;
    std::string details;
};

/// An instance has another state.
struct instance_event {
    std::size_t index = 0;
    instance::status status;
};

using client_event =
    std::variant<acquired_event, denied_event, lost_event, instance_event, blocked_event>;

/// Receives the events of a client. Called in a turn. It may start operations of the client, but must not throw.
class event_receiver {
public:
    virtual ~event_receiver() = default;
    virtual void receive(acquired_event one) noexcept = 0;
    virtual void receive(denied_event one) noexcept = 0;
    virtual void receive(lost_event one) noexcept = 0;
    virtual void receive(instance_event one) noexcept = 0;
    virtual void receive(blocked_event one) noexcept = 0;

protected:
    event_receiver() = default;
    event_receiver(const event_receiver&) = default;
    event_receiver& operator=(const event_receiver&) = default;
};

/// The events that the receiver gets in the next turn. It gets none inside the call that causes it, so it
/// finds the client in a consistent state. Without a receiver, an event costs one test of a pointer.
class events {
public:
    /// `receiver` may be null. Then there are no events.
    events(turn_clock& when, std::shared_ptr<event_receiver> receiver) noexcept
        : turns_(when), receiver_(std::move(receiver)) {}

    /// Returns whether there is a receiver.
    [[nodiscard]] bool wanted() const noexcept { return receiver_ != nullptr; }

    /// Adds the event that `make` returns, if there is a receiver. If there is no memory for it, it is lost.
    template <typename Make>
    void add(const Make& make) noexcept {
        add_if_any([&] { return std::optional(make()); });
    }

    /// Does the same, if `make` returns one.
    template <typename Make>
    void add_if_any(const Make& make) noexcept {
        if (!wanted()) {
            return;
        }
        try {
            if (auto one = make()) {
                waiting_.emplace_back(*std::move(one));
                turns_.schedule();
            }
        } catch (...) {  // NOLINT(bugprone-empty-catch): The work that causes the event goes on.
        }
    }

    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    /// Called in a turn. Delivers the events so far. The receiver may cause further ones, which follow in the
    /// next turn.
    void deliver() noexcept {
        for (std::size_t left = waiting_.size(); left != 0 && !waiting_.empty(); --left) {
            auto one = std::move(waiting_.front());
            waiting_.pop_front();
            const auto receiver = receiver_;
            std::visit([&](auto& which) { receiver->receive(std::move(which)); }, one);
        }
    }

    /// Drops the events. The receiver gets no others.
    void stop() noexcept {
        waiting_.clear();
        receiver_.reset();
    }

private:
    turn_clock& turns_;
    std::shared_ptr<event_receiver> receiver_;
    std::deque<client_event> waiting_;
};

}  // namespace colock::runtime

#endif
