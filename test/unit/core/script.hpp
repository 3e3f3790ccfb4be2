#ifndef COLOCK_TEST_UNIT_CORE_SCRIPT_HPP
#define COLOCK_TEST_UNIT_CORE_SCRIPT_HPP

#include "core/acquire.hpp"
#include "core/release.hpp"
#include "core/renew.hpp"
#include "support/instance_set_text.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

/// Scripts for the machines: a step is an event at a time, and what the machine says to it:
///
///     {301ms, granted(2), "wait 350"},
///
/// The player answers with `done` whatever wants to be answered so, as the runtime does, hence one
/// step may have several words: "attempt; wait 50". Times are milliseconds after the script's zero.
namespace colock::core::test {

using namespace std::chrono_literals;

/// Zero of every script. Not the clock's own zero, so that a forgotten time shows.
inline constexpr time_point zero{std::chrono::hours(1000)};

constexpr time_point at(duration after_zero) noexcept {
    return zero + after_zero;
}

inline std::string in_ms(duration d) {
    std::ostringstream text;
    text.precision(15);
    text << std::chrono::duration<double, std::milli>(d).count();
    return text.str();
}

inline std::string in_ms(time_point t) {
    return t == never ? "never" : in_ms(t - zero);
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
        case acquire_outcome::cancelled:
            return "cancelled";
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

inline std::string describe(const acquire& machine, const acquire::action& a) {
    using kind = acquire::action::kind_type;
    switch (a.kind) {
        case kind::attempt:
            return "attempt";
        case kind::raise:
            return "raise " + std::to_string(machine.fence());
        case kind::give_back:
            return "give_back";
        case kind::wait:
            return "wait " + in_ms(a.time);
        case kind::granted:
            return "granted " + in_ms(a.time);
        case kind::failed:
            return "failed " + name(a.outcome);
    }
    return "?";
}

inline std::string describe(const renew& machine, const renew::action& a) {
    using kind = renew::action::kind_type;
    switch (a.kind) {
        case kind::wait:
            return "wait " + in_ms(a.time);
        case kind::send:
            return "send #" + std::to_string(machine.round_number()) + " " + in_ms(machine.ttl());
        case kind::heal:
            return "heal " + std::to_string(a.index) + " " + in_ms(machine.ttl());
        case kind::extended:
            return a.success ? "extended" : "not extended";
        case kind::lost:
            return "lost " + name(a.why);
    }
    return "?";
}

/// A release that knows for how many instances it is.
class sized_release : public release {
public:
    sized_release(const release_settings& settings, std::uint64_t seed)
        : release(settings, seed), instances_(settings.instances) {}
    [[nodiscard]] std::size_t instances() const noexcept { return instances_; }

private:
    std::size_t instances_;
};

/// "send 13", with who is wanted.
inline std::string describe(const sized_release& machine, const release::action& a) {
    using kind = release::action::kind_type;
    switch (a.kind) {
        case kind::send:
            return "send " + colock::test::to_text(machine.wanted(), machine.instances());
        case kind::wait:
            return "wait " + in_ms(a.time);
        case kind::resolved:
            return "resolved " + name(a.outcome);
        case kind::ended:
            return "ended";
    }
    return "?";
}

inline bool wants_done(const acquire::action& a) {
    using kind = acquire::action::kind_type;
    return a.kind == kind::attempt || a.kind == kind::raise || a.kind == kind::give_back;
}

inline bool wants_done(const renew::action& a) {
    using kind = renew::action::kind_type;
    return a.kind == kind::send || a.kind == kind::heal || a.kind == kind::extended;
}

inline bool wants_done(const release::action& a) {
    using kind = release::action::kind_type;
    return a.kind == kind::send || a.kind == kind::resolved;
}

/// Feeds one event, and `done` for as long as that is wanted; returns all actions in words.
template <class Machine>
std::string said(Machine& machine, const typename Machine::event& event, time_point now) {
    std::string words;
    auto action = machine.resume(event, now);
    for (int n = 0;; ++n) {
        BOOST_TEST_REQUIRE(n < 100, "the machine never comes to rest");
        words += (words.empty() ? "" : "; ") + describe(machine, action);
        if (!wants_done(action)) {
            return words;
        }
        action = machine.resume(Machine::event::done(), now);
    }
}

template <class Machine>
struct scripted {
    duration time;
    typename Machine::event event;
    std::string expected;
};

template <class Machine>
using script = std::vector<scripted<Machine>>;

/// Plays a script's first `count` steps, and checks what the machine says.
template <class Machine>
void play_some(Machine& machine, const script<Machine>& steps, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) {
        BOOST_TEST_CONTEXT("step " << i << ", at " << in_ms(steps[i].time) << " ms") {
            BOOST_TEST(said(machine, steps[i].event, at(steps[i].time)) == steps[i].expected);
        }
    }
}

template <class Machine>
void play(Machine& machine, const script<Machine>& steps) {
    play_some(machine, steps, steps.size());
}

/// A vote from a letter: Granted, Denied (by another), None (denied: there is no key), Unknown (denied: one of
/// these), Failed.
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

/// Whether `word` is one of the actions in `words`.
inline bool has(const std::string& words, const std::string& word) {
    return ("; " + words).find("; " + word) != std::string::npos;
}

}  // namespace colock::core::test

#endif
