// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_ACTIVITY_HPP
#define LIKE_COUNTER_ACTIVITY_HPP

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace like_counter {

/// The locks that this service holds and waits for, and how long the last waits took. The page shows it.
class activity {
    using clock = std::chrono::steady_clock;

    struct record {
        std::string name;
        clock::time_point since;             // of the request, or of the lease
        std::optional<std::uint64_t> fence;  // of the lease
    };

public:
    /// One request for a lock: it waits until `acquired`, then it holds the lock until its destruction.
    class request {
    public:
        request(activity& owner, std::string name) : owner_(owner) {
            owner_.records_.push_back({std::move(name), clock::now(), std::nullopt});
            position_ = std::prev(owner_.records_.end());
        }
        ~request() { owner_.records_.erase(position_); }
        request(const request&) = delete;
        request& operator=(const request&) = delete;

        void acquired(std::uint64_t fence) {
            const auto now = clock::now();
            owner_.add_wait(now, now - position_->since);
            position_->since = now;
            position_->fence = fence;
        }

    private:
        activity& owner_;
        std::list<record>::iterator position_;
    };

    /// The leases, the number of waiters for each name, and percentiles of the waits that ended in the last
    /// second. A fence is text, because a browser's numbers have only 53 bits.
    [[nodiscard]] nlohmann::json to_json() {
        const auto now = clock::now();
        auto leases = nlohmann::json::array();
        std::map<std::string, std::pair<std::size_t, clock::time_point>> waiting;
        for (const record& one : records_) {
            if (!one.fence) {
                auto& [count, oldest] = waiting.try_emplace(one.name, 0, one.since).first->second;
                ++count;
                oldest = std::min(oldest, one.since);
            } else if (leases.size() != most_shown) {
                leases.push_back({{"name", one.name},
                                  {"fence", std::to_string(*one.fence)},
                                  {"age_ms", milliseconds(now - one.since)}});
            }
        }
        auto waiters = nlohmann::json::array();
        for (const auto& [name, group] : waiting) {
            if (waiters.size() != most_shown) {
                waiters.push_back({{"name", name},
                                   {"waiters", group.first},
                                   {"longest_ms", milliseconds(now - group.second)}});
            }
        }
        return {{"leases", std::move(leases)},
                {"waiting", std::move(waiters)},
                {"waits", waits_of_last_second(now)}};
    }

private:
    static constexpr std::size_t most_shown = 20;
    static constexpr std::size_t most_waits = 10'000;

    struct wait {
        clock::time_point end;
        clock::duration length;
    };

    static double milliseconds(clock::duration time) {
        return std::chrono::duration<double, std::milli>(time).count();
    }

    void add_wait(clock::time_point end, clock::duration length) {
        if (waits_.size() == most_waits) {
            waits_.pop_front();
        }
        waits_.push_back({end, length});
    }

    nlohmann::json waits_of_last_second(clock::time_point now) {
        while (!waits_.empty() && waits_.front().end < now - std::chrono::seconds(1)) {
            waits_.pop_front();
        }
        std::vector<clock::duration> lengths;
        for (const wait& one : waits_) {
            lengths.push_back(one.length);
        }
        std::sort(lengths.begin(), lengths.end());
        const auto percentile = [&lengths](std::size_t percent) {
            return lengths.empty() ? 0.0
                                   : milliseconds(lengths[(lengths.size() - 1) * percent / 100]);
        };
        return {{"count", lengths.size()}, {"p50_ms", percentile(50)}, {"p99_ms", percentile(99)}};
    }

    std::list<record> records_;
    std::deque<wait> waits_;
};

}  // namespace like_counter

#endif
