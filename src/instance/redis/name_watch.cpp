// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/name_watch.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace colock::instance::redis {
namespace asio = boost::asio;

name_watch::name_watch(std::size_t index, std::string host, std::chrono::milliseconds timeout,
                       const core::backoff& retry, std::uint64_t seed,
                       const asio::any_io_executor& executor, std::shared_ptr<lookups> shared,
                       name_observer& observer)
    : index_(index),
      host_(std::move(host)),
      timeout_(timeout),
      retry_(retry),
      random_(seed),
      executor_(executor),
      observer_(&observer),
      timer_(executor),
      resolver_(executor, std::move(shared)) {}

void name_watch::start() {
    asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->keep_looking(); }, asio::detached);
}

void name_watch::stop() noexcept {
    stopped_ = true;
    resolver_.cancel();
    timer_.cancel();
}

void name_watch::forget() noexcept {
    stopped_ = true;
    observer_ = nullptr;
}

void name_watch::refresh() noexcept {
    wanted_ = true;
    timer_.cancel();
}

asio::awaitable<void> name_watch::keep_looking() {
    const auto self = shared_from_this();
    while (!over()) {
        wanted_ = false;
        const resolver::result found = co_await resolver_.resolve(host_, timeout_);
        if (over()) {
            break;
        }
        const bool is_numeric = found.addresses.size() == 1 && found.addresses.front() == host_;
        failures_ = found.addresses.empty() ? failures_ + 1 : 0;
        observer_->on_resolved(index_, found);
        if (is_numeric) {
            break;
        }
        if (failures_ != 0) {
            const core::duration delay = retry_.delay(failures_ - 1, core::next_random(random_));
            co_await rest(delay, delay);
        } else {
            co_await rest(shortest_interval, usual_interval);
        }
    }
}

/// Waits. `refresh` ends the wait early, but not before `shortest`.
asio::awaitable<void> name_watch::rest(core::duration shortest, core::duration longest) {
    using clock = asio::steady_timer::clock_type;
    const auto begin = clock::now();
    while (!over()) {
        const auto end = begin + (wanted_ ? shortest : longest);
        if (clock::now() >= end) {
            break;
        }
        timer_.expires_at(end);
        co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

}  // namespace colock::instance::redis
