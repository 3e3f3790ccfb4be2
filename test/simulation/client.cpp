#include "simulation/client.hpp"

#include "support/instance_set_text.hpp"
#include "support/vote_text.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulation {

using purpose = core::lease_tag::purpose_type;

namespace {

double some_rate(world& w) {
    const double wrong = w.faults().clock_rates;
    return w.random.chance(0.3) ? (w.random.chance(0.5) ? 1 + wrong : 1 - wrong)
                                : w.random.between(1 - wrong, 1 + wrong);
}

std::string words(core::lease_tag tag) {
    static constexpr const char* names[] = {"acquire", "extend", "release", "remaining",
                                            "heal",    "raise",  "count"};
    const std::string name = names[static_cast<std::size_t>(tag.purpose())];
    return tag.purpose() == purpose::extend ? name + " #" + std::to_string(tag.round()) : name;
}

std::string words(const core::lease::action& a) {
    const bool to_all = a.targets == core::instance_set::all();
    return words(a.tag) + " to " + (to_all ? "all" : test::to_text(a.targets));
}

}  // namespace

client::client(world& w, checker& c, std::vector<std::unique_ptr<voter>>& voters, std::size_t index)
    : world_(w),
      checker_(c),
      voters_(voters),
      name_("client " + std::to_string(index)),
      clock_(some_rate(w), w.random.up_to(100h)),
      last_sent_(voters.size()) {
    for (std::size_t i = 0; i != voters.size(); ++i) {
        routes_.push_back(make_route(w, *this, *voters[i], i));
    }
}

// --- The process ------------------------------------------------------------------------------------

void client::post(true_time when, world::step what) {
    world_.at(when, [this, f = std::move(what)]() mutable { run_or_defer(std::move(f)); });
}

void client::run_or_defer(world::step what) {
    if (dead_) {
        return;
    }
    if (world_.now() < paused_until_) {
        post(paused_until_, std::move(what));
        return;
    }
    what();
}

void client::pause(duration how_long) {
    paused_until_ = std::max(paused_until_, world_.now() + how_long);
    if (world_.tracing()) {
        world_.tell(name_, "stands still for " + in_ms(how_long));
    }
}

void client::crash() {
    if (dead_) {
        return;
    }
    world_.count(fault::client_crash);
    if (world_.tracing()) {
        world_.tell(name_, "crashes");
    }
    dead_ = true;
    for (auto& one : routes_) {
        one->abandon();
    }
    for (token_life& life : lives_) {
        end(life);
    }
}

void client::close() {
    run_or_defer([this] {
        if (closing_) {
            return;
        }
        world_.count(fault::client_close);
        if (world_.tracing()) {
            world_.tell(name_, "is closed");
        }
        closing_ = true;
        for (operation& o : operations_) {
            if (o.running) {
                drive(o, core::acquire::event::cancel());
            }
        }
        for (token_life& life : lives_) {
            drive(life, life.machine.close(now()), now());
        }
    });
}

void client::expect_nothing_pending() const {
    if (dead_) {
        return;
    }
    for (const operation& o : operations_) {
        if (o.running) {
            world_.violation("liveness", name_ + " still waits for " + o.lock.key);
        }
    }
    for (const token_life& life : lives_) {
        if (!life.machine.ended()) {
            world_.violation("liveness", name_ + " has not done with token " + life.token);
        }
    }
}

// --- Its users --------------------------------------------------------------------------------------

spec client::some_spec(const std::string& key) {
    dice& random = world_.random;
    spec s;
    s.key = key;
    s.lease.instances = voters_.size();
    s.lease.ttl = core::milliseconds(100 + static_cast<int>(random.below(400)));
    s.lease.renew_interval = random.chance(0.15) ? duration{} : duration(s.lease.ttl / 3);
    s.lease.spread_renewals = true;
    s.lease.max_hold =
        random.chance(0.1) ? random.between(s.lease.ttl / 2, s.lease.ttl * 3) : duration{};
    s.lease.drift = world_.profile().drift;
    s.lease.instance_timeout = random.between(20ms, 50ms);
    s.acquire.instances = voters_.size();
    s.acquire.ttl = s.lease.ttl;
    s.acquire.drift = s.lease.drift;
    s.acquire.instance_timeout = s.lease.instance_timeout;
    s.acquire.retry = {4ms, 60ms};
    s.acquire.attempts = random.chance(0.3) ? 1 + random.below(4) : 0;
    s.acquire.unavailable_timeout = random.chance(0.3) ? random.up_to(300ms) : 10s;
    s.lease.fencing = s.acquire.fencing = random.chance(world_.faults().fenced);
    return s;
}

