#include "core/acquire.hpp"
#include "core/release.hpp"
#include "core/renew.hpp"

#include "unit/core/dice.hpp"
#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

// Random events at random times, in any order that a runtime might feed them, and what must hold
// whatever comes. A failure prints the seed, which replays it.

namespace colock::core::test {
namespace {

constexpr std::uint64_t runs = 20000;

/// Sometimes has the machine, which last said `said`, note the vote instead of being resumed with it;
/// and checks that this could not have told the difference.
template <class Machine>
bool noted(Machine& machine, const typename Machine::event& event,
           const typename Machine::action& said, time_point now, dice& random, std::uint64_t seed) {
    using event_kind = typename Machine::event::kind_type;
    if (event.kind != event_kind::vote || !Machine(machine).note(event.index, event.vote)) {
        return false;
    }
    const auto action = Machine(machine).resume(event, now);
    const bool timer_is_due = now >= said.time;  // and will do what there is to do
    check(timer_is_due || (action.kind == said.kind && action.time == said.time),
          "only noted a vote that mattered", seed);
    return !timer_is_due && random.one_in(2) && machine.note(event.index, event.vote);
}

void run_acquire(std::uint64_t seed) {
    using kind = acquire::action::kind_type;
    dice random(seed);
    acquire_settings settings;
    settings.instances = 1 + random.below(7);
    settings.ttl = 1ms + random.up_to(300ms);
    settings.instance_timeout = random.up_to(100ms);
    settings.retry = {random.up_to(10ms), random.up_to(50ms)};
    settings.attempts = random.below(4);
    settings.deadline = random.one_in(3) ? never : at(random.up_to(300ms) - 50ms);
    settings.unavailable_timeout = random.one_in(3) ? 0ms : random.up_to(200ms);

    settings.fencing = random.one_in(2);

    acquire machine(settings, seed);
    time_point now = at(0ms);
    time_point sent{};
    std::size_t attempts = 0;
    std::vector<char> first(settings.instances, ' ');  // each one's vote on the attempt
    std::vector<std::uint64_t> fences;                 // of those that granted
    std::set<std::size_t> raised;                      // who has the fence since the second round
    bool second_round = false;
    bool out = false;  // sent, and neither granted nor given back
    bool ended = false;
    acquire::action action;
    acquire::event event = random.one_in(50) ? acquire::event::cancel() : acquire::event::start();
    for (int steps = 0; steps != 60; ++steps) {
        const bool cancelled = event.kind == acquire::event::kind_type::cancel;
        if (event.kind == acquire::event::kind_type::vote && out) {
            char& letter = first[event.index];
            const char kinds[] = {'G', 'D', 'F'};
            if (letter == ' ' && !second_round) {
                letter = kinds[static_cast<std::size_t>(event.vote.kind)];
                if (letter == 'G') {
                    fences.push_back(event.vote.fence);
                }
            }
        } else if (event.kind == acquire::event::kind_type::raised && second_round &&
                   event.vote.kind == vote_kind::granted) {
            raised.insert(event.index);
        }
        if (!noted(machine, event, action, now, random, seed)) {
            action = machine.resume(event, now);
        }
        for (;;) {
            check(!ended || (action.kind == kind::wait && action.time == never),
                  "acts after the end", seed);
            if (action.kind == kind::attempt) {
                check(!out, "an attempt before the former was given back", seed);
                out = true;
                sent = now;
                ++attempts;
                std::fill(first.begin(), first.end(), ' ');
                fences.clear();
                raised.clear();
                second_round = false;
            } else if (action.kind == kind::raise) {
                check(settings.fencing && out && !second_round, "writes back unasked", seed);
                second_round = true;
            } else if (action.kind == kind::give_back) {
                check(out, "gives back what was not sent", seed);
                out = false;
            } else {
                break;
            }
            action = machine.resume(acquire::event::done(), now);
        }
        if (action.kind == kind::granted) {
            const auto grants =
                static_cast<std::size_t>(std::count(first.begin(), first.end(), 'G'));
            check(out && grants >= quorum_of(settings.instances), "granted by no quorum", seed);
            check(now < action.time, "granted without validity", seed);
            if (settings.fencing) {
                const auto [least, largest] = std::minmax_element(fences.begin(), fences.end());
                check(machine.fence() == *largest, "the fence is not the largest", seed);
                check(*least == *largest || second_round, "a fence that others do not know", seed);
                check(!second_round || raised.size() >= quorum_of(settings.instances),
                      "a fence that no majority knows", seed);
            }
            check(action.time == valid_until(sent, settings.ttl, settings.drift),
                  "validity is not counted from the send", seed);
            out = false;
            ended = true;
        } else if (action.kind == kind::failed) {
            check(!out, "failed without giving back", seed);
            check((action.outcome == acquire_outcome::cancelled) == cancelled,
                  "cancelled is not what it says", seed);
            ended = true;
        } else if (!ended) {
            check(!cancelled, "goes on after a cancellation", seed);
            check(action.time != never, "waits for ever", seed);
            check(attempts <= 1 || now < settings.deadline || out, "waits beyond its deadline",
                  seed);
        }
        check(settings.attempts == 0 || attempts <= settings.attempts, "too many attempts", seed);
        check(attempts == machine.attempts(), "miscounts its attempts", seed);

        if (!ended && random.one_in(3)) {
            now = std::max(now, action.time);
            event = acquire::event::timer();
            continue;
        }
        now += random.step();
        const std::size_t i = random.below(settings.instances);
        vote voted = random.any_vote();
        if (voted.kind == vote_kind::granted && settings.fencing) {
            voted = vote::granted(100 + random.below(3));
        }
        switch (second_round && random.one_in(2) ? 4 : random.below(12)) {
            case 4:
                event = acquire::event::raised(i, voted);
                break;
            case 0:
                event = acquire::event::timer();
                break;
            case 1:
                event = acquire::event::wake();
                break;
            case 2:
                event = acquire::event::remaining(
                    i, vote::denied(key_state::foreign,
                                    random.one_in(5)
                                        ? unknown_remaining
                                        : milliseconds(static_cast<int>(random.below(60)))));
                break;
            case 3:
                event = random.one_in(5) ? acquire::event::cancel() : acquire::event::timer();
                break;
            default:
                event = acquire::event::voted(i, voted);
                break;
        }
    }
}

void run_renew(std::uint64_t seed) {
    using kind = renew::action::kind_type;
    dice random(seed);
    renew_settings settings;
    settings.instances = 1 + random.below(7);
    settings.ttl = 50ms + random.up_to(300ms);
    settings.interval = random.one_in(5) ? 0ms : settings.ttl / 3;
    settings.instance_timeout = random.up_to(60ms);
    settings.max_hold = random.one_in(5) ? 1ms + random.up_to(1s) : 0ms;

    const time_point first_validity = valid_until(at(0ms), settings.ttl, settings.drift);
    renew machine(settings, at(0ms), first_validity);
    time_point now = at(0ms);
    std::uint32_t round = 0;
    std::vector<std::string> first(settings.instances);  // each one's vote on the round
    std::vector<bool> healed(settings.instances);
    bool asked = false;
    bool ended = false;
    renew::event event = renew::event::start();
    for (int steps = 0; steps != 120; ++steps) {
        const time_point validity = machine.valid_until();
        const bool stopped = event.kind == renew::event::kind_type::stop;
        if (event.kind == renew::event::kind_type::vote && event.round == round &&
            first[event.index].empty()) {
            first[event.index] = event.vote.kind == vote_kind::granted  ? "G"
                                 : event.vote.kind == vote_kind::failed ? "F"
                                 : event.vote.key == key_state::absent  ? "N"
                                                                        : "D";
        }
        const bool won = static_cast<std::size_t>(std::count(first.begin(), first.end(), "G")) >=
                         quorum_of(settings.instances);
        auto action = machine.resume(event, now);
        for (;;) {
            check(!(ended || stopped) || (action.kind == kind::wait && action.time == never),
                  "acts after the end", seed);
            if (action.kind == kind::send) {
                ++round;
                check(round == machine.round_number(), "miscounts its rounds", seed);
                check(now < validity, "renews what is over", seed);
                first.assign(settings.instances, "");
                healed.assign(settings.instances, false);
            } else if (action.kind == kind::heal) {
                const auto grants =
                    static_cast<std::size_t>(std::count(first.begin(), first.end(), "G"));
                check(first[action.index] == "N", "makes a key that is not known to be gone", seed);
                check(!healed[action.index], "heals twice", seed);
                check(grants >= quorum_of(settings.instances), "heals without a quorum", seed);
                check(now < machine.valid_until(), "heals what is over", seed);
                healed[action.index] = true;
            } else if (action.kind == kind::extended) {
                check(asked, "answers what was not asked", seed);
                asked = false;
            } else {
                break;
            }
            action = machine.resume(renew::event::done(), now);
        }
        ended = ended || stopped || action.kind == kind::lost;
        check(machine.valid_until() <= validity || (won && now < validity),
              "gains validity without a quorum, or after it was over", seed);
        if (!ended) {
            check(now < machine.valid_until(), "holds on to what is over", seed);
            check(action.time < machine.valid_until(), "would announce the loss too late", seed);
            check(settings.max_hold == 0ms || action.time <= at(settings.max_hold),
                  "waits beyond max_hold", seed);
        }

        if (!ended && random.one_in(2)) {
            now = std::max(now, action.time);
            event = renew::event::timer();
            continue;
        }
        now += random.step();
        switch (random.below(40)) {
            case 0:
                event = renew::event::stop();
                break;
            case 1:
            case 2:
                if (!asked) {
                    asked = true;
                    event = renew::event::extend(20ms + random.up_to(600ms));
                    break;
                }
                [[fallthrough]];
            case 3:
                event = renew::event::timer();
                break;
            default: {
                const auto old = static_cast<std::uint32_t>(random.below(3));
                event = renew::event::voted(random.below(settings.instances),
                                            random.one_in(6) && old <= round ? round - old : round,
                                            random.any_vote());
                break;
            }
        }
    }
}

void run_release(std::uint64_t seed) {
    using kind = release::action::kind_type;
    dice random(seed);
    release_settings settings;
    settings.instances = 1 + random.below(7);
    settings.instance_timeout = random.up_to(60ms);
    settings.retry = {random.up_to(10ms), random.up_to(50ms)};
    settings.valid_until = random.one_in(3) ? time_point::min() : at(random.up_to(500ms) - 100ms);
    settings.gone_at = at(random.up_to(600ms) - 50ms);

    release machine(settings, seed);
    std::vector<bool> due(settings.instances, false);  // may hold the token, and was not yet asked
    std::vector<bool> out(settings.instances, false);  // asked, and has not voted
    for (std::size_t i = 0; i != settings.instances; ++i) {
        if (!random.one_in(3)) {
            machine.concern(i);
            due[i] = true;
        }
    }
    time_point now = at(0ms);
    int resolved = 0;
    bool ended = false;
    release::action action;
    release::event event = release::event::start();
    for (int steps = 0; steps != 60; ++steps) {
        if (!noted(machine, event, action, now, random, seed)) {
            action = machine.resume(event, now);
        }
        for (;;) {
            if (action.kind == kind::send) {
                check(now < settings.gone_at, "sends what cannot matter any more", seed);
                const instance_set wanted = machine.wanted();
                check(wanted.count(settings.instances) != 0, "asks nobody", seed);
                for (std::size_t i = 0; i != settings.instances; ++i) {
                    check(!wanted.contains(i) || !out[i], "asks whoever is being asked", seed);
                    out[i] = out[i] || wanted.contains(i);
                    due[i] = due[i] && !wanted.contains(i);
                }
            } else if (action.kind == kind::resolved) {
                ++resolved;
            } else {
                break;
            }
            action = machine.resume(release::event::done(), now);
        }
        ended = action.kind == kind::ended;
        check(resolved <= 1, "resolved twice", seed);
        check(!ended || resolved == 1, "ended, and nobody was told", seed);
        if (now < settings.gone_at) {
            check(std::find(due.begin(), due.end(), true) == due.end(), "asks not all", seed);
            check(!ended || std::find(out.begin(), out.end(), true) == out.end(),
                  "ended with votes out", seed);
        } else {
            check(ended, "goes on when all is gone", seed);
        }
        check(ended || action.time <= settings.gone_at, "waits for too long", seed);
        check(ended || resolved == 1 || action.time <= at(0ms) + settings.instance_timeout,
              "lets the caller wait for too long", seed);

        if (!ended && random.one_in(3)) {
            now = std::max(now, action.time);
            event = release::event::timer();
            continue;
        }
        now += random.step();
        const std::size_t i = random.below(settings.instances);
        if (random.one_in(20) && !out[i]) {
            event = release::event::late_grant(i);
        } else if (random.one_in(10)) {
            event = release::event::accepting(i);
        } else if (out[i]) {
            out[i] = false;
            event = release::event::voted(i, random.any_vote());
        } else {
            event = release::event::timer();
        }
    }
}

BOOST_AUTO_TEST_SUITE(whatever_comes)

BOOST_AUTO_TEST_CASE(acquire_grants_only_what_a_quorum_granted_and_gives_back_the_rest) {
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        run_acquire(seed);
    }
}

BOOST_AUTO_TEST_CASE(renew_never_holds_on_to_what_is_over) {
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        run_renew(seed);
    }
}

BOOST_AUTO_TEST_CASE(release_asks_everybody_concerned_and_tells_once) {
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        run_release(seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
