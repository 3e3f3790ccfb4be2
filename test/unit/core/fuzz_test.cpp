// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/acquire.hpp"
#include "core/instance_set.hpp"
#include "core/lease.hpp"
#include "core/lease_step.hpp"
#include "core/release.hpp"
#include "core/renew.hpp"

#include "unit/core/dice.hpp"
#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

// Random events at random times, in any order that a runtime might produce. The invariants must hold in all
// cases. A failure prints the seed, which replays it.

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(whatever_comes)

constexpr std::uint64_t runs = 20000;

/// An `acquire` with the leases of its attempts, and the events so far.
class acquire_run {
public:
    explicit acquire_run(std::uint64_t seed)
        : seed_(seed),
          random_(seed),
          settings_(any_settings()),
          lease_settings_(any_lease_settings()),
          policy_(settings_, seed),
          letters_(settings_.instances) {
        if (random_.one_in(4)) {
            policy_.expect_others();
        }
    }

    void run() {
        if (random_.one_in(50)) {
            cancel();
        } else {
            tell(acquire::event::start());
        }
        for (int steps = 0; steps != 60; ++steps) {
            check_between_events();
            if (!ended_ && until_ != never && random_.one_in(3)) {
                now_ = std::max(now_, until_);
                wake_up();
                continue;
            }
            now_ += random_.step();
            any_event();
        }
    }

private:
    static constexpr auto acquire_tag = lease_tag(lease_tag::purpose_type::acquire);
    static constexpr auto raise_tag = lease_tag(lease_tag::purpose_type::raise, 1);

    void holds(bool truth, const char* what) const { check(truth, what, seed_); }

    acquire_settings any_settings() {
        acquire_settings s;
        s.instances = 1 + random_.below(7);
        s.retry = {random_.up_to(10ms), random_.up_to(50ms)};
        s.attempts = random_.below(4);
        s.deadline = random_.one_in(3) ? never : at(random_.up_to(300ms) - 50ms);
        s.unavailable_timeout = random_.one_in(3) ? 0ms : random_.up_to(200ms);
        s.tries_twice = random_.one_in(4);
        s.announces = random_.one_in(4);
        s.attempt_interval = random_.one_in(4) ? 1ms + random_.up_to(100ms) : 0ms;
        s.longest_reliance = random_.one_in(2) ? 1ms + random_.up_to(100ms) : 0ms;
        return s;
    }

    lease_settings any_lease_settings() {
        lease_settings s;
        s.instances = settings_.instances;
        s.ttl = 1ms + random_.up_to(300ms);
        s.instance_timeout = random_.up_to(100ms);
        s.agreement = random_.one_in(2) ? agreement::largest : agreement::none;
        return s;
    }

    [[nodiscard]] bool is_fenced() const { return lease_settings_.agreement == agreement::largest; }
    [[nodiscard]] bool attempting() const { return !leases_.empty() && leases_.back().acquiring(); }

    void wake_up() {
        if (attempting()) {
            on_lease(tell_lease(lease::event::just(lease::event::kind_type::timer)));
        } else {
            tell(acquire::event::just(acquire::event::kind_type::timer));
        }
    }

    void any_event() {
        using kind = acquire::event::kind_type;
        const std::size_t i = random_.below(settings_.instances);
        switch (second_round_ && random_.one_in(2) ? 4 : random_.below(14)) {
            case 4:
                vote_on(raise_tag, i);
                break;
            case 0:
                wake_up();
                break;
            case 1:
                tell(acquire::event::just(kind::wake));
                break;
            case 2: {
                const vote v =
                    random_.one_in(5)
                        ? vote::denied(key_state::absent)
                        : vote::denied(key_state::foreign,
                                       random_.one_in(5)
                                           ? unknown_remaining
                                           : milliseconds(static_cast<int>(random_.below(60))));
                tell(acquire::event::remaining(i, v, random_.one_in(2)));
                break;
            }
            case 3:
                if (random_.one_in(5)) {
                    cancel();
                }
                break;
            case 5:
                tell(acquire::event::changed(i));
                break;
            case 6: {
                const kind kinds[] = {kind::poll, kind::parked, kind::unparked};
                tell(acquire::event::just(kinds[random_.below(3)]));
                break;
            }
            case 7:
                vote_too_late(i);
                break;
            default:
                vote_on(acquire_tag, i);
                break;
        }
    }

    vote any_vote() {
        const vote v = random_.any_vote();
        return v.kind == vote_kind::granted && is_fenced() ? vote::granted(100 + random_.below(3))
                                                           : v;
    }