core::time_point client::some_deadline() {
    switch (world_.random.below(4)) {
        case 0:
            return core::time_point::min();
        case 1:
            return now() + world_.random.up_to(300ms);
        default:
            return core::never;
    }
}

void client::start(const std::vector<std::string>& keys, true_time end) {
    end_ = end;
    const std::size_t users = 1 + world_.random.below(2);
    for (std::size_t i = 0; i != users; ++i) {
        user& u = users_.emplace_back();
        u.lock = some_spec(keys[world_.random.below(keys.size())]);
        think(u, world_.random.up_to(30ms));
    }
}

void client::think(user& u, duration how_long) {
    u.waiting = nullptr;
    u.lease = nullptr;
    post(world_.now() + how_long, [this, &u] { take(u); });
}

void client::take(user& u) {
    if (world_.now() >= end_ || closing_) {
        return;
    }
    core::acquire_settings settings = u.lock.acquire;
    settings.deadline = some_deadline();
    operation& o = operations_.emplace_back(u.lock, settings, seed());
    o.started = world_.now();
    o.on_finished = [this, &u](token_life* granted) {
        if (granted != nullptr) {
            hold(u, *granted);
        } else {
            think(u, world_.random.up_to(50ms));
        }
    };
    u.waiting = &o;
    if (world_.goes_wrong(world_.faults().cancellations)) {
        const duration when =
            world_.random.chance(0.3) ? world_.random.up_to(100us) : world_.random.up_to(40ms);
        post(world_.now() + when, [this, &o] { cancel(o); });
    }
    drive(o, core::acquire::event::start());
}

operation& client::acquire(const spec& s, std::function<void(token_life*)> on_finished) {
    operation& o = operations_.emplace_back(s, s.acquire, seed());
    o.started = world_.now();
    o.on_finished = std::move(on_finished);
    drive(o, core::acquire::event::start());
    return o;
}

void client::cancel(operation& o) {
    if (!o.running) {
        return;
    }
    world_.count(fault::cancellation);
    if (world_.tracing()) {
        world_.tell(name_, "cancels its acquire of " + o.lock.key);
    }
    drive(o, core::acquire::event::cancel());
}

/// The critical section.
void client::hold(user& u, token_life& life) {
    u.lease = &life;
    life.on_lost = [this, &u, &life] { clean_up(u, life); };
    dice& random = world_.random;
    const duration ttl = u.lock.lease.ttl;
    const duration how_long = random.chance(0.5)   ? random.up_to(ttl / 10)
                              : random.chance(0.7) ? random.up_to(ttl)
                                                   : random.up_to(ttl * 3);
    if (random.chance(0.25)) {
        const duration other_ttl =
            std::chrono::duration_cast<core::milliseconds>(random.between(ttl / 2, ttl * 2));
        post(world_.now() + random.up_to(how_long), [this, &life, other_ttl] {
            if (life.machine.held() && !life.on_extended) {
                life.on_extended = [](bool) {};
                if (world_.tracing()) {
                    world_.tell(name_, "asks for a ttl of " + in_ms(other_ttl));
                }
                drive(life, life.machine.extend(other_ttl, now()), now());
            }
        });
    }
    post(world_.now() + how_long, [this, &u, &life] { let_go(u, life); });
}

/// What a holder does that has heard of the loss of its lease: it lets go at once, after a while, or never.
void client::clean_up(user& u, token_life& life) {
    if (u.lease == nullptr) {
        return;
    }
    dice& random = world_.random;
    const duration how_long = random.chance(0.3)   ? duration{}
                              : random.chance(0.7) ? random.up_to(life.lock.lease.ttl / 10)
                                                   : random.up_to(life.lock.lease.ttl * 2);
    if (random.chance(0.8)) {
        post(world_.now() + how_long, [this, &life] {
            if (life.machine.lost()) {
                release(life);
            }
        });
    }
    think(u, how_long + random.up_to(30ms));
}

