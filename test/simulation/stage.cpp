// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/stage.hpp"

#include <algorithm>

namespace colock::simulation {
namespace {

constexpr std::uint64_t most_steps = 100000;

profile as_written(const cast& who) {
    profile p;
    p.name = "scenario";
    p.faults.least_delay = 1ms;
    p.faults.usual_delay = 0ms;
    p.faults.stragglers = 0;
    p.faults.slow_turns = 0;
    p.faults.clock_rates = 0;
    p.faults.rollbacks = 1;  // A server keeps the states that a rollback restores.
    p.faults.quarantine = who.quarantine;
    p.drift = who.drift;
    p.deployment = who.deployment;
    return p;
}

}  // namespace

stage::stage(const cast& who, bool trace)
    : world_(as_written(who), 1, trace), checker_(world_, voters_) {
    for (std::size_t i = 0; i != who.instances; ++i) {
        voter& s = *voters_.emplace_back(std::make_unique<voter>(world_, i, who.deployment));
        checker_.watch(i);
        s.on_granted = [this, i, tell = s.on_granted](const std::string& token) {
            grants_.push_back({now(), i, token});
            tell(token);
        };
        report_outages(s, i, clients_);
    }
    for (std::size_t i = 0; i != who.clients; ++i) {
        clients_.push_back(std::make_unique<client>(world_, checker_, voters_, i));
    }
    checker_.waits = [this](const std::string& of, const stored_waiter& one) {
        return waits_in(clients_, of, one);
    };
}

spec& stage::lock() {
    spec& s = locks_.emplace_back();
    s.key = key;
    runtime::lock_policy& p = s.policy;
    p.lease.instances = voters_.size();
    p.lease.ttl = 300ms;
    p.lease.renew_interval = 100ms;
    p.lease.drift = world_.profile().drift;
    p.lease.instance_timeout = 30ms;
    p.retry = {4ms, 60ms};
    p.attempts = 1;
    p.unavailable_timeout = 10s;
    p.handoff = {64, 1s};
    return s;
}

spec& stage::patient_lock() {
    spec& s = lock();
    s.policy.attempts = 0;
    return s;
}

spec& stage::unrenewed_lock() {
    spec& s = lock();
    s.policy.lease.renew_interval = 0ms;
    return s;
}

spec& stage::writers_lock() {
    spec& s = patient_lock();
    s.policy.set_kind(kinds::writer);
    s.policy.attempt_interval = kinds::writer_mark_ttl / 2;
    return s;
}

shared_lock stage::both_sides() {
    const spec& writers = writers_lock();
    return {writers, readers_side_of(writers)};
}

taking& stage::acquire(std::size_t user, const spec& lock, core::time_point deadline) {
    taking& t = takings_.emplace_back();
    t.by = clients_[user].get();
    t.op = t.by->acquire(lock, deadline, [this, &t](const holding& granted) {
        t.told = now();
        t.lease = granted;
        if (t.granted()) {
            t.by->on_loss(granted, [this, &t] { t.lost = now(); });
        }
    });
    return t;
}

taking& stage::hold(std::size_t user, const spec& lock, duration until, const std::string& what) {
    taking& t = acquire(user, lock);
    run_to(until);
    expect(t.held(), what);
    return t;
}

taking& stage::wait(std::size_t user, const spec& lock, duration until, const std::string& what) {
    taking& t = acquire(user, lock);
    run_to(until);
    expect(!t.ended(), what);
    return t;
}

taking& stage::fail(std::size_t user, const spec& lock, duration until, const std::string& what) {
    taking& t = acquire(user, lock);
    run_to(until);
    expect(t.told && !t.granted(), what);
    return t;
}

void stage::release(taking& t) {
    expect(t.owned(), "there is something to release");
    if (t.owned()) {
        t.by->let_go(t.lease);
    }
}

taking& stage::share(taking& t, const spec& readers) {
    taking& another = takings_.emplace_back();
    another.by = t.by;
    another.op = t.op;
    t.by->share(t.lease, readers, [this, &another](const holding& granted) {
        another.told = now();
        another.lease = granted;
        if (another.held()) {
            another.by->on_loss(granted, [this, &another] { another.lost = now(); });
        }
    });
    return another;
}

taking& stage::hand_off(taking& t, const spec& lock) {
    expect(t.held(), "there is something to hand off");
    const auto by = std::ranges::find(clients_, t.by, [](const auto& one) { return one.get(); });
    taking& next = acquire(static_cast<std::size_t>(by - clients_.begin()), lock);
    next.former = t.token();
    if (t.held()) {
        t.by->let_go(t.lease);
    }
    return next;
}

void stage::cut_off(std::size_t user, instances which, duration until) {
    mute(user, which, until);
    deafen(user, which, until);
}

void stage::deafen(std::size_t user, instances which, duration until) {
    for (const std::size_t i : which) {
        clients_[user]->to(i).block(connection::to_client, true_time(until));
    }
}

void stage::mute(std::size_t user, instances which, duration until) {
    for (const std::size_t i : which) {
        clients_[user]->to(i).block(connection::to_server, true_time(until));
    }
}

void stage::break_all(std::size_t user, duration deliver_after) {
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        clients_[user]->to(i).reset(deliver_after);
    }
}

void stage::run_to(duration when) {
    world_.run(true_time(when), most_steps);
}

std::size_t stage::keys() {
    return static_cast<std::size_t>(
        std::ranges::count_if(voters_, [](const auto& one) { return one->holds_anything(key); }));
}

std::size_t stage::keys(const taking& t) {
    return static_cast<std::size_t>(std::ranges::count_if(
        voters_, [&](const auto& one) { return one->holds(key, t.token()); }));
}

std::size_t stage::grants_after(duration when) const {
    return static_cast<std::size_t>(std::count_if(
        grants_.begin(), grants_.end(), [when](const grant& g) { return g.when > when; }));
}

void stage::expect(bool holds, const std::string& what) {
    if (!holds && world_.violations().empty()) {
        world_.violation("scenario", "at " + in_ms(now()) + ", not so: " + what);
    }
}

std::vector<std::string> stage::finish() {
    constexpr duration for_all_that_waits = 10s;
    run_to(now() + for_all_that_waits);
    if (world_.violations().empty()) {
        for (auto& c : clients_) {
            c->expect_nothing_pending();
        }
        checker_.expect_no_keys({key});
    }
    return world_.violations();
}

}  // namespace colock::simulation
