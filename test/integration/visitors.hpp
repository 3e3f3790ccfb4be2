// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_VISITORS_HPP
#define COLOCK_TEST_INTEGRATION_VISITORS_HPP

#include "locks.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace colock::test {

/// Coroutines that acquire locks in a loop. They count overlaps inside a lock, and measure the longest time
/// without a visit.
class visitors {
public:
    /// Adds a coroutine that acquires the lock of this name until `stop`.
    void begin(const asio::any_io_executor& executor, client& locks, const std::string& name,
               const lock_options& options) {
        ++running_;
        asio::co_spawn(executor, visit(mutex(locks, name, options), places_[name]), asio::detached);
    }

    void stop() { stopped_ = true; }
    [[nodiscard]] bool gone() const { return running_ == 0; }

    /// Starts all pauses at the current time.
    void reset_pauses() {
        for (auto& [name, one] : places_) {
            one.last_entry = steady_clock::now();
            one.longest_pause = {};
        }
    }

    [[nodiscard]] std::size_t visits() const {
        std::size_t result = 0;
        for (const auto& [name, one] : places_) {
            result += one.visits;
        }
        return result;
    }
    [[nodiscard]] std::size_t visits(const std::string& name) const {
        return places_.at(name).visits;
    }
    /// Returns the longest pause between two entries, or since the last one.
    [[nodiscard]] milliseconds longest_pause(const std::string& name) const {
        const place& one = places_.at(name);
        return std::chrono::duration_cast<milliseconds>(
            std::max(one.longest_pause, steady_clock::now() - one.last_entry));
    }
    [[nodiscard]] std::size_t overlaps() const { return overlaps_; }
    /// Returns the number of failed acquires for each reason.
    [[nodiscard]] const std::map<std::string, std::size_t>& refused() const { return refused_; }
    /// Returns the same for releases that failed, or whose lease had ended.
    [[nodiscard]] const std::map<std::string, std::size_t>& not_released() const {
        return not_released_;
    }

private:
    struct place {
        std::size_t inside = 0;
        std::size_t visits = 0;
        steady_clock::time_point last_entry = steady_clock::now();
        steady_clock::duration longest_pause{};
    };

    asio::awaitable<void> visit(mutex lock, place& where) {
        while (!stopped_) {
            auto [e, held] = co_await lock.acquire(asio::as_tuple);
            if (e) {
                ++refused_[e.message()];
                continue;
            }
            const auto now = steady_clock::now();
            where.longest_pause = std::max(where.longest_pause, now - where.last_entry);
            where.last_entry = now;
            ++where.visits;
            overlaps_ += where.inside != 0 ? 1 : 0;
            ++where.inside;
            asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
            co_await timer.async_wait(asio::deferred);
            --where.inside;
            const auto [failure, result] = co_await held.release(asio::as_tuple);
            if (failure || result != release_result::released) {
                ++not_released_[failure ? failure.message() : std::string(to_string(result))];
            }
        }
        --running_;
    }

    bool stopped_ = false;
    std::size_t running_ = 0;
    std::size_t overlaps_ = 0;
    std::map<std::string, place> places_;
    std::map<std::string, std::size_t> refused_;
    std::map<std::string, std::size_t> not_released_;
};

}  // namespace colock::test

#endif