    /// Votes on the latest attempt.
    void vote_on(lease_tag tag, std::size_t i) {
        if (!attempting()) {
            return;
        }
        const vote v = any_vote();
        was_denied_ = was_denied_ || v.kind == vote_kind::denied;
        const char kinds[] = {'G', 'D', 'F'};
        if (tag == acquire_tag) {
            std::string& all = letters_[i];
            all += kinds[static_cast<std::size_t>(v.kind)];
            if (all.size() == 1 && !second_round_ && v.kind == vote_kind::granted) {
                first_grants_.insert(i);
                fences_.push_back(v.value);
            }
        } else if (second_round_ && votes_on_raise_.insert(i).second &&
                   v.kind == vote_kind::granted) {
            raised_.insert(i);
        }
        on_lease(tell_lease(lease::event::voted(i, tag, v)));
    }

    /// Votes on a failed attempt. This does not affect the other attempts.
    void vote_too_late(std::size_t i) {
        const std::size_t failed =
            leases_.size() - (leases_.empty() || leases_.back().let_go() ? 0 : 1);
        if (failed != 0) {
            const vote v = any_vote();
            lease& former = leases_[random_.below(failed)];
            const auto step = former.resume(lease::event::voted(i, acquire_tag, v), now_);
            holds(!step.attempt, "an attempt ends twice");
            holds(!former.acquiring() && !former.held(), "an attempt that has failed goes on");
        }
    }

    void cancel() {
        if (attempting()) {
            const auto step = tell_lease(lease::event::just(lease::event::kind_type::give_up));
            holds(!step.attempt, "an attempt that was given up ends by itself");
            check_given_back(step);
        }
        cancelled_ = true;
        on_policy(policy_.resume(acquire::event::just(acquire::event::kind_type::cancel), now_));
    }

    lease_step tell_lease(const lease::event& e) { return leases_.back().resume(e, now_); }

    void tell(const acquire::event& e) {
        using kind = acquire::event::kind_type;
        const bool in_attempt = attempting();
        parked_ = policy_.backing_off() && (e.kind == kind::parked || parked_) &&
                  e.kind != kind::unparked;
        const acquire::step step = policy_.resume(e, now_);
        if (in_attempt) {
            holds(is_nothing(step), "acts in the middle of an attempt");
        } else {
            on_policy(step);
        }
    }

    static bool is_nothing(const acquire::step& step) {
        return !step.attempt && !step.failed && step.until == never;
    }

    void on_policy(const acquire::step& step) {
        holds(!ended_ || is_nothing(step), "acts after the end");
        holds(!step.attempt || !step.failed, "attempts, and has failed");
        until_ = step.until;
        if (step.failed) {
            holds(!attempting(), "failed without giving back");
            holds((*step.failed == acquire_outcome::cancelled) == cancelled_,
                  "cancelled is not what it says");
            holds(*step.failed != acquire_outcome::granted, "granted is no failure");
            holds(*step.failed != acquire_outcome::contended || was_denied_,
                  "contended, and no instance has denied");
            ended_ = true;
        } else if (step.attempt) {
            begin_attempt();
        } else if (!ended_) {
            holds(now_ < settings_.deadline && step.until <= settings_.deadline,
                  "waits beyond its deadline");
        }
    }

    void begin_attempt() {
        holds(!attempting(), "an attempt before the former was given back");
        holds(policy_.sent() == now_, "an attempt is not counted from when it is sent");
        const attempt told = policy_.current_attempt();
        const bool second_half = (settings_.tries_twice || settings_.announces) && twice_ == 0 &&
                                 attempt_ended_now_ && told.contended;
        holds(attempts_ == 0 || second_half || now_ < settings_.deadline,
              "attempts beyond its deadline");
        if (second_half && policy_.attempts() == attempts_) {
            ++twice_;
        } else {
            ++attempts_;
        }
        holds(attempts_ == policy_.attempts(), "miscounts its attempts");
        letters_.assign(settings_.instances, "");
        first_grants_.clear();
        fences_.clear();
        raised_.clear();
        votes_on_raise_.clear();
        second_round_ = false;
        parked_ = false;
        leases_.emplace_back(lease_settings_, seed_);
        const bool may_wait = now_ < settings_.deadline &&
                              (settings_.attempts == 0 || attempts_ < settings_.attempts);
        holds(told.announces == may_wait, "announces a wait that it may not make, or none");
        announces_ = told.announces;
        const auto step = tell_lease(lease::event::start(told));
        holds(step.send == acquire_tag && !step.attempt, "an attempt does not begin with acquire");
        until_ = step.until;
        on_lease(step);
    }

