// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/lease.hpp"

#include "unit/core/dice.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

// The life of a token on simulated instances. They execute each command, or fail. They may lose the reply, or
// execute a command long after its sender has given up. The holder may do anything that is allowed, at any
// time. The invariants must hold in all cases. A failure prints the seed, which replays it.

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(whatever_comes)

using purpose = lease_tag::purpose_type;
using kind = lease::event::kind_type;

struct sent_command {
    core::step step;
    lease_tag tag;
    milliseconds ttl;
};

/// An instance with a perfect clock.
struct fake_instance {
    bool foreign = false;  // Another holder has the key.
    std::optional<time_point> expires;
    bool destroyed = false;            // It has lost the key of this lease.
    bool surprised = false;            // It has executed a command that was assumed lost.
    std::deque<sent_command> queue;    // The commands in the order of their sends.
    std::vector<sent_command> strays;  // The commands that were assumed lost.

    [[nodiscard]] bool has_key(time_point now) const { return expires && *expires > now; }

    vote execute(const sent_command& c, time_point now) {
        const bool ours = has_key(now);
        switch (c.step) {
            case step::acquire:
                if (foreign || ours) {
                    return vote::denied(key_state::foreign);
                }
                expires = now + c.ttl;
                return vote::granted();
            case step::extend:
                if (ours) {
                    expires = std::max(*expires, now + c.ttl);
                    return vote::granted();
                }
                break;
            case step::release:
                if (ours) {
                    expires.reset();
                    return vote::granted();
                }
                break;
            default:
                break;
        }
        return vote::denied(foreign || ours ? key_state::foreign : key_state::absent);
    }
};

/// Drives a lease like the runtime.
class life {
public:
    explicit life(std::uint64_t seed)
        : seed_(seed), random_(seed), settings_(some_settings()), machine_(settings_, seed) {
        instances_.resize(settings_.instances);
        for (fake_instance& i : instances_) {
            i.foreign = random_.one_in(5);
        }
        longest_ttl_ = settings_.ttl;
    }

    void run() {
        sent_at_ = now_;
        handle(machine_.resume(lease::event::start({}), now_));
        for (int steps = 0; steps != 250; ++steps) {
            something();
            expect_sound();
        }
        if (random_.one_in(20)) {
            machine_.disconnect();
            check(machine_.ended() && machine_.outcome(), "goes on without connections", seed_);
            return;
        }
        if (random_.one_in(10) && (machine_.held() || machine_.lost())) {
            abandon();
        }
        let_go();
        for (int steps = 0; steps != 2000 && ended_ == 0; ++steps) {
            turn();
            vote_of(random_.below(settings_.instances));
            if (random_.one_in(8)) {
                handle(machine_.resume(lease::event::accepting(random_.below(settings_.instances)),
                                       now_));
            }
            if (random_.one_in(4)) {
                on_timer();
            }
        }
        check(ended_ == 1, "never ends", seed_);
    }

private:
    lease_settings some_settings() {
        lease_settings s;
        s.instances = 1 + random_.below(7);
        s.ttl = 50ms + milliseconds(random_.below(300));
        s.renew_interval = random_.one_in(4) ? duration{} : s.ttl / 3;
        s.max_hold = random_.one_in(5) ? 1ms + random_.up_to(600ms) : 0ms;
        s.instance_timeout = 5ms + random_.up_to(60ms);
        s.release_retry = {random_.up_to(10ms), random_.up_to(50ms)};
        return s;
    }

    void something() {
        const std::size_t i = random_.below(settings_.instances);
        now_ += random_.one_in(20) ? random_.step() : random_.up_to(2ms);
        switch (random_.below(17)) {
            case 0:
            case 1:
                on_timer();
                break;
            case 16:
                handle(machine_.resume(lease::event::accepting(i), now_));
                break;
            case 2:
            case 3:
            case 4:
            case 5:
                turn();
                break;
            case 6:
                decide();
                break;
            case 7:
                if (random_.one_in(2) && instances_[i].has_key(now_)) {
                    instances_[i].destroyed = true;
                    instances_[i].expires.reset();
                }
                break;
            case 8:
                stray_of(i);
                break;
            default:
                vote_of(i);
                break;
        }
    }

