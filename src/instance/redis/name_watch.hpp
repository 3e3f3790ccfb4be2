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

/// Gets the addresses of names.
class name_observer {
public:
    /// A look-up of name number `index` has ended.
    virtual void on_resolved(std::size_t index, const resolver::result& found) = 0;

protected:
    ~name_observer() = default;
};

/// Looks a host name up: at first, every so often, and when it is told to. A numeric address is looked up once.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class name_watch final : public std::enable_shared_from_this<name_watch> {
public:
    /// How often it looks the name up, and how often at the most.
    static constexpr core::milliseconds usual_interval{10'000};
    static constexpr core::milliseconds shortest_interval{1000};

    /// A look-up may take `timeout`. After one that failed, the next one follows after a `retry` delay. `seed` feeds its jitter.
    name_watch(std::size_t index, std::string host, std::chrono::milliseconds timeout,
               const core::backoff& retry, std::uint64_t seed,
               const boost::asio::any_io_executor& executor, std::shared_ptr<lookups> shared,
               name_observer& observer);

    void start();
    /// For good. Idempotent.
    void stop() noexcept;
    /// As `stop`, and the observer hears of nothing any more.
    void forget() noexcept;
    /// The addresses may have changed.
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
    std::size_t failures_ = 0;  // since the last success
    bool stopped_ = false;
    bool wanted_ = false;  // a new look-up
};

}  // namespace colock::instance::redis

#endif