    void on_lease(const lease_step& step) {
        holds(!step.lost && !step.handed_off && step.heals.empty() && !step.extended,
              "an attempt does what a holder does");
        if (step.send == raise_tag) {
            holds(is_fenced() && attempting() && !second_round_, "writes back unasked");
            second_round_ = true;
        }
        if (!step.attempt) {
            holds(attempting(), "an attempt ends without a word");
            until_ = step.until == never ? until_ : step.until;
            return;
        }
        attempt_ended_now_ = true;
        const auto next =
            policy_.resume(acquire::event::attempted(*step.attempt, leases_.back().votes()), now_);
        if (*step.attempt == acquire_outcome::granted) {
            check_grant();
            holds(is_nothing(next), "acts after the grant");
            ended_ = true;
            until_ = never;
        } else {
            check_given_back(step);
            holds(next.attempt || next.failed || announces_, "waits without having announced it");
            on_policy(next);
        }
        attempt_ended_now_ = false;
    }

    void check_grant() const {
        const lease& granted = leases_.back();
        const std::size_t quorum = quorum_of(settings_.instances);
        holds(granted.held(), "granted, and not held");
        holds(first_grants_.size() >= quorum, "granted by no quorum");
        holds(now_ < granted.valid_until(), "granted without validity");
        holds(granted.valid_until() ==
                  valid_until(policy_.sent(), lease_settings_.ttl, lease_settings_.drift),
              "validity is not counted from the send");
        if (is_fenced()) {
            const auto [least, largest] = std::minmax_element(fences_.begin(), fences_.end());
            holds(granted.value() == *largest, "the fence is not the largest");
            holds(*least == *largest || second_round_, "a fence that others do not know");
            holds(!second_round_ || raised_.size() >= quorum, "a fence that no majority knows");
        }
    }

    /// Checks the targets of a rollback against the votes on the acquire. Nothing is expected of an instance
    /// with contradictory votes.
    void check_given_back(const lease_step& step) const {
        const lease& former = leases_.back();
        const instance_set asked = step.send ? step.targets : instance_set();
        holds(former.let_go(), "an attempt that failed is not given back");
        holds(!step.send || step.send->purpose() == lease_tag::purpose_type::release,
              "gives back by something that is no release");
        for (std::size_t i = 0; i != settings_.instances; ++i) {
            if (letters_[i].find_first_not_of('G') == std::string::npos) {
                holds(asked.contains(i), "does not give back what it got, or may get");
            } else if (letters_[i].find('G') == std::string::npos) {
                holds(!asked.contains(i), "gives back what it has not got");
            }
        }
    }

    void check_between_events() const {
        if (!ended_) {
            holds(!cancelled_, "goes on after a cancellation");
            holds(until_ != never || parked_, "waits for ever");
            holds(attempting() || policy_.backing_off(), "neither attempts nor waits");
        }
        holds(!ended_ || !policy_.backing_off(), "waits after the end");
        holds(settings_.attempts == 0 || attempts_ <= settings_.attempts, "too many attempts");
    }

    std::uint64_t seed_;
    dice random_;
    acquire_settings settings_;
    lease_settings lease_settings_;
    acquire policy_;
    std::deque<lease> leases_;  // The last element is the latest attempt.

    time_point now_ = at(0ms);
    time_point until_ = never;
    std::size_t attempts_ = 0;
    std::size_t twice_ = 0;  // The number of attempts with a second half.
    bool attempt_ended_now_ = false;
    bool parked_ = false;
    bool cancelled_ = false;
    bool ended_ = false;
    bool was_denied_ = false;  // By any instance, in any attempt.

    // The state of the latest attempt.
    std::vector<std::string> letters_;    // The votes of each instance on the acquire.
    std::set<std::size_t> first_grants_;  // The instances whose first vote was a grant.
    std::vector<std::uint64_t> fences_;   // The fences of these grants.
    std::set<std::size_t> raised_;        // The instances that have raised the fence.
    std::set<std::size_t> votes_on_raise_;
    bool announces_ = false;
    bool second_round_ = false;
};

void run_acquire(std::uint64_t seed) {
    acquire_run(seed).run();
}

/// Returns true if a step of a lease has no effect.
bool is_nothing(const lease_step& step) {
    return !step.attempt && !step.extended && !step.lost && step.heals.empty() && !step.send &&
           !step.handed_off && !step.resolved && !step.ended && step.until == never;
}

