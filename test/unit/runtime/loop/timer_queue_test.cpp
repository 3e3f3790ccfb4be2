// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The timers of the runtime. The test uses no clock and passes the time as an argument.

#include "runtime/loop/timer_queue.hpp"
#include "core/time.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

using namespace colock::runtime;
using colock::core::duration;
using colock::core::never;
using colock::core::time_point;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(timers)

namespace {

constexpr time_point boot = time_point() + 12345678901234567ns;  // 142 days of uptime.

time_point at(int milliseconds) {
    return time_point(std::chrono::milliseconds(milliseconds));
}

class alarm final : public timed {
public:
    explicit alarm(std::function<void(time_point)> action) : action_(std::move(action)) {}

private:
    void on_time(time_point now) override { action_(now); }
    std::function<void(time_point)> action_;
};

void must_not_fire(time_point /*now*/) {
    BOOST_ERROR("called");
}

/// An alarm that records the time of its last call.
class watched {
public:
    explicit watched(timer_queue& queue) : queue_(queue) {}
    void set(time_point when) { queue_.set(alarm_, when); }
    [[nodiscard]] std::optional<time_point> take() { return std::exchange(fired_, std::nullopt); }

private:
    timer_queue& queue_;
    std::optional<time_point> fired_;
    alarm alarm_{[this](time_point now) {
        BOOST_TEST(!fired_.has_value());
        fired_ = now;
    }};
};

/// Runs the queue at its earliest time until it is empty or `limit` has passed. Returns the number of runs.
int run_until(timer_queue& queue, time_point limit) {
    int wakes = 0;
    for (time_point now = queue.earliest(); now != never && now <= limit; now = queue.earliest()) {
        queue.run(now);
        ++wakes;
        BOOST_REQUIRE((queue.earliest() > now));
    }
    return wakes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_timer_entry_is_small) {
    BOOST_TEST(sizeof(timed) <= 3 * sizeof(void*));
}

BOOST_AUTO_TEST_CASE(an_empty_queue_has_no_earliest_time) {
    timer_queue queue;
    BOOST_TEST((queue.earliest() == never));
    queue.run(at(1));
    queue.run(never);
    queue.run(time_point::min());
    alarm unset(must_not_fire);
    queue.clear(unset);
    queue.set(unset, never);
    BOOST_TEST((queue.earliest() == never));
}

BOOST_AUTO_TEST_CASE(a_timer_fires_once_and_not_before_its_time) {
    timer_queue queue;
    watched one(queue);
    one.set(at(5));
    queue.run(at(4));
    BOOST_TEST(!one.take().has_value());
    BOOST_TEST((queue.earliest() > at(4)));
    BOOST_TEST((queue.earliest() <= at(5)));
    queue.run(at(6));
    BOOST_TEST((one.take() == at(6)));
    queue.run(at(6));
    BOOST_TEST(!one.take().has_value());
    BOOST_TEST((queue.earliest() == never));
    one.set(at(6));
    queue.run(at(6));
    BOOST_TEST((one.take() == at(6)));
}

// The time is exact to the nanosecond, at any distance. The owner does not wake up earlier.
BOOST_AUTO_TEST_CASE(a_timer_fires_at_its_exact_time) {
    for (const time_point start : {boot, time_point(), time_point(-1h), time_point(-1ns)}) {
        for (int bits = 0; bits != 58; ++bits) {
            for (const int nudge : {-1, 0, 1}) {
                timer_queue queue;
                queue.run(start);
                watched one(queue);
                const time_point when = start + duration((std::int64_t{1} << bits) + nudge);
                one.set(when);
                if (when <= start) {
                    BOOST_TEST((queue.earliest() == when));
                    continue;
                }
                BOOST_TEST(run_until(queue, when - 1ns) == 0);
                BOOST_TEST(!one.take().has_value());
                BOOST_TEST((queue.earliest() == when));
                queue.run(when);
                BOOST_TEST((one.take() == when));
                BOOST_TEST((queue.earliest() == never));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(timers_close_to_each_other_fire_exactly) {
    timer_queue queue;
    std::deque<watched> all;
    for (int i = 0; i != 100; ++i) {
        all.emplace_back(queue).set(boot + 10s + i * 7919ns);
    }
    queue.run(boot + 10s - 1ns);
    for (int i = 0; i != 100; ++i) {
        const time_point when = boot + 10s + i * 7919ns;
        run_until(queue, when - 1ns);
        BOOST_TEST(!all[static_cast<std::size_t>(i)].take().has_value());
        run_until(queue, when);
        BOOST_TEST((all[static_cast<std::size_t>(i)].take() == when));
    }
}

BOOST_AUTO_TEST_CASE(a_timer_in_the_past_is_due_immediately) {
    for (const time_point when : {time_point::min(), time_point::min() + 1ns, time_point(-1ns),
                                  time_point(), boot - 1h, boot - 1ns, boot}) {
        timer_queue queue;
        queue.run(boot);
        watched one(queue);
        one.set(when);
        BOOST_TEST((queue.earliest() == when));
        queue.run(boot);
        BOOST_TEST((one.take() == boot));
    }
}

BOOST_AUTO_TEST_CASE(extreme_time_points_are_supported) {
    timer_queue queue;
    watched first(queue);
    watched last(queue);
    last.set(never - 1ns);
    first.set(time_point::min());
    BOOST_TEST((queue.earliest() == time_point::min()));
    queue.run(time_point::min());
    BOOST_TEST((first.take() == time_point::min()));
    BOOST_TEST(run_until(queue, never - 2ns) == 0);
    BOOST_TEST(!last.take().has_value());
    BOOST_TEST((queue.earliest() == never - 1ns));
    queue.run(never - 1ns);
    BOOST_TEST((last.take() == never - 1ns));
    last.set(never - 1ns);
    queue.run(never);
    BOOST_TEST((last.take() == never));
    BOOST_TEST((queue.earliest() == never));
}

// If the clock stands still or goes back, no timer becomes due and none is lost.
BOOST_AUTO_TEST_CASE(a_clock_that_goes_back_loses_no_timer) {
    timer_queue queue;
    watched one(queue);
    watched two(queue);
    queue.run(boot);
    one.set(boot + 1s);
    queue.run(boot - 1h);
    two.set(boot - 30min);
    queue.run(boot - 31min);
    BOOST_TEST(!two.take().has_value());
    BOOST_TEST((queue.earliest() == boot - 30min));
    queue.run(boot - 30min);
    BOOST_TEST((two.take() == boot - 30min));
    run_until(queue, boot + 1s);
    BOOST_TEST((one.take() == boot + 1s));
}

// The owner does not call run while no timer is set.
BOOST_AUTO_TEST_CASE(a_timer_set_after_a_long_pause_fires_in_time) {
    for (const duration silence :
         {duration(10ms), duration(1min), duration(24h), duration(8760h)}) {
        for (const duration wait : {duration(1ns), duration(4ms), duration(5s), duration(2h)}) {
            timer_queue queue;
            queue.run(boot);
            watched one(queue);
            const time_point now = boot + silence;
            one.set(now + wait);
            queue.run(now);
            BOOST_TEST(!one.take().has_value());
            BOOST_TEST((queue.earliest() > now));
            run_until(queue, now + wait - 1ns);
            BOOST_TEST(!one.take().has_value());
            run_until(queue, now + wait);
            BOOST_TEST((one.take() == now + wait));
        }
    }
}

BOOST_AUTO_TEST_CASE(setting_never_clears_the_timer) {
    for (const time_point when : {at(-5), at(1), at(5), at(5000), at(50000000)}) {
        timer_queue queue;
        alarm one(must_not_fire);
        queue.set(one, when);
        queue.set(one, never);
        BOOST_TEST((queue.earliest() == never));
        queue.set(one, when);
        queue.clear(one);
        queue.clear(one);
        BOOST_TEST((queue.earliest() == never));
        queue.run(when);
    }
}

BOOST_AUTO_TEST_CASE(setting_a_timer_again_moves_it) {
    const std::vector<time_point> times{boot - 1s,  boot,         boot + 1ns,
                                        boot + 4ms, boot + 1s,    boot + 1s + 1ns,
                                        boot + 1h,  boot + 1000h, never - 1ns};
    for (const time_point before : times) {
        for (const time_point after : times) {
            timer_queue queue;
            queue.run(boot);
            watched one(queue);
            one.set(before);
            one.set(after);
            run_until(queue, after - 1ns);
            BOOST_TEST(!one.take().has_value());
            queue.run(after);
            BOOST_TEST((one.take() == after));
            BOOST_TEST((queue.earliest() == never));
        }
    }
}

BOOST_AUTO_TEST_CASE(clearing_one_timer_keeps_the_others) {
    for (std::size_t cleared = 0; cleared != 3; ++cleared) {
        timer_queue queue;
        queue.run(boot);
        std::deque<watched> all;
        for (int i = 0; i != 3; ++i) {
            all.emplace_back(queue).set(boot + 1h + duration(i));
        }
        all[cleared].set(never);
        run_until(queue, boot + 2h);
        for (std::size_t i = 0; i != all.size(); ++i) {
            BOOST_TEST(all[i].take().has_value() == (i != cleared));
        }
    }
}

BOOST_AUTO_TEST_CASE(one_run_fires_timers_in_order) {
    timer_queue queue;
    queue.run(boot);
    std::vector<duration> fired;
    std::deque<alarm> all;
    const auto add = [&](duration after) {
        all.emplace_back([&fired, after](time_point) { fired.push_back(after); });
        queue.set(all.back(), boot + after);
    };
    std::vector<duration> expected;
    for (int bits = 56; bits >= 0; --bits) {
        for (const std::int64_t nudge : {1, 0}) {
            add(duration((std::int64_t{1} << bits) + 2 * nudge));
            expected.push_back(duration((std::int64_t{1} << bits) + 2 * nudge));
        }
    }
    std::sort(expected.begin(), expected.end());
    queue.run(never);
    BOOST_TEST((fired == expected));
    BOOST_TEST((queue.earliest() == never));
}

BOOST_AUTO_TEST_CASE(a_callback_may_set_clear_and_destroy_timers) {
    timer_queue queue;
    std::vector<int> order;
    alarm cleared(must_not_fire);
    auto destroyed = std::make_unique<alarm>(must_not_fire);
    alarm moved([&](time_point) { order.push_back(3); });
    alarm passed([&](time_point) { order.push_back(2); });
    alarm first([&](time_point) {
        order.push_back(1);
        queue.clear(cleared);
        queue.clear(*destroyed);
        destroyed.reset();
        queue.set(moved, at(50));
        queue.set(passed, at(2));
        queue.set(first, at(100));
    });
    queue.set(first, at(1));
    queue.set(cleared, at(2));
    queue.set(*destroyed, at(3));
    queue.set(moved, at(4));
    queue.run(at(10));
    BOOST_TEST(order == std::vector<int>{1}, boost::test_tools::per_element());
    BOOST_TEST((queue.earliest() == at(2)));  // A timer set during a run fires in the next run.
    queue.run(at(10));
    queue.run(at(60));
    BOOST_TEST(order == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST((queue.earliest() > at(60)));
    queue.clear(first);
}

BOOST_AUTO_TEST_CASE(setting_the_same_time_changes_nothing) {
    timer_queue queue;
    std::vector<int> order;
    alarm second([&](time_point) { order.push_back(2); });
    alarm first([&](time_point) {
        order.push_back(1);
        queue.set(second, at(2));  // It is still due in this run.
    });
    queue.set(first, at(1));
    queue.set(second, at(2));
    queue.set(first, at(1));
    queue.run(at(3));
    BOOST_TEST(order == (std::vector<int>{1, 2}), boost::test_tools::per_element());
    BOOST_TEST((queue.earliest() == never));
}

BOOST_AUTO_TEST_CASE(a_callback_may_destroy_its_own_timer) {
    timer_queue queue;
    std::unique_ptr<alarm> own;
    own = std::make_unique<alarm>([&](time_point) { const auto dying = std::move(own); });
    queue.set(*own, at(1));
    queue.run(at(1));
    BOOST_TEST(own == nullptr);
    BOOST_TEST((queue.earliest() == never));
}

// A timer that is always due does not prolong the run, and does not delay other timers.
BOOST_AUTO_TEST_CASE(a_timer_that_sets_itself_to_the_past_fires_once_per_run) {
    timer_queue queue;
    int calls = 0;
    alarm hasty([&](time_point) {
        ++calls;
        queue.set(hasty, time_point::min());
    });
    watched other(queue);
    queue.set(hasty, at(1));
    other.set(at(2));
    queue.run(at(3));
    BOOST_TEST(calls == 1);
    BOOST_TEST(other.take().has_value());
    BOOST_TEST((queue.earliest() == time_point::min()));
    queue.run(at(3));
    BOOST_TEST(calls == 2);
    queue.clear(hasty);
}

BOOST_AUTO_TEST_CASE(a_throwing_callback_loses_no_timer) {
    timer_queue queue;
    alarm throwing([](time_point) { throw 42; });
    watched next(queue);
    watched later(queue);
    queue.set(throwing, at(1));
    next.set(at(2));
    later.set(at(1000));
    BOOST_CHECK_THROW(queue.run(at(3)), int);
    BOOST_TEST((queue.earliest() == at(2)));
    queue.run(at(4));
    BOOST_TEST((next.take() == at(4)));
    run_until(queue, at(1000));
    BOOST_TEST((later.take() == at(1000)));
}

BOOST_AUTO_TEST_CASE(a_queue_may_be_destroyed_with_timers_set) {
    auto queue = std::make_unique<timer_queue>();
    std::vector<std::unique_ptr<alarm>> all;
    for (const time_point when : {at(-1), at(1), at(10), at(10), at(100000)}) {
        all.push_back(std::make_unique<alarm>(must_not_fire));
        queue->set(*all.back(), when);
    }
    queue.reset();
}

namespace {

/// Random operations on a queue, and on a sorted list that must behave identically.
class against_a_model {
public:
    explicit against_a_model(unsigned seed) : random_(seed), when_(alarms, never) {
        for (std::size_t i = 0; i != alarms; ++i) {
            alarms_.emplace_back([this, i](time_point now) { on_time(i, now); });
        }
        queue_.run(now_);
    }
    ~against_a_model() {
        for (alarm& a : alarms_) {
            queue_.clear(a);
        }
    }
    against_a_model(const against_a_model&) = delete;
    against_a_model& operator=(const against_a_model&) = delete;

    /// Sets or clears one timer.
    void change() {
        if (draw(3) != 0) {
            set(any(), any_time());
        } else {
            clear(any());
        }
        check_earliest();
    }

    /// Makes the time jump, sometimes backwards.
    void jump() { run(draw(4) == 0 ? now_ - any_wait() : now_ + any_wait() / 16); }

    /// Lets some time pass. The owner wakes up exactly at the earliest time.
    void sleep() {
        const time_point until = now_ + any_wait() / 64;
        while (queue_.earliest() <= until) {
            const bool on_time = queue_.earliest() > now_;
            run(std::max(now_, queue_.earliest()));
            BOOST_REQUIRE((!on_time || fired_.empty() || fired_.front() == now_));
            BOOST_REQUIRE((!on_time || fired_.empty() || fired_.back() == now_));
        }
        BOOST_REQUIRE((model_.empty() || model_.begin()->first > until));
        now_ = until;
    }

private:
    static constexpr unsigned alarms = 64;
    using entry = std::pair<time_point, std::size_t>;

    unsigned draw(unsigned below) { return static_cast<unsigned>(random_() % below); }
    std::size_t any() { return draw(alarms); }

    /// Returns a duration between nanoseconds and days. All magnitudes are equally likely.
    duration any_wait() {
        const unsigned bits = draw(50);
        return duration(static_cast<std::int64_t>(random_() >> (63 - bits)) / 2);
    }

    time_point any_time() {
        switch (draw(40)) {
            case 0:
                return never;
            case 1:
                return never - 1ns - any_wait();
            case 2:
                return time_point::min() + any_wait();
            case 3:
                return now_;
            case 4:
            case 5:
            case 6:
                return now_ - any_wait();
            default:
                return now_ + any_wait();
        }
    }

    void forget(std::size_t i) {
        model_.erase({when_[i], i});
        due_.erase({when_[i], i});
        when_[i] = never;
    }

    void clear(std::size_t i) {
        queue_.clear(alarms_[i]);
        forget(i);
    }

    void set(std::size_t i, time_point when) {
        queue_.set(alarms_[i], when);
        if (when != when_[i]) {
            forget(i);
        }
        if (when != never && when != when_[i]) {
            when_[i] = when;
            model_.insert({when, i});
        }
    }

    void on_time(std::size_t i, time_point now) {
        BOOST_REQUIRE((now == running_));
        BOOST_REQUIRE(!due_.empty());
        BOOST_REQUIRE((when_[i] == due_.begin()->first));
        BOOST_REQUIRE((due_.contains({when_[i], i})));
        fired_.push_back(when_[i]);
        forget(i);
        while (draw(3) == 0) {
            if (draw(3) == 0) {
                clear(any());
            } else {
                set(draw(2) == 0 ? i : any(), any_time());
            }
        }
    }

    void run(time_point now) {
        running_ = now;
        fired_.clear();
        due_.insert(model_.begin(), model_.upper_bound({now, alarms}));
        queue_.run(now);
        BOOST_REQUIRE(due_.empty());
        now_ = std::max(now_, now);
        check_earliest();
        const bool passed = !model_.empty() && model_.begin()->first <= now;
        BOOST_REQUIRE((passed || queue_.earliest() > now));
    }

    void check_earliest() {
        const time_point first = model_.empty() ? never : model_.begin()->first;
        BOOST_REQUIRE((queue_.earliest() <= first));
        BOOST_REQUIRE(((first == never) == (queue_.earliest() == never)));
    }

    std::mt19937_64 random_;
    timer_queue queue_;
    std::deque<alarm> alarms_;
    std::vector<time_point> when_;
    std::set<entry> model_;
    std::set<entry> due_;  // The timers that this run must still call.
    std::vector<time_point> fired_;
    time_point now_ = boot;
    time_point running_;
};

constexpr unsigned seeds = 10;

}  // namespace

BOOST_AUTO_TEST_CASE(behaves_like_a_sorted_list) {
    for (unsigned seed = 0; seed != seeds; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            against_a_model both(seed);
            for (int i = 0; i != 3000; ++i) {
                both.change();
                if (i % 5 == 0) {
                    both.jump();
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(behaves_like_a_sorted_list_and_fires_in_time) {
    for (unsigned seed = 0; seed != seeds; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            against_a_model both(seed);
            for (int i = 0; i != 1000; ++i) {
                both.change();
                both.sleep();
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