void client::let_go(user& u, token_life& life) {
    if (!life.machine.held()) {
        return;
    }
    if (life.machine.may_hand_over(now()) && world_.random.chance(0.3)) {
        hand_over(u, life);
        return;
    }
    release(life);
    think(u, world_.random.up_to(30ms));
}

/// To the next in line, for whom the same user stands.
void client::hand_over(user& u, token_life& life) {
    ++world_.tally.handovers;
    if (world_.tracing()) {
        world_.tell(name_, "passes on " + life.lock.key + ", token " + life.token);
    }
    if (!life.lock.lease.fencing) {
        life.machine.hand_over(now());
        receive(life);
        hold(u, life);
        return;
    }
    pass_on(life, [this, &u, &life](bool passed) {
        if (passed) {
            hold(u, life);
        } else {
            think(u, world_.random.up_to(30ms));
        }
    });
    // Forced: it stands still until the lease is nearly over, or is.
    if (world_.faults().client_pauses > 0 && world_.goes_wrong(0.05)) {
        world_.count(fault::client_pause);
        const duration ttl = life.lock.lease.ttl;
        post(world_.now() + 20us, [this, ttl] { pause(world_.random.between(ttl / 2, ttl)); });
    }
}

void client::pass_on(token_life& life, std::function<void(bool passed)> on_passed) {
    checker_.on_passing(life);
    life.on_passed = [this, &life, tell = std::move(on_passed)](bool passed) {
        if (passed) {
            receive(life);
        }
        tell(passed);
    };
    drive(life, life.machine.pass_on(now()), now());
}

/// The lease has another holder.
void client::receive(token_life& life) {
    checker_.on_handed_over(life, life.machine.fence());
    observe(life);
}

void client::release(token_life& life) {
    if (world_.tracing()) {
        world_.tell(name_, "releases " + life.lock.key + ", token " + life.token);
    }
    end(life);
    drive(life, life.machine.release(now()), now());
}

// --- An acquire -------------------------------------------------------------------------------------

void client::drive(operation& o, core::acquire::event event) {
    using kind = core::acquire::action::kind_type;
    const core::time_point now = this->now();
    while (o.running) {
        const core::acquire::action action = o.machine.resume(event, now);
        switch (action.kind) {
            case kind::attempt:
                begin_attempt(o, now);
                break;
            case kind::raise:
                ++world_.tally.raises;
                submit(*o.life, o.life->machine.raise(o.machine.fence()), now);
                break;
            case kind::give_back:
                give_back(o, now);
                break;
            case kind::wait:
                wait(o, action.time);
                return;
            case kind::granted: {
                token_life& life = *o.life;
                life.attempt = nullptr;
                ++world_.tally.acquisitions;
                if (world_.tracing()) {
                    world_.tell(name_, "holds " + o.lock.key + ", token " + life.token +
                                           ", valid for " + in_ms(action.time - now) + ", fence " +
                                           std::to_string(o.machine.fence()));
                }
                if (o.lock.lease.fencing) {
                    checker_.on_fence(life, o.machine.fence());
                }
                drive(life, life.machine.hold(action.time, now, o.machine.fence()), now);
                finish(o, &life);
                return;
            }
            case kind::failed:
                finish(o, nullptr);
                return;
        }
        event = core::acquire::event::done();
    }
}

void client::begin_attempt(operation& o, core::time_point now) {
    if (o.life != nullptr) {
        o.life->attempt = nullptr;
        o.life->machine.detach();
    }
    const std::string token = fresh_token();
    checker_.on_fresh_token(token);
    token_life& life = lives_.emplace_back(*this, o.lock, o, token, seed());
    checker_.add(life);
    o.life = &life;
    ++world_.tally.attempts;
    submit(life, life.machine.start(), now);
}

void client::give_back(operation& o, core::time_point now) {
    token_life& life = *o.life;
    if (world_.tracing()) {
        world_.tell(name_, "gives back " + o.lock.key + ", token " + life.token);
    }
    end(life);
    drive(life, life.machine.give_back(now), now);
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        if (o.machine.asks_remaining(i)) {
            submit(life, core::lease::ask_remaining(i), now);
        }
    }
}