void run_renew(std::uint64_t seed) {
    using kind = renew::event::kind_type;
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
    time_point until = never;
    std::uint32_t round = 0;
    std::vector<std::string> first(settings.instances);  // The first vote of each instance.
    std::vector<bool> healed(settings.instances);
    bool asked = false;
    bool ended = false;
    vote voted;
    renew::event event = renew::event::timer();
    for (int steps = 0; steps != 120; ++steps) {
        const time_point validity = machine.valid_until();
        const bool old_vote = event.kind == kind::vote && (event.round != round || round == 0);
        const bool all_had_granted = std::count(first.begin(), first.end(), "G") ==
                                     static_cast<std::ptrdiff_t>(first.size());
        if (event.kind == kind::vote && !old_vote && first[event.index].empty()) {
            first[event.index] = voted.kind == vote_kind::granted  ? "G"
                                 : voted.kind == vote_kind::failed ? "F"
                                 : voted.key == key_state::absent  ? "N"
                                                                   : "D";
        }
        const auto grants = static_cast<std::size_t>(std::count(first.begin(), first.end(), "G"));
        const bool won = grants >= quorum_of(settings.instances);
        const lease_step step = machine.resume(event, now);
        check(!ended || is_nothing(step), "acts after the end", seed);
        check(!old_vote || is_nothing(step), "acts upon a vote that is too late", seed);
        check(!step.attempt && !step.handed_off && !step.resolved && !step.ended,
              "says what is not for it to say", seed);
        if (step.extended) {
            check(asked, "answers what was not asked", seed);
            asked = false;
        }
        for (std::size_t i = 0; i != settings.instances; ++i) {
            if (step.heals.contains(i)) {
                check(first[i] == "N", "makes a key that is not known to be gone", seed);
                check(!healed[i], "heals twice", seed);
                check(won, "heals without a quorum", seed);
                check(now < machine.valid_until(), "heals what is over", seed);
                healed[i] = true;
            }
        }
        check(!step.lost || (step.heals.empty() && !step.send), "acts upon what is lost", seed);
        if (step.send) {
            ++round;
            check(round == machine.round_number(), "miscounts its rounds", seed);
            check(step.send == lease_tag(lease_tag::purpose_type::extend, round),
                  "sends something else than a renewal", seed);
            check(now < validity, "renews what is over", seed);
            first.assign(settings.instances, "");
            healed.assign(settings.instances, false);
        }
        ended = ended || step.lost;
        check(machine.valid_until() <= validity || (won && now < validity),
              "gains validity without a quorum, or after it was over", seed);
        if (!ended) {
            const bool means_nothing =
                is_nothing(step) && (old_vote || (event.kind == kind::vote && all_had_granted));
            check(step.until != never || means_nothing, "waits for ever", seed);
            check(means_nothing || now < machine.valid_until(), "holds on to what is over", seed);
            until = step.until == never ? until : step.until;
            check(until == machine.due(), "its caller has not heard when it acts next", seed);
            check(until < machine.valid_until(), "would announce the loss too late", seed);
            check(settings.max_hold == 0ms || until <= at(settings.max_hold),
                  "waits beyond max_hold", seed);
        }

        if (!ended && random.one_in(2)) {
            now = std::max(now, until);
            event = renew::event::timer();
            continue;
        }
        now += random.step();
        switch (random.below(40)) {
            case 0:
            case 1:
                if (!asked) {
                    asked = true;
                    event = renew::event::extend(20ms + random.up_to(600ms));
                    break;
                }
                [[fallthrough]];
            case 2:
                event = renew::event::timer();
                break;
            default: {
                const auto old = static_cast<std::uint32_t>(random.below(3));
                voted = random.any_vote();
                event = renew::event::voted(random.below(settings.instances),
                                            random.one_in(6) && old <= round ? round - old : round,
                                            voted);
                break;
            }
        }
    }
}

/// Computes independently when the keys of a release have expired.
class expected_end {
public:
    expected_end(time_point gone_at, duration longest_life)
        : gone_at_(gone_at), longest_life_(longest_life) {}

    void leave_open(std::size_t i) { open_.insert(i); }

    void note(const release::event& e, time_point now) {
        using kind = release::event::kind_type;
        const bool answers_release = e.kind == kind::vote && e.vote->kind != vote_kind::failed;
        const bool answers_acquire =
            (e.kind == kind::vote && answered(e.vote->reason)) || e.kind == kind::accepting ||
            (e.kind == kind::late_vote && e.vote->reason != failure::timeout &&
             e.vote->reason != failure::connection_lost);
        if ((answers_release || answers_acquire) && open_.erase(e.index) != 0 && answers_acquire) {
            gone_at_ = std::max(gone_at_, now + longest_life_);
        }
    }

    [[nodiscard]] time_point time() const { return open_.empty() ? gone_at_ : never; }

private:
    std::set<std::size_t> open_;
    time_point gone_at_;
    duration longest_life_;
};