    /// Simulates a random action of the holder or of its attempt.
    void decide() {
        if (machine_.acquiring()) {
            if (random_.one_in(8)) {
                let_go();
            }
            return;
        }
        switch (random_.below(15)) {
            case 0:
                let_go();
                break;
            case 1:
                if (machine_.held()) {
                    handle(tell(kind::close));
                }
                break;
            default:
                if (machine_.held() && !asked_) {
                    asked_ = true;
                    const duration ttl = 20ms + milliseconds(random_.below(600));
                    handle(machine_.resume(lease::event::extend(ttl), now_));
                }
                break;
        }
    }

    void let_go() {
        if (machine_.acquiring()) {
            begin_to_let_go();
            handle(tell(kind::give_up));
            submit(lease_tag(purpose::remaining), instance_set::only(0));
        } else if (machine_.held() || machine_.lost()) {
            begin_to_let_go();
            handle(tell(kind::release));
        }
    }

    void abandon() {
        begin_to_let_go();
        is_abandoned_ = true;
        const lease_step step = tell(kind::abandon);
        check(!step.send && step.heals.empty() && machine_.abandoned(), "is not abandoned", seed_);
        handle(step);
    }

    void begin_to_let_go() {
        let_go_at_ = now_;
        asked_ = false;  // It gets no reply from now on.
    }

    void on_timer() {
        if (timer_ == never) {
            return;
        }
        now_ = std::max(now_, timer_);
        timer_ = never;
        handle(tell(kind::timer));
        const bool is_over = machine_.lost() && timer_ <= now_;  // Then it is released immediately.
        check(timer_ > now_ || is_over, "waits for what has passed", seed_);
    }

    lease_step tell(kind what) { return machine_.resume(lease::event::just(what), now_); }

    void handle(const lease_step& step) {
        const bool acts = step.attempt || step.extended || step.lost || step.send ||
                          !step.heals.empty() || step.handed_off || step.resolved || step.ended;
        check(ended_ == 0 || !acts, "acts after the end", seed_);
        if (step.attempt == acquire_outcome::granted) {
            const time_point until = valid_until(sent_at_, settings_.ttl, settings_.drift);
            check(grants_ >= quorum_of(settings_.instances) && now_ < until &&
                      machine_.valid_until() <= until,
                  "granted by no quorum, or without validity", seed_);
        } else if (step.attempt) {
            begin_to_let_go();
        }
        if (step.extended) {
            check(asked_ && (machine_.held() || step.lost), "answers what was not asked", seed_);
            asked_ = false;
        }
        if (step.lost) {
            check(machine_.lost() && !let_go_at_, "loses what is not held", seed_);
            asked_ = false;  // It gets no reply from now on.
            kept_until_ = promised_;
        }
        if (!step.heals.empty()) {
            submit(lease_tag(purpose::heal), step.heals);
        }
        if (step.send) {
            submit(*step.send, step.targets);
        }
        if (step.resolved) {
            ++resolved_;
            check(resolved_ == 1 && let_go_at_ && machine_.outcome(), "resolved, but not so",
                  seed_);
        }
        if (step.ended) {
            ++ended_;
            expect_all_given_back();
            timer_ = never;
        } else {
            timer_ = std::min(timer_, step.until);
        }
    }

    void submit(lease_tag tag, instance_set targets) {
        command sent;
        machine_.fill(sent, tag);
        const bool gives_back = sent.step == step::release || sent.step == step::remaining;
        check(gives_back || !(let_go_at_ || kept_until_), "makes or prolongs a key that was let go",
              seed_);
        if (sent.step == step::release && !let_go_at_) {
            check(kept_until_ && now_ >= *kept_until_, "releases what was not let go", seed_);
            begin_to_let_go();
        }
        longest_ttl_ = std::max<duration>(longest_ttl_, sent.ttl);
        for (std::size_t i = 0; i != settings_.instances; ++i) {
            if (targets.contains(i)) {
                submitted_.push_back({i, {sent.step, tag, sent.ttl}});
            }
        }
    }

