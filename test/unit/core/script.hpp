// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_UNIT_CORE_SCRIPT_HPP
#define COLOCK_TEST_UNIT_CORE_SCRIPT_HPP

#include "core/backoff.hpp"
#include "core/lease.hpp"
#include "core/lease_step.hpp"
#include "core/outcome.hpp"
#include "core/release.hpp"
#include "core/renew.hpp"
#include "support/instance_set_text.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Scripts for the machines. A step is an event at a time, and the expected output of the machine:
///
///     {301ms, granted(2), "wait 350"},
///
/// A step may also have several votes, one from each instance. A second output is that after the last vote:
///
///     {301ms, voted("GGG"), "wait 350", "wait 600"},
///
/// The output may have several parts, such as `attempt; wait 50`. Times are milliseconds after the zero of
/// the script.
namespace colock::core::test {

using namespace std::chrono_literals;

/// The zero of every script. It differs from the zero of the clock, so that an uninitialized time is noticed.
inline constexpr time_point zero{std::chrono::hours(1000)};

constexpr time_point at(duration after_zero) noexcept {
    return zero + after_zero;
}

/// Returns random number `number` of a machine with that seed, counted from 1.
inline std::uint64_t random_number(std::uint64_t seed, std::size_t number) {
    std::uint64_t state = seed;
    for (std::size_t i = 1; i != number; ++i) {
        next_random(state);
    }
    return next_random(state);
}

inline std::string in_ms(duration d) {
    std::ostringstream text;
    text.precision(15);
    text << std::chrono::duration<double, std::milli>(d).count();
    return text.str();
}

inline std::string in_ms(time_point t) {
    if (t == never) {
        return "never";
    }
    return t == time_point::min() ? "before all time" : in_ms(t - zero);
}

inline std::string name(acquire_outcome outcome) {
    switch (outcome) {
        case acquire_outcome::granted:
            return "granted";
        case acquire_outcome::closed:
            return "closed";
        case acquire_outcome::contended:
            return "contended";
        case acquire_outcome::no_quorum:
            return "no_quorum";
        case acquire_outcome::too_slow:
            return "too_slow";
        case acquire_outcome::wrong_kind:
            return "wrong_kind";
        case acquire_outcome::wrong_limit:
            return "wrong_limit";
        case acquire_outcome::completed:
            return "completed";
        case acquire_outcome::cancelled:
            return "cancelled";
        case acquire_outcome::would_deadlock:
            return "would_deadlock";
        case acquire_outcome::lease_lost:
            return "lease_lost";
        case acquire_outcome::adopted_twice:
            return "adopted_twice";
    }
    return "?";
}

inline std::string name(release_outcome outcome) {
    switch (outcome) {
        case release_outcome::released:
            return "released";
        case release_outcome::expired:
            return "expired";
        case release_outcome::lost:
            return "lost";
        case release_outcome::no_quorum:
            return "no_quorum";
    }
    return "?";
}

inline std::string name(loss why) {
    switch (why) {
        case loss::none:
            return "none";
        case loss::keys_gone:
            return "keys_gone";
        case loss::unrenewable:
            return "unrenewable";
        case loss::expired:
            return "expired";
        case loss::max_hold:
            return "max_hold";
        case loss::closed:
            return "closed";
    }
    return "?";
}

/// Returns a copy of a vote that lives as long as the test. Events only refer to votes.
inline const vote& kept(const vote& v) {
    static std::deque<vote> votes;
    return votes.emplace_back(v);
}

/// Returns the parts of a step as text, except the commands to send, such as `not extended; lost expired`.
inline std::vector<std::string> words_of(const lease_step& step) {
    std::vector<std::string> words;
    if (step.extended) {
        words.emplace_back(*step.extended ? "extended" : "not extended");
    }
    if (step.lost) {
        words.push_back("lost " + name(*step.lost));
    }
    if (step.handed_off) {
        words.emplace_back("handed off");
    }
    if (step.resolved) {
        words.push_back("resolved " + name(*step.resolved));
    }
    return words;
}

inline std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& one : words) {
        text += (text.empty() ? "" : "; ") + one;
    }
    return text;
}

/// Returns the last part: the time of the next timer event, or "ended".
inline std::string end_of(const lease_step& step) {
    return step.ended ? "ended" : "wait " + in_ms(step.until);
}

inline std::string describe(const renew& machine, const lease_step& step) {
    std::vector<std::string> words = words_of(step);
    for (std::size_t i = 0; i != instance_set::most; ++i) {
        if (step.heals.contains(i)) {
            words.push_back("heal " + std::to_string(i) + " " + in_ms(machine.ttl_in_force()));
        }
    }
    if (step.send) {
        words.push_back("send #" + std::to_string(machine.round_number()) + " " +
                        in_ms(machine.ttl()));
    }
    if (!step.lost) {
        words.push_back(end_of(step));
    }
    return joined(words);
}