void client::finish(operation& o, token_life* granted) {
    o.running = false;
    const bool late = o.deadline > clock_.at(o.started) && o.deadline != core::never &&
                      now() > o.deadline + 1ms && paused_until_ < o.started;
    if (late) {
        world_.violation("deadline", name_ + " was told later than it wanted to wait");
    }
    if (granted == nullptr && o.life != nullptr) {
        o.life->attempt = nullptr;
        o.life->machine.detach();
    }
    deliver_later([&o, granted] { o.on_finished(granted); });
}

void client::wait(operation& o, core::time_point until) {
    if (until >= o.timer) {
        return;
    }
    o.timer = until;
    post(clock_.when(until), [this, &o, until] {
        if (o.timer == until && o.running) {
            o.timer = core::never;
            drive(o, core::acquire::event::timer());
        }
    });
}

// --- A lease ----------------------------------------------------------------------------------------

void client::drive(token_life& life, core::lease::action action, core::time_point now) {
    using kind = core::lease::action::kind_type;
    for (;;) {
        observe(life);
        if (life.machine.let_go() && !life.let_go) {
            // By itself: it could not be passed on; or it was lost, and still excludes all others for as long
            // as was promised.
            life.let_go = true;
            life.let_go_at = now;
            if (life.on_passed) {
                std::exchange(life.on_passed, nullptr)(false);
            }
        }
        switch (action.kind) {
            case kind::wait:
                wait(life, action.time);
                return;
            case kind::send:
                submit(life, action, now);
                break;
            case kind::extended:
                std::exchange(life.on_extended, nullptr)(action.success);
                break;
            case kind::lost:
                if (world_.tracing()) {
                    world_.tell(name_, "has lost " + life.lock.key + ", token " + life.token);
                }
                checker_.on_lost(life, action.why);
                if (life.on_lost) {
                    deliver_later(std::exchange(life.on_lost, nullptr));
                }
                break;
            case kind::passed:
                std::exchange(life.on_passed, nullptr)(true);
                break;
            case kind::resolved:
                break;
            case kind::ended:
                checker_.on_ended(life);
                return;
        }
        action = life.machine.next(now);
    }
}

/// What others may read of a lease has changed.
void client::observe(token_life& life) {
    if (!life.machine.held() || life.let_go) {
        return;
    }
    const core::renew& watchdog = life.machine.watchdog();
    world_.tally.renewals += watchdog.won() - std::exchange(life.renewals, watchdog.won());
    if (!life.counts || life.valid_until != life.machine.valid_until()) {
        checker_.on_validity(life, life.machine.valid_until());
    }
}

/// It is not to be believed any more, and to be given back.
void client::end(token_life& life) {
    checker_.on_invalid(life);
    life.let_go = true;
    life.let_go_at = now();
}

void client::wait(token_life& life, core::time_point until) {
    if (until >= life.timer) {
        return;
    }
    life.timer = until;
    post(clock_.when(until), [this, &life, until] {
        if (life.timer == until && !life.machine.ended()) {
            life.timer = core::never;
            drive(life, life.machine.on_time(now()), now());
        }
    });
}

void client::on_answer(std::size_t instance, const request& r, const core::vote& v) {
    token_life& life = *r.life;
    if (world_.tracing()) {
        world_.tell(name_, "hears from instance " + std::to_string(instance) + ": " + words(r.tag) +
                               ", token " + life.token + ", " + test::to_text(v));
    }
    --life.unanswered;
    const bool about_keys = r.tag.purpose() != purpose::raise && r.tag.purpose() != purpose::count;
    if (about_keys && v.kind == core::vote_kind::failed && core::outcome_unknown(v.reason)) {
        life.outcome_unknown = true;
    }
    const bool acquires = r.tag.purpose() == purpose::acquire;
    checker_.on_answer(life, instance, r.tag, v);
    if (acquires && v.kind == core::vote_kind::granted && life.let_go) {
        world_.count(fault::late_grant);
    }
    if (r.tag.purpose() == purpose::heal && v.kind == core::vote_kind::granted) {
        ++world_.tally.heals;
    }
    if (!life.machine.note(instance, r.tag, v)) {
        drive(life, life.machine.on_vote(instance, r.tag, v, now()), now());
    }
    if (acquires && life.machine.acquiring() && life.attempt != nullptr) {
        operation& o = *life.attempt;
        if (!o.machine.note(instance, v)) {
            drive(o, core::acquire::event::voted(instance, v));
        }
    } else if (r.tag.purpose() == purpose::raise && life.machine.acquiring() &&
               life.attempt != nullptr) {
        drive(*life.attempt, core::acquire::event::raised(instance, v));
    } else if (r.tag.purpose() == purpose::remaining && life.attempt != nullptr) {
        drive(*life.attempt, core::acquire::event::remaining(instance, v));
    }
}