    /// Sends the submitted commands that are still wanted.
    void turn() {
        for (const auto& [i, command] : std::exchange(submitted_, {})) {
            const bool wanted = machine_.wanted(i, command.tag);
            const bool prolongs = command.step == step::acquire || command.step == step::extend;
            check(!(wanted && prolongs && (let_go_at_ || kept_until_)),
                  "wants to send what was let go", seed_);
            if (!wanted) {
                answer(i, command, vote::failed(failure::withdrawn));
            } else if (random_.one_in(20)) {
                answer(i, command, vote::failed(failure::down));
            } else {
                instances_[i].queue.push_back(command);
            }
        }
    }

    void vote_of(std::size_t i) {
        fake_instance& instance = instances_[i];
        if (instance.queue.empty()) {
            return;
        }
        const sent_command command = instance.queue.front();
        instance.queue.pop_front();
        switch (random_.below(12)) {
            case 0:
                answer(i, command, vote::failed(failure::server_error));
                break;
            case 1:
                instance.execute(command, now_);
                answer(i, command, vote::failed(failure::connection_lost));
                break;
            case 2:
                if (random_.one_in(2)) {
                    instance.strays.push_back(command);
                }
                answer(i, command, vote::failed(failure::timeout));
                break;
            default:
                answer(i, command, instance.execute(command, now_));
                break;
        }
    }

    void stray_of(std::size_t i) {
        fake_instance& instance = instances_[i];
        if (!instance.strays.empty()) {
            instance.execute(instance.strays.back(), now_);
            instance.strays.pop_back();
            instance.surprised = true;
        }
    }

    void answer(std::size_t i, const sent_command& command, const vote& v) {
        if (command.tag.purpose() == purpose::acquire && v.kind == vote_kind::granted) {
            ++grants_;
        }
        handle(machine_.resume(lease::event::voted(i, command.tag, v), now_));
    }

    void expect_sound() {
        check(machine_.held() == (machine_.valid_until() != time_point::min()),
              "valid and not held, or held and not valid", seed_);
        check(ended_ <= 1 && machine_.ended() == (ended_ == 1), "ends twice, or silently", seed_);
        if (machine_.held()) {
            promised_ = machine_.valid_until();
        }
        if (machine_.let_go()) {
            return;
        }
        std::size_t backing = 0;
        bool anywhere = false;
        for (const fake_instance& i : instances_) {
            anywhere = anywhere || i.has_key(now_);
            backing += i.destroyed || (i.expires && *i.expires >= machine_.valid_until()) ? 1U : 0U;
        }
        check(!machine_.held() || backing >= quorum_of(settings_.instances),
              "valid for longer than its keys", seed_);
        check(!anywhere || machine_.may_have_keys(), "forgets a key", seed_);
    }

    /// Checks that each instance that may have the key was sent a release, unless the key has expired.
    void expect_all_given_back() {
        if (is_abandoned_) {
            check(resolved_ == 0, "resolves a release that nobody asked for", seed_);
            return;
        }
        check(resolved_ == 1, "ended, and nobody was told", seed_);
        if (!let_go_at_ || now_ >= gone_at(*let_go_at_, longest_ttl_, settings_.drift)) {
            return;
        }
        for (const fake_instance& i : instances_) {
            check(!i.has_key(now_) || i.surprised, "ends with a key left", seed_);
        }
    }

    std::uint64_t seed_;
    dice random_;
    lease_settings settings_;
    lease machine_;
    std::vector<fake_instance> instances_;
    struct submission {
        std::size_t index;
        sent_command command;
    };
    std::vector<submission> submitted_;
    time_point now_ = at(0ms);
    time_point sent_at_{};
    time_point timer_ = never;
    duration longest_ttl_{};
    std::optional<time_point> let_go_at_;
    time_point promised_{};  // The validity that the holder has seen last.
    // After a loss, the keys stay until this time, or until the release.
    std::optional<time_point> kept_until_;
    std::size_t grants_ = 0;
    bool asked_ = false;
    bool is_abandoned_ = false;
    int resolved_ = 0;
    int ended_ = 0;
};

BOOST_AUTO_TEST_CASE(a_lease_releases_every_key_and_ends_once) {
    constexpr std::uint64_t runs = 30000;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        life(seed).run();
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
