// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/once_work.hpp"

#include "simulation/client.hpp"

#include "kinds/once/once.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulation {
namespace {

using core::acquire_outcome;
using core::settlement_outcome;
using task = core::settlement::task_type;

}  // namespace

void settling::deliver() {
    by_.on_delivered(*this);
}

// --- The users ------------------------------------------------------------------------------------------

spec once_work::some_lock(const std::string& name) {
    dice& random = world_.random;
    spec s;
    s.key = name;
    runtime::lock_policy& p = s.policy;
    p.set_kind(kinds::once);
    p.lease.instances = client_.instances();
    p.lease.ttl = core::milliseconds(100 + static_cast<int>(random.below(400)));
    p.lease.renew_interval = random.chance(0.1) ? duration{} : duration(p.lease.ttl / 3);
    p.lease.spread_renewals = true;
    p.lease.drift = world_.profile().drift;
    p.lease.instance_timeout = random.between(20ms, 50ms);
    p.retry = {4ms, client::longest_backoff};
    p.attempts = random.chance(0.15) ? 1 + random.below(4) : 0;
    p.unavailable_timeout = random.chance(0.3) ? random.up_to(300ms) : 10s;
    return s;
}

void once_work::start(const std::vector<std::string>& names, true_time end) {
    end_ = end;
    const std::size_t users = 1 + world_.random.below(3);
    for (std::size_t i = 0; i != users; ++i) {
        user& u = users_.emplace_back();
        u.lock = some_lock(names[world_.random.chance(0.8) ? 0 : names.size() - 1]);
        u.fingerprint = world_.random.chance(0.85) ? "a" : world_.random.chance(0.5) ? "b" : "";
        u.keep = core::milliseconds(600 + static_cast<int>(world_.random.below(1000)));
        think(u);
    }
}

void once_work::think(user& u) {
    client_.post(world_.now() + world_.random.up_to(world_.random.chance(0.7) ? 30ms : 300ms),
                 [this, &u] { work(u); });
}

void once_work::work(user& u) {
    dice& random = world_.random;
    if (world_.now() >= end_ || client_.engine().closing()) {
        return;
    }
    const auto made = std::make_shared<once_call>();
    made->lock = u.lock;
    made->life = std::make_shared<once_life>();
    made->life->fingerprint = u.fingerprint;
    made->life->keep = u.keep;
    const duration ttl = u.lock.policy.lease.ttl;
    made->body_time = random.up_to(random.chance(0.5)   ? ttl / 10
                                   : random.chance(0.8) ? ttl
                                                        : ttl * 2);
    made->throws = random.chance(0.1);
    made->tell = [this, &u](once_end, const std::string&) { think(u); };
    begin(made);
    if (world_.goes_wrong(world_.faults().cancellations)) {
        client_.post(world_.now() + random.up_to(random.chance(0.3) ? 1ms : 40ms),
                     [this, made] { cancel(made); });
    }
}

// --- A call ---------------------------------------------------------------------------------------------

void once_work::begin(const call& one) {
    one->life->client = client_.who();
    one->life->key = one->lock.key;
    one->life->started = world_.now();
    calls_.push_back(one);
    find(one);
}

void once_work::settle(const call& one, runtime::settlement_request request,
                       settling::handler then) {
    request.lease = one->held.state;
    request.holder = one->held.holder;
    const auto made = std::make_shared<settling>(*this, client_.lock_of(one->lock), request,
                                                 one->life, std::move(then));
    one->settlement = made;
    running_.push_back(made);
    client_.act([&] { made->start(made); });
}

void once_work::find(const call& one) {
    runtime::settlement_request request;
    request.task = task::look;
    settle(one, request, [this, one](settling& ended) {
        one->has_met_record = ended.has_met_record();
        if (ended.result() == settlement_outcome::settled) {
            read(one, *ended.record());
        } else if (ended.result() == settlement_outcome::unsettled) {
            acquire(one);
        } else {
            end(one, once_end::failed);
        }
    });
}

void once_work::acquire(const call& one) {
    one->waiting = client_.acquire(
        one->lock, [this, one](const holding& granted) { on_acquired(one, granted); });
}

void once_work::on_acquired(const call& one, const holding& granted) {
    const auto by = std::exchange(one->waiting, nullptr);
    one->held = granted;
    one->has_met_record = one->has_met_record || by->has_met_record();
    const bool may_go_on = by->granted() || by->result() == acquire_outcome::completed;
    if (!may_go_on) {
        end(one, once_end::failed);
    } else if (by->record()) {
        read(one, *by->record());
    } else if (one->has_met_record) {
        heal(one);
    } else {
        go_on(one);
    }
}