void run_release(std::uint64_t seed) {
    dice random(seed);
    release_settings settings;
    settings.instances = 1 + random.below(7);
    settings.instance_timeout = random.up_to(60ms);
    settings.retry = {random.up_to(10ms), random.up_to(50ms)};
    settings.valid_until = random.one_in(3) ? time_point::min() : at(random.up_to(500ms) - 100ms);
    settings.gone_at = at(random.up_to(600ms) - 50ms);
    settings.longest_life = random.up_to(300ms);

    instance_set holding;
    instance_set open;
    expected_end gone(settings.gone_at, settings.longest_life);
    std::vector<bool> due(settings.instances, false);     // May hold the token, not asked yet.
    std::vector<bool> out(settings.instances, false);     // Asked, and has not voted.
    std::vector<bool> again(settings.instances, false);   // A late grant while it was asked.
    std::vector<bool> without(settings.instances, true);  // Has no key, as far as known.
    for (std::size_t i = 0; i != settings.instances; ++i) {
        if (!random.one_in(3)) {
            holding.add(i);
            due[i] = true;
            without[i] = false;
            if (random.one_in(5)) {
                open.add(i);
                gone.leave_open(i);
            }
        }
    }
    release machine(settings, holding, open, seed);
    const auto any_vote = [&random] {
        constexpr failure failures[] = {failure::timeout, failure::connection_lost,
                                        failure::server_error, failure::withdrawn};
        return random.one_in(4) ? vote::failed(failures[random.below(4)]) : random.any_vote();
    };
    time_point now = at(0ms);
    int resolved = 0;
    bool ended = false;
    vote voted;
    release::event event = release::event::start();
    for (int steps = 0; steps != 60; ++steps) {
        gone.note(event, now);
        const lease_step step = machine.resume(event, now);
        check(
            !step.attempt && !step.extended && !step.lost && step.heals.empty() && !step.handed_off,
            "says what is not for it to say", seed);
        if (step.send) {
            check(step.send->purpose() == lease_tag::purpose_type::release,
                  "sends something else than a release", seed);
            check(!step.ended, "sends, and has ended", seed);
            check(now < gone.time(), "sends what cannot matter any more", seed);
            check(step.targets.count(settings.instances) != 0, "asks nobody", seed);
            for (std::size_t i = 0; i != settings.instances; ++i) {
                const bool target = step.targets.contains(i);
                check(!target || !out[i], "asks one that is being asked", seed);
                out[i] = out[i] || target;
                due[i] = due[i] && !target;
                without[i] = without[i] && !target;
            }
        }
        resolved += step.resolved ? 1 : 0;
        ended = step.ended;
        check(resolved <= 1, "resolved twice", seed);
        check(!ended || resolved == 1, "ended, and nobody was told", seed);
        if (now < gone.time()) {
            check(std::find(due.begin(), due.end(), true) == due.end(), "asks not all", seed);
            check(!ended || std::find(out.begin(), out.end(), true) == out.end(),
                  "ended with votes out", seed);
        } else {
            check(ended, "goes on when all is gone", seed);
        }
        if (ended) {
            break;
        }
        check(step.until <= gone.time(), "waits for too long", seed);
        check(resolved == 1 || step.until <= at(0ms) + settings.instance_timeout,
              "lets the caller wait for too long", seed);

        if (step.until != never && random.one_in(3)) {
            now = std::max(now, step.until);
            event = release::event::timer();
            continue;
        }
        now += random.step();
        const std::size_t i = random.below(settings.instances);
        voted = any_vote();
        if (random.one_in(15)) {
            const bool granted = voted.kind == vote_kind::granted;
            again[i] = again[i] || (out[i] && granted);
            due[i] = due[i] || (without[i] && granted);
            event = release::event::late(i, voted);
        } else if (random.one_in(10)) {
            event = release::event::accepting(i);
        } else if (out[i]) {
            out[i] = false;
            if (voted.kind == vote_kind::denied) {
                due[i] = again[i];
                without[i] = !again[i];
                again[i] = false;
            }
            event = release::event::voted(i, voted);
        } else {
            event = release::event::timer();
        }
    }
}

BOOST_AUTO_TEST_CASE(acquire_needs_a_quorum_and_rolls_back_failed_attempts) {
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        run_acquire(seed);
    }
}

BOOST_AUTO_TEST_CASE(renew_never_keeps_an_expired_lease) {
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        run_renew(seed);
    }
}

BOOST_AUTO_TEST_CASE(release_reaches_every_instance_concerned_and_resolves_once) {
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        run_release(seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