inline std::string name(step s) {
    switch (s) {
        case step::acquire:
            return "acquire";
        case step::extend:
            return "extend";
        case step::release:
            return "release";
        case step::remaining:
            return "remaining";
        case step::confirm:
            return "confirm";
        case step::join:
            return "join";
        case step::leave:
            return "leave";
        case step::withdraw:
            return "withdraw";
        case step::read:
            return "read";
        case step::look:
            return "look";
        case step::complete:
            return "complete";
        case step::inspect:
            return "inspect";
        case step::write:
            return "write";
    }
    return "?";
}

inline std::string describe(const lease&, const lease_step& step) {
    std::vector<std::string> words;
    if (step.attempt) {
        words.push_back(*step.attempt == acquire_outcome::granted
                            ? "granted"
                            : "failed " + name(*step.attempt));
    }
    for (const std::string& one : words_of(step)) {
        words.push_back(one);
    }
    if (!step.heals.empty()) {
        words.push_back("heal " + colock::test::to_text(step.heals));
    }
    if (step.send) {
        std::string text = name(lease::step_of(*step.send));
        if (step.send->purpose() == lease_tag::purpose_type::extend) {
            text += " #" + std::to_string(step.send->round());
        }
        if (step.targets != instance_set::all()) {
            text += " " + colock::test::to_text(step.targets);
        }
        words.push_back(text);
    }
    words.push_back(end_of(step));
    return joined(words);
}

/// A release that also stores the number of its instances.
class sized_release : public release {
public:
    sized_release(const release_settings& settings, instance_set holding, instance_set open,
                  std::uint64_t seed)
        : release(settings, holding, open, seed), instances_(settings.instances) {}
    [[nodiscard]] std::size_t instances() const noexcept { return instances_; }

private:
    std::size_t instances_;
};

/// Returns a step as text, such as "send 13" with the targets.
inline std::string describe(const sized_release& machine, const lease_step& step) {
    std::vector<std::string> words = words_of(step);
    if (step.send) {
        words.push_back("send " + colock::test::to_text(step.targets, machine.instances()));
    }
    words.push_back(end_of(step));
    return joined(words);
}

/// Passes one event to a machine, and returns its step as text.
template <class Machine>
std::string said(Machine& machine, const typename Machine::event& event, time_point now) {
    const auto step = machine.resume(event, now);
    return describe(machine, step);
}

/// One event, or several at the same time.
template <class Event>
struct one_or_more : std::vector<Event> {
    using std::vector<Event>::vector;
    one_or_more(const Event& one) : std::vector<Event>{one} {}
    one_or_more(std::vector<Event> several) : std::vector<Event>(std::move(several)) {}
};

template <class Machine>
struct scripted {
    duration time;
    one_or_more<typename Machine::event> events;
    std::string expected;      // After each event.
    std::string at_last = {};  // After the last event, if this differs.
};

template <class Machine>
using script = std::vector<scripted<Machine>>;

/// Plays the first `count` steps of a script, and checks the output of the machine.
template <class Machine>
void play_some(Machine& machine, const script<Machine>& steps, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) {
        const auto& [time, events, expected, at_last] = steps[i];
        for (std::size_t j = 0; j != events.size(); ++j) {
            BOOST_TEST_CONTEXT("step " << i << ", event " << j << ", at " << in_ms(time) << " ms") {
                const bool last = j + 1 == events.size() && !at_last.empty();
                BOOST_TEST(said(machine, events[j], at(time)) == (last ? at_last : expected));
            }
        }
    }
}

template <class Machine>
void play(Machine&& machine, const script<std::remove_reference_t<Machine>>& steps) {
    play_some(machine, steps, steps.size());
}

/// Returns an event for each letter of a text. Its position is that of the instance. `-` is an instance
/// that does not vote.
template <class Voted>
auto votes_from(std::string_view letters, const Voted& voted) {
    std::vector<decltype(voted('G', 0))> votes;
    for (std::size_t i = 0; i != letters.size(); ++i) {
        if (letters[i] != '-') {
            votes.push_back(voted(letters[i], i));
        }
    }
    return votes;
}

/// Returns the vote for a letter: Granted, Denied (by another holder), None, Unknown, Failed. None is a
/// denial without a key. Unknown is a denial that does not report whether the key exists.
inline vote vote_from(char letter) {
    switch (letter) {
        case 'G':
            return vote::granted();
        case 'D':
            return vote::denied(key_state::foreign);
        case 'N':
            return vote::denied(key_state::absent);
        case 'U':
            return vote::denied(key_state::unknown);
        default:
            return vote::failed(failure::down);
    }
}

/// Returns true if `word` is one of the parts of `words`.
inline bool has(const std::string& words, const std::string& word) {
    return ("; " + words).find("; " + word) != std::string::npos;
}

}  // namespace colock::core::test

#endif
