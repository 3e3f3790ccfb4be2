// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Flow control of one connection, in virtual time.

#include "instance/send_window.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

using namespace std::chrono_literals;
using boost::unit_test::label;
using colock::core::duration;
using colock::core::time_point;
using colock::instance::send_window;

namespace {

constexpr std::size_t most = 1U << 20U;

/// A distant server that takes a fixed time for each command, and a client that always has more to send.
class busy_link {
public:
    busy_link(duration distance, duration service, std::size_t largest = most)
        : distance_(distance), service_(service), window(largest, 1s) {}

    /// Runs the client. Every 100 us it reads replies and sends as much as the window allows.
    void run_for(duration time) {
        const time_point end = now + time;
        while (now < end) {
            read();
            const std::size_t room = window.size() - std::min(window.size(), in_flight);
            if (const std::size_t size = std::min(room, wanted); size != 0) {
                send(size);
            }
            now += 100us;
        }
    }
    void move_to(duration distance) { distance_ = distance; }

    time_point now{1000h};
    std::size_t in_flight = 0;
    std::size_t answered = 0;
    std::size_t wanted = most;  ///< The most that the client sends at once.
    duration longest_delay{};

private:
    /// A batch of commands. They are answered one by one, `service` apart. Single commands are not stored,
    /// because there are a million per second.
    struct batch {
        time_point sent_at;
        time_point executed_from;
        duration distance;  // The distance of the answers.
        std::size_t size;
        std::size_t answered = 0;
    };

    void read() {
        std::optional<time_point> begun;
        std::optional<time_point> done;
        while (!sent_.empty()) {
            batch& one = sent_.front();
            const duration passed = now - one.distance - one.executed_from;
            const auto executed =
                static_cast<std::size_t>(std::max<duration::rep>(0, passed / service_));
            const std::size_t count = std::min(executed, one.size) - one.answered;
            if (count == 0) {
                break;
            }
            in_flight -= count;
            answered += count;
            longest_delay = std::max(longest_delay, now - one.sent_at);
            if (one.answered == 0) {
                begun = one.sent_at;
            }
            one.answered += count;
            if (one.answered != one.size) {
                break;
            }
            done = one.sent_at;
            sent_.pop_front();
        }
        if (begun) {
            window.on_first_answer(*begun, now);
        }
        if (done) {
            window.on_answered(*done, now);
        }
    }
    void send(std::size_t size) {
        const time_point from = std::max(free_at_, now + distance_ / 2);
        free_at_ = from + service_ * size;
        sent_.push_back({now, from, distance_ / 2, size});
        in_flight += size;
        window.on_sent(in_flight, size, now);
    }

    duration distance_;
    duration service_;
    time_point free_at_{};
    std::deque<batch> sent_;

public:
    send_window window;
};

double per_second(std::size_t commands, duration time) {
    return static_cast<double>(commands) / std::chrono::duration<double>(time).count();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(send_windows)

/// At any distance and any service time, the server is always busy, and its queue stays short.
BOOST_AUTO_TEST_CASE(the_window_keeps_the_server_busy_and_its_queue_short, *label("fault-113")) {
    for (const duration distance : std::vector<duration>{100us, 1ms, 20ms, 100ms}) {
        for (const duration service : std::vector<duration>{1us, 5us, 50us}) {
            busy_link link(distance, service);
            link.run_for(20s);
            link.answered = 0;
            link.longest_delay = {};
            link.run_for(3s);
            BOOST_TEST_CONTEXT("distance " << distance.count() << " ns, service " << service.count()
                                           << " ns") {
                const double capacity = 1 / std::chrono::duration<double>(service).count();
                BOOST_TEST(per_second(link.answered, 3s) > 0.9 * capacity);
                // After a new measurement of the unloaded delay, the whole window is sent at once.
                const duration longest = 2 * (distance + send_window::target);
                BOOST_TEST((link.longest_delay <= longest), link.longest_delay.count());
            }
        }
    }
}

/// An idle client cannot find out whether a larger window would help.
BOOST_AUTO_TEST_CASE(an_unused_window_does_not_grow) {
    busy_link link(1ms, 1us);
    link.wanted = 5;
    link.run_for(5s);
    BOOST_TEST(link.window.size() == send_window::initial);
}

/// The path to the server becomes longer, for example after a migration. Its additional delay is not a queue.
BOOST_AUTO_TEST_CASE(the_unloaded_delay_is_measured_again_on_a_longer_path) {
    busy_link link(1ms, 5us);
    link.run_for(3s);
    link.move_to(50ms);
    link.run_for(30s);
    link.answered = 0;
    link.run_for(3s);
    BOOST_TEST(per_second(link.answered, 3s) > 0.8 * 200'000);
}

/// A permanent queue is not mistaken for a longer path.
BOOST_AUTO_TEST_CASE(a_standing_queue_does_not_raise_the_unloaded_delay) {
    busy_link link(1ms, 5us);
    link.run_for(100s);
    link.longest_delay = {};
    link.run_for(3s);
    BOOST_TEST((link.longest_delay <= 1ms + 2 * send_window::target), link.longest_delay.count());
}

BOOST_AUTO_TEST_CASE(the_window_stays_within_its_bounds) {
    busy_link small(100ms, 1us, 100);
    small.run_for(10s);
    BOOST_TEST(small.window.size() == 100U);

    busy_link slow(1ms, 10ms);  // Each single command already exceeds the target.
    slow.run_for(100s);
    BOOST_TEST(slow.window.size() == send_window::least);

    busy_link tiny(1ms, 10ms, 3);
    tiny.run_for(10s);
    BOOST_TEST(tiny.window.size() == 3U);
}

BOOST_AUTO_TEST_CASE(the_delay_of_the_latest_answer_is_reported) {
    send_window window(most, 1s);
    BOOST_TEST((window.delay() == 0ns));
    const time_point start(1000h);
    window.on_sent(1, 1, start);
    window.on_first_answer(start, start + 2ms);
    window.on_answered(start, start + 3ms);
    BOOST_TEST((window.delay() == 3ms));
}

BOOST_AUTO_TEST_SUITE_END()