/// Settles a record that some instance has. The caller of that record may have died.
void once_work::heal(const call& one) {
    runtime::settlement_request request;
    request.task = task::settle;
    settle(one, request, [this, one](settling& ended) {
        if (ended.result() == settlement_outcome::settled) {
            one->held = {};
            read(one, *ended.record());
        } else if (ended.result() == settlement_outcome::unsettled) {
            if (ended.has_sent()) {
                one->held = {};
            }
            go_on(one);
        } else {
            end(one, once_end::failed);
        }
    });
}

void once_work::go_on(const call& one) {
    if (one->held.state == nullptr) {
        acquire(one);
    } else {
        run(one);
    }
}

void once_work::read(const call& one, const std::string& record) {
    const auto parts = kinds::parse_record(record);
    if (!parts) {
        world_.violation("result", client_.who() + " cannot read a record");
        return;
    }
    // mutant: once_fingerprint_not_compared
    const bool is_same = parts->fingerprint == one->life->fingerprint;
    if (is_same) {
        client_.once_rules().on_told(*one->life, record);
    } else {
        client_.once_rules().on_mismatch(*one->life, record);
    }
    end(one, is_same ? once_end::found : once_end::differs, record);
}

/// Runs the body. As in `with_lock`, the body ends with the lease.
void once_work::run(const call& one) {
    one->is_running_body = true;
    if (world_.tracing()) {
        world_.tell(client_.who(), "runs a body for " + one->life->key);
    }
    if (one->held.held() && client_.now() < one->held.state->valid_until(one->held.holder)) {
        client_.once_rules().on_body(*one->life);
    }
    client_.on_loss(one->held, [this, one] {
        if (one->is_running_body) {
            end(one, once_end::lost);
        }
    });
    client_.post(world_.now() + one->body_time, [this, one] {
        if (!one->is_running_body || one->is_over) {
            return;
        }
        if (one->throws) {
            end(one, once_end::threw);
        } else {
            on_returned(one);
        }
    });
}

void once_work::on_returned(const call& one) {
    one->is_running_body = false;
    const std::string result = client_.who() + "/" + std::to_string(++results_);
    one->life->record =
        kinds::make_record({.fingerprint = one->life->fingerprint, .result = result});
    client_.once_rules().on_returned(*one->life);
    runtime::settlement_request request;
    request.task = task::complete;
    request.record = std::make_shared<const std::string>(one->life->record);
    request.life = one->life->keep;
    settle(one, request, [this, one](settling& ended) { on_recorded(one, ended); });
}

void once_work::on_recorded(const call& one, const settling& ended) {
    if (ended.result() == settlement_outcome::settled) {
        one->held = {};
        client_.once_rules().on_told(*one->life, one->life->record);
        end(one, once_end::ran, one->life->record);
        return;
    }
    // mutant: once_doubt_is_not_told
    const bool is_unknown = ended.has_sent();
    client_.once_rules().on_unstored(*one->life, ended.result(), is_unknown);
    end(one, is_unknown ? once_end::unknown : once_end::failed, one->life->record);
}

void once_work::end(const call& one, once_end how, const std::string& record) {
    if (std::exchange(one->is_over, true)) {
        return;
    }
    one->is_running_body = false;
    if (world_.tracing()) {
        world_.tell(client_.who(), "ends its call for " + one->life->key + ", " +
                                       std::to_string(static_cast<int>(how)) + " " + record);
    }
    const auto last = one;
    std::erase(calls_, last);
    last->settlement = nullptr;  // It owns the call.
    if (last->held.state != nullptr) {
        client_.let_go(std::exchange(last->held, {}));
    }
    client_.post(world_.now(), [last, how, record] { last->tell(how, record); });
}

void once_work::cancel(const call& one) {
    if (one->is_over) {
        return;
    }
    world_.count(fault::cancellation);
    if (one->is_running_body) {
        end(one, once_end::failed);
    } else if (one->waiting) {
        client_.cancel(*one->waiting);
    } else if (one->settlement && one->settlement->running()) {
        client_.act([&] { one->settlement->cancel(); });
    }
}

void once_work::on_delivered(settling& one) {
    const auto found = std::ranges::find(running_, &one, [](const auto& r) { return r.get(); });
    const auto last = *found;
    look();
    running_.erase(std::ranges::find(running_, last));
    last->tell(*last);
}

/// Reports the operations that have ended. Their leases may have ended too.
void once_work::look() {
    for (const auto& one : running_) {
        if (!one->running() && !std::exchange(one->ended, true)) {
            if (one->has_completed_lease()) {
                client_.on_completed(one->lease);
            } else if (one->has_ended_lease()) {
                client_.on_ended(one->lease);
            }
        }
    }
}

void once_work::stop() {
    running_.clear();
    for (const call& one : std::exchange(calls_, {})) {
        one->is_over = true;
        one->waiting = nullptr;
        one->settlement = nullptr;
        one->held = {};
    }
}

}  // namespace colock::simulation