void client::on_accepting(std::size_t instance) {
    for (token_life& life : lives_) {
        checker_.on_accepting(life, instance);
        drive(life, life.machine.on_accepting(instance, now()), now());
    }
}

// --- The engine -------------------------------------------------------------------------------------

std::string client::fresh_token() {
    return name_.substr(7) + "." + std::to_string(++tokens_);
}

void client::submit(token_life& life, const core::lease::action& what, core::time_point now) {
    const bool has_deadline = core::hurries(what.verb);
    checker_.on_submitted(life, what);
    life.unanswered += what.targets.count(voters_.size());
    batch_.push_back(
        {&life, what, has_deadline ? now + life.lock.lease.instance_timeout : core::never});
    schedule_turn();
    // Forced: the lease is let go in the turn in which it is to be renewed.
    if (what.tag.purpose() == purpose::extend && world_.random.chance(0.05)) {
        for (user& u : users_) {
            if (u.lease == &life) {
                post(world_.now(), [this, &u, &life] {
                    if (u.lease == &life) {
                        let_go(u, life);
                    }
                });
            }
        }
    }
}

void client::deliver_later(world::step handler) {
    handlers_.push_back(std::move(handler));
    schedule_turn();
}

void client::schedule_turn() {
    if (!turn_scheduled_) {
        turn_scheduled_ = true;
        const duration busy =
            world_.random.chance(world_.faults().slow_turns) ? world_.random.up_to(3ms) : 10us;
        post(world_.now() + busy, [this] { turn(); });
    }
}

void client::turn() {
    turn_scheduled_ = false;
    for (const auto& handler : std::exchange(handlers_, {})) {
        handler();
    }
    for (const submission& s : std::exchange(batch_, {})) {
        if (world_.tracing()) {
            world_.tell(name_, "sends " + words(s.what) + ", token " + s.life->token);
        }
        for (std::size_t i = 0; i != voters_.size(); ++i) {
            if (s.what.targets.contains(i)) {
                send(s, i);
            }
        }
    }
    // Forced: it stands still while the answers come in.
    if (world_.faults().client_pauses > 0 && world_.goes_wrong(0.005)) {
        world_.count(fault::client_pause);
        pause(world_.random.between(100ms, 900ms));
    }
}

void client::send(const submission& s, std::size_t instance) {
    request r;
    r.life = s.life;
    r.tag = s.what.tag;
    r.command.verb = s.what.verb;
    r.command.key = s.life->lock.key;
    r.command.token = s.life->token;
    r.command.fence = s.what.fence;
    r.command.heals = s.what.tag.purpose() == purpose::heal;
    r.command.ttl = std::chrono::duration_cast<core::milliseconds>(s.what.ttl);
    r.deadline = s.deadline;
    routes_[instance]->send(r);
}

bool client::send_on(std::size_t instance, connection& way, request r) {
    core::failure why = core::failure::none;
    if (!r.life->machine.wanted(instance, r.tag)) {
        why = core::failure::withdrawn;
    } else if (now() > r.deadline) {
        why = core::failure::too_late;
    } else if (!way.ready()) {
        why = core::failure::down;
    } else if (core::relies_on_memory(r.command) && now() < way.quarantined_until()) {
        why = core::failure::quarantined;
    }
    if (why != core::failure::none) {
        refuse(instance, r, why);
        return false;
    }
    checker_.on_sent(*r.life, instance, r.tag);
    r.order = ++last_sent_[instance];
    way.send(r);
    return true;
}

void client::refuse(std::size_t instance, const request& r, core::failure why) {
    if (why == core::failure::withdrawn) {
        world_.count(fault::withdrawn);
    } else if (why == core::failure::down) {
        world_.count(fault::refused);
    } else if (why == core::failure::quarantined) {
        world_.count(fault::quarantined);
    }
    on_answer(instance, r, core::vote::failed(why));
}

}  // namespace colock::simulation
