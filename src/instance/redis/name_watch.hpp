// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_NAME_WATCH_HPP
#define COLOCK_INSTANCE_REDIS_NAME_WATCH_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "instance/redis/resolve.hpp"
#include "platform/fork.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace colock::instance::redis {

/// Receives the addresses of host names.
class name_observer {
public:
    /// A lookup of name number `index` has ended.
    virtual void on_resolved(std::size_t index, const resolver::result& found) = 0;

protected:
    ~name_observer() = default;
};

/// Looks up a host name at the start, periodically, and after `refresh`. A numeric address is looked up only
/// once.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class name_watch final : public std::enable_shared_from_this<name_watch> {
public:
    /// The usual and the shortest interval between two lookups.
    static constexpr core::milliseconds usual_interval{10'000};
    static constexpr core::milliseconds shortest_interval{1000};

    /// A lookup may take `timeout`. After a failed lookup, the next one starts after a `retry` delay. `seed`
    /// feeds its jitter.
    name_watch(std::size_t index, std::string host, std::chrono::milliseconds timeout,
               const core::backoff& retry, std::uint64_t seed,
               const boost::asio::any_io_executor& executor, std::shared_ptr<lookups> shared,
               name_observer& observer);

    void start();
    /// Stops permanently. Idempotent.
    void stop() noexcept;
    /// Stops, and drops the observer without further calls.
    void forget() noexcept;
    /// Requests a lookup, because the addresses may have changed.
    void refresh() noexcept;

private:
    boost::asio::awaitable<void> keep_looking();
    boost::asio::awaitable<void> rest(core::duration shortest, core::duration longest);
    [[nodiscard]] bool over() const noexcept { return stopped_ || process_.is_inherited(); }

    platform::process_mark process_;
    std::size_t index_;
    std::string host_;
    std::chrono::milliseconds timeout_;
    core::backoff retry_;
    std::uint64_t random_;
    boost::asio::any_io_executor executor_;
    name_observer* observer_;
    boost::asio::steady_timer timer_;
    resolver resolver_;
    std::size_t failures_ = 0;  // Since the last success.
    bool stopped_ = false;
    bool wanted_ = false;  // A new lookup is requested.
};

}  // namespace colock::instance::redis

#endif
