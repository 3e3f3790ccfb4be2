// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_OBSERVER_HPP
#define COLOCK_OBSERVER_HPP

#include <colock/detail/export.hpp>
#include <colock/error.hpp>
#include <colock/instance_info.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace colock {
inline namespace v1 {

/// An operation has got a lease. See `observer::on_acquired`.
struct acquired_event {
    /// The name that is locked. The names of a `multi_mutex` are separated by commas.
    std::string resource;
    /// The token that the servers store: see `lease::token`.
    std::string token;
    /// The fence of this holder. 0 without `lock_options::fencing`.
    std::uint64_t fence = 0;
    /// Whether the lease is a reader's.
    bool is_shared = false;
    /// How long the operation waited.
    std::chrono::nanoseconds waited{};
};

/// An attempt has failed. See `observer::on_denied`.
struct denied_event {
    /// The name. The names of a `multi_mutex` are separated by commas.
    std::string resource;
    /// The number of attempts that the operation has made so far.
    std::size_t attempts = 0;
    /// Whether another holder has the lock. Otherwise too few instances answered.
    bool is_contended = false;
    /// How long the operation has waited so far.
    std::chrono::nanoseconds waited{};
};

/// A lease was lost. See `observer::on_lost`.
struct lost_event {
    /// The name that was locked. The names of a `multi_mutex` are separated by commas.
    std::string resource;
    /// The token that the servers store: see `lease::token`.
    std::string token;
    /// The fence of the latest holder. 0 without `lock_options::fencing`.
    std::uint64_t fence = 0;
    /// The number of holders that have lost it.
    std::size_t holders = 1;
    /// Why it was lost. It is the error that `lease::loss` returns.
    error reason;
};

/// An instance has another state. See `observer::on_instance_changed`.
struct instance_changed_event {
    /// Its place in `config::instances`.
    std::size_t index = 0;
    /// The instance as the client sees it now.
    instance_info instance;
};

/// The event loop was blocked. See `observer::on_blocked`.
struct blocked_event {
    /// How late a timer of the client was.
    std::chrono::nanoseconds time{};
};

/// Receives what happens in a client, for logs, traces and metrics of the program. A client without an observer
/// does nothing for it. docs/observability.md has an example.
///
/// Derive a class from it, and override the functions that you need. The others do nothing. A client gets its
/// observer in `config::observer`, and keeps it until all its work has ended.
///
/// **When they are called.** The functions run on the client's executor, one at a time. With
/// `config::thread_safe`, they run on the strand of the client. None is called inside a function of colock that
/// the program calls. The events come in the order in which they happened. An event comes before the handler of
/// the operation that caused it. There are none in a child that was created by `fork`.
///
/// **What they may do.** They may start operations, and destroy locks, leases and the client. They must return
/// soon, because the client waits for them. They cannot throw: each is `noexcept`, and so is a function that
/// overrides it. An event is valid until the function returns.
class COLOCK_EXPORT observer {
public:
    virtual ~observer();

    /// An operation has got a lease. It is called once for each lease that `counters::acquired` counts. Hand-offs,
    /// shares of a lease, entries of a `reentrant_mutex` and adoptions count, too.
    virtual void on_acquired(const acquired_event& event) noexcept;

    /// An attempt has failed. The operation may go on and try again. It is called once for each attempt that
    /// `counters::contended` or `counters::unavailable` counts.
    virtual void on_denied(const denied_event& event) noexcept;

    /// A lease was lost. It is called once for each lease. `counters::lost` counts the holders.
    virtual void on_lost(const lost_event& event) noexcept;

    /// An instance has become `ready`, `quarantined`, `down` or `closed`. The tries to connect are not reported: an
    /// instance that was ready is `down` until they succeed. If an instance becomes or stops being `ready`, this is usually
    /// reported immediately, and otherwise within a second.
    virtual void on_instance_changed(const instance_changed_event& event) noexcept;

    /// The event loop was blocked for longer than `config::blocked_threshold`. Nothing of the client ran in this
    /// time: no renewal, no release and no handler. Causes are a handler that did not return, a machine that stood
    /// still or was overloaded, and a program that runs its event loop in slices.
    ///
    /// The blockage may have been longer by a quarter of the threshold. A blockage
    /// of more than 1.25 thresholds is always reported, and one that is shorter than the threshold never.
    virtual void on_blocked(const blocked_event& event) noexcept;

protected:
    observer() = default;
    /// An observer may be copied and moved by the class that is derived from it.
    observer(const observer&) = default;
    /// An observer may be copied and moved by the class that is derived from it.
    observer& operator=(const observer&) = default;
};

}  // namespace v1
}  // namespace colock

#endif
