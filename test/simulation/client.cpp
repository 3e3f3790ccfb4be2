// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/client.hpp"

#include "kinds/fenced/fenced.hpp"
#include "kinds/fifo/fifo.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"

#include "support/instance_set_text.hpp"
#include "support/vote_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <utility>
#include <variant>

namespace colock::simulation {

using purpose = core::lease_tag::purpose_type;

namespace {

constexpr duration close_timeout = 500ms;
constexpr duration slowest_turn = 3ms;
constexpr duration longest_wait_of_readers = 5s;  // For their turn in the remote queue.

double some_rate(world& w) {
    const double wrong = w.faults().clock_rates;
    return w.random.chance(0.3) ? (w.random.chance(0.5) ? 1 + wrong : 1 - wrong)
                                : w.random.between(1 - wrong, 1 + wrong);
}

std::string text_of(const slot_numbers& slots) {
    std::string result;
    for (const std::uint32_t one : slots) {
        result += " " + std::to_string(one);
    }
    return result;
}

/// Returns a vote as text. A grant of permits includes their numbers.
std::string text_of(const request& r, const core::vote& v) {
    const bool has_slots =
        r.life != nullptr && r.life->is_permit() && v.kind == core::vote_kind::granted;
    return test::to_text(v) + (has_slots ? text_of(numbers_of(v)) : std::string());
}

std::vector<std::string> names_in(const kinds::command& command) {
    const std::vector<std::string_view> names = names_of(command);
    return {names.begin(), names.end()};
}

std::string name_of(purpose what) {
    static constexpr std::array names = {"acquire", "adopt", "extend", "release",   "remaining",
                                         "heal",    "raise", "retake", "next value"};
    static_assert(names.size() == static_cast<std::size_t>(purpose::next_value) + 1);
    return names[static_cast<std::size_t>(what)];
}

std::string words(const request& r) {
    if (r.record != nullptr) {
        return r.command.step == core::step::read
                   ? "read " + r.key()
                   : "write " + r.key() + " from version " + std::to_string(r.command.value) +
                         ", id " + r.token();
    }
    if (r.once != nullptr) {
        return r.command.step == core::step::look
                   ? (r.command.explains ? "inspect " : "look at ") + r.key()
                   : (r.command.heals ? "heal " : "complete ") + r.key() + " with " +
                         *r.command.values;
    }
    if (r.life == nullptr && is_in_order(r.command)) {
        const std::string place = std::to_string(r.command.place) + " of " + r.key();
        return r.command.step == core::step::leave ? "leave place " + place
               : r.command.value == 0              ? "enter at place " + place
                                                   : "keep the places from " + place;
    }
    if (r.life == nullptr) {
        return r.command.step == core::step::join       ? "join the queue of " + r.key()
               : r.command.step == core::step::leave    ? "leave the queue of " + r.key()
               : r.command.step == core::step::withdraw ? "withdraw from " + r.key()
                                                        : "remaining of " + r.key();
    }
    const core::lease_tag tag = core::lease_tag::from(r.tag);
    std::string name = name_of(tag.purpose());
    if (tag.purpose() == purpose::extend || tag.purpose() == purpose::retake) {
        name += " #" + std::to_string(tag.round());
    }
    if (r.life->is_permit()) {
        name += text_of(numbers_of(r.command));
    }
    for (const std::string_view one : r.command.more_keys) {
        name.append(" and ").append(one);
    }
    return name + ", token " + r.token();
}

/// Returns the readers' kind of a lock with these options.
const kinds::lock_kind& readers_kind(const runtime::lock_policy& policy) {
    return policy.lease.value_per_holder ? kinds::fenced_shared : kinds::shared;
}

bool is_ordered(const runtime::lock_policy& policy) {
    return policy.kind().traits().orders_waiters;
}

bool is_mutex(const runtime::lock_policy& policy) {
    return &policy.kind() == &kinds::exclusive || &policy.kind() == &kinds::fenced ||
           is_ordered(policy);
}

/// Returns an owner. Several tasks of a process may have the same one.
runtime::ownership some_owner(dice& random) {
    return random.chance(0.4) ? runtime::ownership{1 + random.below(2), random.chance(0.8)}
                              : runtime::ownership{};
}

/// Returns the expected result of a `shared_mutex` operation on a held lease. It is `done`, or the reason why
/// the lock cannot use this lease.
runtime::lease_result usable_on(const spec& readers, const token_life& life) {
    using runtime::lease_result;
    if (readers.key != life.key) {
        return lease_result::of_another_name;
    }
    const bool of_a_writer = life.policy->kind().traits().is_downgradable;
    return of_a_writer || life.is_shared() ? lease_result::done : lease_result::of_a_mutex;
}

}  // namespace

spec readers_side_of(const spec& lock) {
    spec result = lock;
    result.policy.set_kind(readers_kind(lock.policy));
    result.policy.attempt_interval = {};
    return result;
}

// --- An acquire -------------------------------------------------------------------------------------

acquiring::acquiring(client& by, std::shared_ptr<const runtime::lock_spec> spec, true_time now,
                     core::time_point until, std::uint64_t owner, handler on_finished)
    : acquire_operation(std::move(spec), until, owner),
      started(now),
      deadline(until),
      first_since(by.now()),
      client_(by),
      on_finished_(std::move(on_finished)) {}

void acquiring::deliver() {
    const holding got = granted() ? holding{current(), holder()} : holding{};
    client_.on_delivered(*this, on_finished_, got);
}

const std::string& acquiring::token() {
    if (current() != nullptr) {
        token_ = current()->token();
    }
    return token_;
}

/// Connects the engine to an instance through a route of the client.
class client::door final : public instance::instance {
public:
    door(client& c, std::size_t index) : client_(c), index_(index) {}

    void start() override {}
    void stop() override {
        client_.stopped_ = true;
        client_.routes_[index_]->close();
    }
    void send(const std::shared_ptr<const colock::instance::batch>& commands,
              core::time_point /*now*/) override {
        client_.send(index_, *commands);
    }
    [[nodiscard]] bool ready() const noexcept override {
        return !client_.stopped_ && client_.routes_[index_]->ready();
    }
    [[nodiscard]] bool takes_commands(core::time_point /*now*/) const override {
        return !client_.stopped_ && client_.routes_[index_]->connected();
    }
    [[nodiscard]] bool starting() const noexcept override { return false; }
    [[nodiscard]] std::size_t room() const noexcept override {
        return ready() ? client_.flows_[index_].room() : unlimited;
    }
    [[nodiscard]] std::uint64_t keeper_id() const noexcept override {
        return ready() ? client_.routes_[index_]->keeper_id() : 0;
    }
    [[nodiscard]] colock::instance::status snapshot() const override { return {}; }

private:
    client& client_;
    std::size_t index_;
};

// --- The process ------------------------------------------------------------------------------------

client::client(world& w, checker& c, std::vector<std::unique_ptr<voter>>& voters, std::size_t index)
    : world_(w),
      checker_(c),
      voters_(voters),
      name_("client " + std::to_string(index)),
      clock_(some_rate(w), w.random.up_to(100h)),
      last_sent_(voters.size()),
      flows_(voters.size()),
      records_(w, *this),
      once_(w, *this) {
    runtime::engine_settings settings;
    settings.drift = w.profile().drift;
    settings.instance_timeout = instance_timeout;
    settings.close_timeout = close_timeout;
    if (index % 2 == 1) {  // The others run as without an observer.
        settings.receiver = listener_ = std::make_shared<listener>();
    }
    engine_ =
        std::make_shared<runtime::engine>(static_cast<runtime::environment&>(*this), settings);
    runtime::instance_group::list instances;
    for (std::size_t i = 0; i != voters.size(); ++i) {
        routes_.push_back(make_route(w, *this, *voters[i], i));
        instances.push_back(std::make_unique<door>(*this, i));
    }
    engine_->take(std::move(instances));
    engine_->start();
    for (std::size_t i = 0; i != voters.size(); ++i) {
        engine_->observer().on_state_change(i);
    }
}

client::~client() {
    if (!dead_) {
        engine_->abandon();
    }
}

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
    checker_.on_dead(*this);
    engine_->abandon();
    operations_.clear();
    adoptions_.clear();
    downgrades_.clear();
    shares_.clear();
    releases_.clear();
    leases_.clear();
    entries_.clear();
    records_.stop();
    once_.stop();
    users_.clear();
}

void client::close() {
    run_or_defer([this] {
        if (engine_->closing()) {
            return;
        }
        world_.count(fault::client_close);
        if (world_.tracing()) {
            world_.tell(name_, "is closed");
        }
        closing_since_ = now();
        enter([this] { engine_->close(); });
    });
}

duration client::longest_wait(const std::string& key) const {
    duration result{};
    for (const auto& one : operations_) {
        if (!dead_ && one->running() && one->spec().key == key) {
            result = std::max(result, world_.now() - std::max(one->started, paused_until_));
        }
    }
    return result;
}

const runtime::lock_spec* client::first_wish(const std::string& key) const {
    for (const auto& one : operations_) {
        if (!dead_ && one->running() && one->spec().key == key) {
            return &one->spec();
        }
    }
    return nullptr;
}

client_waiters client::waiters_for(const std::string& key) const {
    constexpr duration settled = 100ms;
    client_waiters result{name_, number()};
    result.holds = !dead_ && std::ranges::any_of(leases_, [&](const tracked& one) {
        return one.life->key == key && !one.life->lost && !one.life->let_go;
    });
    for (const auto& one : operations_) {
        if (dead_ || !one->running() || one->spec().key != key || one->place() == 0) {
            continue;
        }
        result.waiting.insert(one->place());
        // During a quarantine nobody is granted, and a waiter may have no place.
        const bool is_quarantined =
            one->machine() != nullptr && one->machine()->waits_for_quarantine();
        if (!is_quarantined && std::max(one->started, paused_until_) + settled < world_.now()) {
            result.settled.insert(one->place());
        }
    }
    return result;
}

void report_outages(voter& one, std::size_t index,
                    const std::vector<std::unique_ptr<client>>& clients) {
    one.on_down = [&clients, index](std::size_t node) {
        for (const auto& c : clients) {
            c->to(index).reset(node, std::nullopt);
        }
    };
    one.on_failover_message = [&clients, index](std::size_t sentinel) {
        for (const auto& c : clients) {
            c->to(index).on_failover_message(sentinel);
        }
    };
}

bool waits_in(const std::vector<std::unique_ptr<client>>& clients, const std::string& key,
              const stored_waiter& one) {
    return std::ranges::any_of(clients, [&](const auto& each) {
        const client_waiters its = each->waiters_for(key);
        return its.number == one.client && its.waiting.contains(one.place);
    });
}

void client::expect_nothing_pending() const {
    if (dead_) {
        return;
    }
    for (const auto& one : operations_) {
        world_.violation("liveness", name_ + " still waits for " + one->spec().key);
    }
    if (!adoptions_.empty()) {
        world_.violation("liveness", name_ + " has been told nothing of an adoption");
    }
    if (records_.running() != 0) {
        world_.violation("liveness", name_ + " has been told nothing of a read or a write");
    }
    if (once_.running() != 0) {
        world_.violation("liveness", name_ + " has been told nothing of a call of once");
    }
    if (!downgrades_.empty()) {
        world_.violation("liveness", name_ + " has been told nothing of a downgrade");
    }
    if (!shares_.empty()) {
        world_.violation("liveness", name_ + " has been told nothing of a share");
    }
    if (engine_->parts().counts.releasing != 0 && !engine_->closed()) {
        world_.violation("liveness", name_ + " has not done with a token");
    }
}

// --- The world of its engine ------------------------------------------------------------------------

void client::defer() {
    const duration busy =
        world_.random.chance(world_.faults().slow_turns) ? world_.random.up_to(slowest_turn) : 10us;
    post(world_.now() + busy, [this, submitted = now()] {
        submitted_since_ = submitted;
        enter([this] { run_turn(); });
        // Forced: the client pauses while the replies arrive.
        if (world_.faults().client_pauses > 0 && world_.goes_wrong(0.005)) {
            world_.count(fault::client_pause);
            pause(world_.random.between(100ms, 900ms));
        }
    });
    // Forced: a lease is released in the turn in which its renewal is due.
    if (!users_.empty() && world_.random.chance(0.01)) {
        post(world_.now(), [this] { finish(users_[world_.random.below(users_.size())]); });
    }
}

/// Runs a turn, and checks that the listener knows all that was counted before it.
void client::run_turn() {
    const event_counts counted(engine_->parts().counts);
    engine_->turn();
    if (listener_ && !dead_ && listener_->told != counted) {
        world_.violation("told", name_ + " has counted " + counted.text() + ", and told " +
                                     listener_->told.text());
    }
}

void client::wake_at(core::time_point when) {
    const std::uint64_t number = ++wake_number_;
    if (when != core::never) {
        post(clock_.when(when), [this, number] {
            if (number == wake_number_) {
                enter([this] { engine_->wake(); });
            }
        });
    }
}

// --- Its users --------------------------------------------------------------------------------------

spec client::some_spec(const resource& of) {
    dice& random = world_.random;
    spec s;
    s.key = of.key;
    runtime::lock_policy& p = s.policy;
    p.lease.instances = voters_.size();
    p.lease.ttl = core::milliseconds(100 + static_cast<int>(random.below(400)));
    p.lease.renew_interval = random.chance(0.15) ? duration{} : duration(p.lease.ttl / 3);
    p.lease.spread_renewals = true;
    p.lease.max_hold =
        random.chance(0.1) ? random.between(p.lease.ttl / 2, p.lease.ttl * 3) : duration{};
    p.lease.drift = world_.profile().drift;
    p.lease.instance_timeout = random.between(20ms, 50ms);
    const bool fences = random.chance(world_.faults().fenced);
    if (random.chance(0.5)) {
        p.set_kind(fences ? kinds::fenced : kinds::exclusive);
    } else if (random.chance(0.4)) {
        p.set_kind(fences ? kinds::fenced_writer : kinds::writer);
        p.attempt_interval = kinds::writer_mark_ttl / 2;
    } else {
        p.set_kind(fences ? kinds::fenced_shared : kinds::shared);
    }
    if (of.limit != 0) {
        choose_permits(p, of.limit);
    }
    p.retry = {4ms, longest_backoff};
    p.attempts = random.chance(0.3) ? 1 + random.below(4) : 0;
    p.unavailable_timeout = random.chance(0.3) ? random.up_to(300ms) : 10s;
    p.handoff = {random.below(5), random.up_to(100ms)};
    if (of.is_ordered && random.chance(0.95)) {
        p.set_kind(fences ? kinds::fenced_fifo : kinds::fifo);
        choose_order(p);
    }
    if (!several_.empty() && random.chance(0.5)) {
        choose_names(s);
    }
    if (is_mutex(p)) {
        s.who = some_owner(random);
    }
    return s;
}

/// Chooses the names of a lock with several names, in their order.
void client::choose_names(spec& s) {
    std::vector<std::string> names{s.key};
    for (const std::string& one : several_) {
        if (one != s.key && world_.random.chance(0.6)) {
            names.push_back(one);
        }
    }
    if (names.size() != 1) {
        std::ranges::sort(names);
        s.key = names.front();
        s.more_names.assign(names.begin() + 1, names.end());
        s.policy.set_kind(kinds::multi);
    }
}

/// Chooses the options as src/api/lock_handle.cpp does.
void client::choose_order(runtime::lock_policy& p) {
    p.place_refresh = core::queue_place_settings::refresh_for(p.retry.maximum);
}

/// Chooses a semaphore. Some users choose a different limit, or keep the lock that they already have.
void client::choose_permits(runtime::lock_policy& p, std::uint32_t limit) {
    constexpr std::size_t most_wanted = 3;
    constexpr std::uint32_t most_permits = 4;
    dice& random = world_.random;
    if (random.chance(0.03)) {
        return;
    }
    const std::uint32_t its = random.chance(0.04) ? limit % most_permits + 1 : limit;
    const std::size_t count = 1 + random.below(std::min<std::size_t>(its, most_wanted));
    p.set_kind(kinds::semaphore(its, random.chance(0.5) ? 1 : static_cast<std::uint32_t>(count)));
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

void client::start(const std::vector<resource>& resources, bool takes_several, true_time end) {
    end_ = end;
    if (takes_several) {
        std::ranges::transform(resources, std::back_inserter(several_), &resource::key);
    }
    if (world_.faults().crowd != 0) {
        return;
    }
    const std::size_t users = 1 + world_.random.below(3);
    for (std::size_t i = 0; i != users; ++i) {
        user& u = users_.emplace_back();
        const resource& of = resources[world_.random.below(resources.size())];
        const auto same =
            std::ranges::find(users_, of.key, [](const user& one) { return one.lock.key; });
        const bool shares = same != users_.end() && &*same != &u && world_.random.chance(0.7);
        u.lock = shares ? same->lock : some_spec(of);  // A hand-off requires equal options.
        if (shares && u.lock.policy.kind().announces() && world_.random.chance(0.5)) {
            u.lock = readers_side_of(u.lock);
        }
        if (shares && is_mutex(u.lock.policy) && world_.random.chance(0.5)) {
            u.lock.who = some_owner(world_.random);
        }
        think(u, world_.random.up_to(30ms));
    }
}

void client::start_crowd(std::size_t size) {
    for (std::size_t i = 0; i != size; ++i) {
        spec s;
        s.key = name_ + " " + std::to_string(i);
        runtime::lock_policy& p = s.policy;
        p.lease.instances = voters_.size();
        p.lease.ttl = 400ms;
        p.lease.renew_interval = p.lease.ttl / 3;
        p.lease.spread_renewals = true;
        p.lease.drift = world_.profile().drift;
        p.lease.instance_timeout = instance_timeout;
        p.retry = {4ms, longest_backoff};
        p.unavailable_timeout = 300ms;
        const bool holds = i < 3;  // Held during the whole load, which must not cause a loss.
        post(world_.now() + world_.random.up_to(5ms), [this, s, holds] { be_served(s, holds); });
    }
}

void client::be_served(const spec& s, bool holds) {
    if (world_.now() >= end_) {
        return;
    }
    acquire(s, [this, s, holds](const holding& granted) {
        if (granted.state == nullptr) {
            world_.violation("goodput", name_ + " did not get " + s.key + ", which is free");
            return;
        }
        ++world_.tally.served;
        post(holds ? std::max(end_, world_.now()) : world_.now(), [this, s, holds, granted] {
            let_go(granted);
            when_sent(granted, [this, s, holds] { be_served(s, holds); });
        });
    });
}

/// Calls `then` when the release has been sent. The send windows may be full until then.
void client::when_sent(const holding& released, std::function<void()> then) {
    const token_life& life = life_of(released);
    if (life.release_asked_for && !life.let_go && !life.lost) {
        post(world_.now() + 1ms, [this, released, then] { when_sent(released, then); });
    } else {
        post(world_.now(), then);
    }
}

void client::think(user& u, duration how_long) {
    u.waiting = nullptr;
    u.lease = {};
    post(world_.now() + how_long, [this, &u] { take(u); });
}

void client::take(user& u) {
    if (world_.now() >= end_ || engine_->closing()) {
        return;
    }
    u.waiting = acquire(u.lock, some_deadline(), [this, &u](const holding& granted) {
        u.waiting = nullptr;
        if (granted.state != nullptr) {
            hold(u, granted);
        } else {
            think(u, world_.random.up_to(50ms));
        }
    });
    if (world_.goes_wrong(world_.faults().cancellations)) {
        const duration when =
            world_.random.chance(0.3) ? world_.random.up_to(100us) : world_.random.up_to(40ms);
        post(world_.now() + when, [this, o = u.waiting] { cancel(*o); });
    }
}

std::shared_ptr<acquiring> client::acquire(const spec& s, core::time_point deadline,
                                           acquiring::handler on_finished) {
    const auto made = std::make_shared<acquiring>(*this, lock_of(s), world_.now(), deadline,
                                                  s.who.owner, std::move(on_finished));
    made->fences_before = checker_.fences_so_far(s.key);
    operations_.push_back(made);
    enter([&] {
        const entering expected = expected_of(s);
        made->start(made);
        expect_entering(*made, expected);
    });
    return made;
}

holding client::reenter(const spec& s) {
    holding result;
    enter([&] {
        const bool enters = s.who.reenters && expected_of(s) == entering::enters;
        if (auto state = engine_->parts().queues.reenter(*lock_of(s), s.who)) {
            const std::uint32_t number = state->holder();
            result = {std::move(state), number};
            if (tracked* const lease = find_tracked(result)) {
                enter_again(*lease, result, s);
            }
        }
        if (enters != (result.state != nullptr)) {
            world_.violation("one owner", name_ + (enters ? " may not enter " : " may enter ") +
                                              s.key + " at once");
        }
    });
    return result;
}

std::shared_ptr<const runtime::lock_spec> client::lock_of(const spec& s) {
    auto lock = std::make_shared<runtime::lock_spec>();
    lock->owner = {engine_, &engine_->parts()};
    lock->policy = std::make_shared<const runtime::lock_policy>(s.policy);
    lock->key = s.key;
    lock->key_hash = runtime::hash_of_key(s.key);
    lock->more_names = s.more_names;
    lock->more_keys.assign(lock->more_names.begin(), lock->more_names.end());
    lock->is_reentrant = s.who.reenters;
    return lock;
}

void client::cancel(acquiring& o) {
    if (!o.running()) {
        return;
    }
    world_.count(fault::cancellation);
    if (world_.tracing()) {
        world_.tell(name_, "cancels its acquire of " + o.spec().key);
    }
    enter([&o] { o.cancel(); });
}

void client::on_delivered(acquiring& o, const acquiring::handler& tell, const holding& granted) {
    const auto found =
        std::ranges::find(operations_, &o, [](const auto& one) { return one.get(); });
    const auto last = *found;
    if (!o.ended) {
        look_at_downgrades();  // A downgrade may have let it in.
        look_at(o);
    }
    operations_.erase(found);
    tell(granted);
}

/// The critical section.
void client::hold(user& u, const holding& granted) {
    u.lease = granted;
    on_loss(granted, [this, &u, granted] {
        if (u.lease.state == granted.state && u.lease.holder == granted.holder) {
            clean_up(u, granted);
        }
    });
    dice& random = world_.random;
    const duration ttl = u.lock.policy.lease.ttl;
    const duration how_long = random.chance(0.5)   ? random.up_to(ttl / 10)
                              : random.chance(0.7) ? random.up_to(ttl)
                                                   : random.up_to(ttl * 3);
    if (random.chance(0.25)) {
        const duration other_ttl =
            std::chrono::duration_cast<core::milliseconds>(random.between(ttl / 2, ttl * 2));
        post(world_.now() + random.up_to(how_long), [this, granted, other_ttl] {
            if (granted.held()) {
                extend(granted, other_ttl);
            }
        });
    }
    const kinds::kind_traits& kind = u.lock.policy.kind().traits();
    const bool may_read = kind.is_downgradable || kind.admission.shares_lease();
    for (std::size_t i = random.below(may_read ? 4 : 2); i != 0; --i) {
        post(world_.now() + random.up_to(how_long), [this, &u, granted] { read_on(u, granted); });
    }
    for (std::size_t i = u.lock.who.is_known() ? random.below(4) : 0; i != 0; --i) {
        post(world_.now() + random.up_to(how_long), [this, outer = u.lock] { nest(outer); });
    }
    post(world_.now() + how_long, [this, &u, granted] {
        if (u.lease.state == granted.state && u.lease.holder == granted.holder) {
            finish(u);
        }
    });
}

/// Calls a nested function with the task's owner, which acquires the lock too. It may use different options
/// or a mutex. The task may or may not still hold the lock by then.
void client::nest(const spec& outer) {
    dice& random = world_.random;
    if (world_.now() >= end_ || engine_->closing()) {
        return;
    }
    spec s = outer;
    if (random.chance(0.2)) {
        s.who.reenters = !s.who.reenters;
    }
    if (random.chance(0.2)) {
        s.policy.lease.ttl = core::milliseconds(100 + static_cast<int>(random.below(400)));
        s.policy.lease.max_hold = random.chance(0.3) ? s.policy.lease.ttl / 2 : duration{};
        s.policy.lease.renew_interval = s.policy.lease.ttl / 3;
        const bool is_other = random.chance(0.2);
        s.policy.set_kind(!is_other                  ? outer.policy.kind()
                          : is_ordered(outer.policy) ? kinds::fenced_fifo
                                                     : kinds::fenced);
    }
    const duration ttl = s.policy.lease.ttl;
    const auto hold_it = [this, ttl](const holding& h) {
        if (h.state == nullptr) {
            return;
        }
        if (world_.random.chance(0.3)) {
            extend(h, std::chrono::duration_cast<core::milliseconds>(
                          world_.random.between(ttl / 2, ttl * 2)));
        }
        hold_share(h, world_.random.up_to(world_.random.chance(0.5) ? ttl / 10 : ttl));
        if (world_.random.chance(0.05) && h.held()) {
            abandon(h);
        }
    };
    if (random.chance(0.3)) {
        hold_it(reenter(s));
    } else {
        acquire(s, some_deadline(), [this, hold_it](const holding& h) {
            post(world_.now(), [hold_it, h] { hold_it(h); });
        });
    }
}

/// A task downgrades its lease, or requests a share. Sometimes it names another key or has other options.
void client::read_on(user& u, const holding& h) {
    dice& random = world_.random;
    spec readers = readers_side_of(u.lock);
    const duration ttl = readers.policy.lease.ttl;
    if (random.chance(0.05)) {
        readers.key += " of something else";
    } else if (random.chance(0.3)) {  // With other options, which another user may have too.
        readers.policy = readers_side_of(users_[random.below(users_.size())].lock).policy;
    }
    if (random.chance(life_of(h).is_shared() ? 0.7 : 0.1)) {
        share(h, readers, [this, ttl](const holding& another) {
            if (another.held()) {
                hold_share(another, world_.random.up_to(ttl));
            }
        });
    } else {
        downgrade(h, readers);
        if (random.chance(0.2)) {
            downgrade(h, readers_side_of(u.lock));
        }
        if (random.chance(0.2)) {  // The lease is released at about the same time.
            post(world_.now() + random.up_to(4ms), [this, &u, h] {
                if (u.lease.state == h.state && u.lease.holder == h.holder) {
                    finish(u);
                }
            });
        }
    }
}

/// Holds a share. It is released independently of the others.
void client::hold_share(const holding& h, duration how_long) {
    on_loss(h, [this, h] {
        if (world_.random.chance(0.8)) {
            let_go(h);
        }
    });
    post(world_.now() + how_long, [this, h] {
        if (h.held()) {
            let_go(h);
        }
    });
}

/// Reacts to the loss of a lease. The holder releases it immediately, after a while, or never.
void client::clean_up(user& u, const holding& h) {
    dice& random = world_.random;
    const duration ttl = u.lock.policy.lease.ttl;
    const duration how_long = random.chance(0.3)   ? duration{}
                              : random.chance(0.7) ? random.up_to(ttl / 10)
                                                   : random.up_to(ttl * 2);
    if (random.chance(0.8)) {
        post(world_.now() + how_long, [this, h] { let_go(h); });
    }
    think(u, how_long + random.up_to(30ms));
}

void client::finish(user& u) {
    if (u.lease.held()) {
        const holding h = u.lease;
        think(u, world_.random.up_to(30ms));
        if (on_detached && !life_of(h).release_asked_for && world_.random.chance(0.2)) {
            if (const auto text = detach(h)) {
                on_detached(*text);
                return;
            }
            if (h.lost()) {
                return;  // See `clean_up`.
            }
        }
        if (world_.random.chance(0.05)) {
            abandon(h);
        } else {
            let_go(h);
        }
    }
}

/// An operation on a lease, with an optional callback for its caller.
template <typename Operation>
class called final : public Operation {
public:
    template <typename... More>
    static std::shared_ptr<called> start(const holding& h, std::function<void()> tell,
                                         More... more) {
        const auto made = std::make_shared<called>(h.state, h.holder, more...);
        made->tell_ = std::move(tell);
        Operation& operation = *made;
        operation.start(made);
        return made;
    }
    using Operation::Operation;

    void deliver() override {
        if (tell_ && Operation::result() == runtime::lease_result::ended) {
            tell_();
        }
    }

private:
    std::function<void()> tell_;
};

void client::extend(const holding& h, duration ttl) {
    if (world_.tracing()) {
        world_.tell(name_, "asks for a ttl of " + in_ms(ttl));
    }
    enter([&] { called<runtime::extend_operation>::start(h, nullptr, ttl); });
}

void client::on_loss(const holding& h, std::function<void()> tell) {
    enter([&] { called<runtime::loss_operation>::start(h, std::move(tell)); });
}

token_life& client::life_of(const holding& h) const {
    return *checker_.find(std::string(h.state->token()), *this, h.state.get());
}

client::tracked* client::find_tracked(const holding& h) {
    const auto found = std::ranges::find(leases_, h.state, &tracked::state);
    return found == leases_.end() ? nullptr : &*found;
}

void client::expect_result(const std::string& what, runtime::lease_result result, const holding& h,
                           runtime::lease_result if_held) {
    using runtime::lease_result;
    const lease_result expected = h.lost()    ? lease_result::ended
                                  : !h.held() ? lease_result::not_held
                                              : if_held;
    if (result != expected) {
        world_.violation("operation", name_ + " was told of a wrong end of its " + what + " of " +
                                          life_of(h).key + ": " +
                                          std::to_string(static_cast<int>(result)));
    }
}

std::shared_ptr<downgrading> client::downgrade(const holding& h, const spec& readers) {
    token_life& life = life_of(h);
    using runtime::lease_result;
    lease_result if_held = usable_on(readers, life);
    if (if_held == lease_result::done &&
        readers.policy.lease.value_per_holder != life.policy->kind().traits().value_per_holder) {
        if_held = lease_result::fenced_otherwise;
    }
    if (world_.tracing()) {
        world_.tell(name_, "asks to go on as a reader of " + life.key + ", token " + life.token);
    }
    const auto made = std::make_shared<downgrading>(h, lock_of(readers), world_.now());
    downgrades_.push_back(made);
    enter([&] {
        made->start(made);
        const bool begun = made->running();
        if (!begun || !h.held() || if_held != lease_result::done) {
            expect_result("downgrade", begun ? lease_result::done : made->result(), h, if_held);
        } else if (!life.is_shared()) {
            checker_.on_downgrading(life);
            find_tracked(h)->holders = {h.holder};
        }
        expect_side(h);
    });
    return made;
}

/// Checks that the lease reports the right side, reader or writer.
void client::expect_side(const holding& h) {
    const token_life& life = life_of(h);
    if (h.held() && h.state->is_shared(h.holder) != life.is_shared()) {
        world_.violation("operation", name_ + " takes its lease of " + life.key + " for a " +
                                          (life.is_shared() ? "writer's" : "reader's"));
    }
}

void client::share(const holding& h, const spec& readers,
                   std::function<void(const holding&)> tell) {
    token_life& life = life_of(h);
    const auto made = std::make_shared<sharing>(h, lock_of(readers), world_.now(),
                                                checker_.fences_so_far(life.key), std::move(tell));
    holding another;
    enter([&] {
        using runtime::lease_result;
        made->start(made);
        const lease_result usable = usable_on(readers, life);
        const bool of_a_writer = usable == lease_result::done && !life.is_shared();
        expect_result("share", made->running() ? lease_result::done : made->result(), h,
                      of_a_writer ? lease_result::not_a_readers : usable);
        expect_side(h);
        if (made->running()) {
            shares_.push_back(made);
        } else {
            another = look_at(*made);
        }
    });
    if (!made->running()) {
        made->tell(another);
    }
}

/// Records the result of the share, and returns the new holder.
holding client::look_at(const sharing& one) {
    if (one.result() != runtime::lease_result::done) {
        return {};
    }
    token_life& life = life_of(one.from);
    const holding another{one.from.state, one.new_holder()};
    checker_.on_share_asked_for(life, another.state->valid_until(another.holder));
    if (life.policy->lease.value_per_holder) {
        checker_.on_share_fence(life, one.fence(), one.fences_before);
    }
    find_tracked(another)->holders.insert(another.holder);
    ++world_.tally.shares;
    if (world_.tracing()) {
        world_.tell(name_, "shares " + life.key + ", token " + life.token);
    }
    return another;
}

/// Checks that a share ends with its rounds or with its lease.
void client::look_at_shares() {
    constexpr duration longest = 400ms;  // Covers several rounds.
    for (const auto& one : shares_) {
        if (!one->running()) {
            post(world_.now(), [one, another = look_at(*one)] { one->tell(another); });
        } else if (std::max(one->started, paused_until_) + longest < world_.now()) {
            world_.violation("liveness",
                             name_ + " has not ended a share of " + life_of(one->from).key);
        }
    }
    std::erase_if(shares_, [](const auto& one) { return !one->running(); });
}

void client::let_go(const holding& h) {
    token_life& life = life_of(h);
    const tracked* const lease = find_tracked(h);
    const bool is_holder = lease != nullptr && lease->holders.contains(h.holder);
    const bool is_several = life.is_shared() || (lease != nullptr && lease->who.reenters);
    if (leaves_others(h) && is_several) {
        if (world_.tracing()) {
            world_.tell(name_, "lets go of its share of " + life.key + ", token " + life.token);
        }
        const auto release = [this, h] {
            enter([&] {
                if (world_.random.chance(0.5)) {
                    h.state->let_go(h.holder);
                } else {
                    called<runtime::release_operation>::start(h, nullptr);
                }
            });
        };
        release();
        if (world_.random.chance(0.1)) {  // Forced: a second release has no effect.
            post(world_.now() + world_.random.up_to(20ms), release);
        }
        return;
    }
    if (life.let_go || !(is_holder || life.release_asked_for)) {
        enter([&h] { h.state->let_go(h.holder); });
        checker_.on_released(life);  // It has ended already.
        return;
    }
    if (world_.tracing()) {
        world_.tell(name_, "lets go of " + life.key + ", token " + life.token);
    }
    bool handing_off = false;
    std::shared_ptr<releasing> release;
    enter([&] {
        const std::uint64_t held = engine_->parts().counts.held;
        if (world_.random.chance(0.5)) {
            h.state->let_go(h.holder);
        } else {
            release = std::make_shared<releasing>(h);
            release->start(release);
        }
        if (life.release_asked_for || (release && release->waits_to_be_sent())) {
            checker_.on_release_asked_for(life);
            return;
        }
        if (life.is_shared()) {
            checker_.on_released(life);
            return;
        }
        if (h.state->holder() != h.holder) {
            return;  // It was already handed off.
        }
        handing_off = !h.lost() && engine_->parts().counts.held == held;
        if (handing_off) {
            checker_.on_handoff(life);
        } else {
            checker_.on_released(life);
        }
    });
    if (release && !handing_off && (life.let_go || life.release_asked_for)) {
        releases_.push_back(release);
    }
    // Forced: the holder releases again. This must have no effect, even if the lease has another holder by
    // then.
    if (world_.random.chance(0.1)) {
        post(world_.now() + world_.random.up_to(20ms), [this, h, release] {
            if (!life_of(h).release_asked_for) {
                enter([&h] { h.state->let_go(h.holder); });
            } else if (release && world_.random.chance(0.5)) {
                enter([&release] { release->cancel(); });
            } else {
                let_go(h);
            }
        });
    }
    // Forced: the client pauses until the validity is nearly over, or is over.
    if (handing_off && world_.faults().client_pauses > 0 && world_.goes_wrong(0.05)) {
        world_.count(fault::client_pause);
        const duration ttl = life.policy->lease.ttl;
        post(world_.now() + 20us, [this, ttl] { pause(world_.random.between(ttl / 2, ttl)); });
    }
}

/// Checks the releases that have ended, at the moment of their outcome.
void client::look_at_releases() {
    std::erase_if(releases_, [this](const auto& one) {
        if (!one->running()) {
            checker_.on_release_told(life_of(one->lease), one->result(), one->outcome());
        }
        return !one->running();
    });
}

/// Abandons a held lease.
void client::abandon(const holding& h) {
    token_life& life = life_of(h);
    const bool stays = leaves_others(h);
    if (world_.tracing()) {
        world_.tell(name_, (stays ? "abandons its share of " : "abandons ") + life.key +
                               ", token " + life.token);
    }
    enter([&] {
        h.state->abandon(h.holder);
        if (!stays) {
            checker_.on_abandoned(life);
        }
    });
}

void client::on_completed(const holding& h) {
    leaves_others(h);
    checker_.on_completed(life_of(h));
}

void client::on_ended(const holding& h) {
    leaves_others(h);
    token_life& life = life_of(h);
    if (!life.lost) {
        checker_.on_released(life);
    }
}

namespace {

/// An operation that detaches a lease. Its caller reads the result immediately.
class detaching final : public runtime::handover_operation {
public:
    using handover_operation::handed_over;
    using handover_operation::handover_operation;
    using handover_operation::result;
    void deliver() override {}
};

/// Returns the lock kind, as src/api/adopt.cpp does.
const kinds::lock_kind& kind_of(const runtime::handover& lease) {
    for (const kinds::lock_kind* const one :
         {&kinds::exclusive, &kinds::fenced, &kinds::shared, &kinds::fenced_shared, &kinds::writer,
          &kinds::fenced_writer, &kinds::multi}) {
        if (one->traits().name == lease.kind) {
            return *one;
        }
    }
    const permit_wish wish = wish_of(lease.token);
    return kinds::semaphore(wish.limit, wish.count);
}

}  // namespace

std::optional<std::string> client::detach(const holding& h) {
    using runtime::lease_result;
    token_life& life = life_of(h);
    const tracked* const lease = find_tracked(h);
    const bool is_several = lease != nullptr && lease->holders.size() > 1;
    const bool is_over = h.held() && h.state->is_over(now());
    const lease_result expected = h.lost() || is_over ? lease_result::ended
                                  : !h.held()         ? lease_result::not_held
                                  : is_several        ? lease_result::shared_by_others
                                                      : lease_result::done;
    const auto made = std::make_shared<detaching>(h.state, h.holder);
    if (world_.tracing()) {
        world_.tell(name_, "detaches " + life.key + ", token " + life.token);
    }
    enter([&] {
        made->start(made);
        if (made->running() || made->result() != expected) {
            world_.violation("operation",
                             name_ + " was told of a wrong end of a detach of " + life.key);
        }
        if (expected == lease_result::done) {
            leaves_others(h);
            ++world_.tally.detached;
            checker_.on_detached(life, made->handed_over());
            checker_.on_abandoned(life);
        }
    });
    if (made->running() || made->result() != lease_result::done) {
        return std::nullopt;
    }
    return runtime::to_text(made->handed_over());
}

spec client::spec_for(const runtime::handover& lease) {
    spec result = some_spec({lease.keys.front(), 0, false});
    result.who = {};
    result.more_names.assign(lease.keys.begin() + 1, lease.keys.end());
    result.key = lease.keys.front();
    result.policy.set_kind(kind_of(lease));
    return result;
}

std::shared_ptr<adopting> client::adopt(const std::string& text, const std::optional<spec>& as,
                                        adopting::handler on_finished) {
    const auto parsed = runtime::parse_handover(text);
    const auto* const lease = std::get_if<runtime::handover>(&parsed);
    if (lease == nullptr) {
        world_.violation("adopted", "no lease is in " + text);
        return nullptr;
    }
    if (world_.tracing()) {
        world_.tell(name_, "adopts " + text);
    }
    const auto made = std::make_shared<adopting>(*this, lock_of(as ? *as : spec_for(*lease)),
                                                 std::make_shared<runtime::handover>(*lease),
                                                 std::move(on_finished));
    adoptions_.push_back(made);
    enter([&] { made->start(made); });
    return made;
}

void client::take_over(const std::string& text, const std::function<void()>& tell) {
    run_or_defer([this, text, tell] {
        if (engine_->closing()) {
            tell();
            return;
        }
        const auto made = adopt(text, std::nullopt, [this, tell](const holding& h, bool is_lost) {
            if (h.state == nullptr) {
                if (!is_lost) {
                    tell();
                }
                return;
            }
            hold_share(h, world_.random.up_to(200ms));
            if (world_.random.chance(0.2)) {
                post(world_.now() + world_.random.up_to(50ms), [this, h] {
                    if (!h.held() || life_of(h).release_asked_for) {
                        return;
                    }
                    if (const auto again = detach(h)) {
                        on_detached(*again);
                    }
                });
            }
        });
        if (world_.goes_wrong(world_.faults().cancellations)) {
            post(world_.now() + world_.random.up_to(5ms), [this, made] {
                if (made->running()) {
                    enter([&] { made->cancel(); });
                }
            });
        }
    });
}

void adopting::deliver() {
    client_.on_delivered(*this);
}

void client::on_delivered(adopting& o) {
    const auto found = std::ranges::find(adoptions_, &o, [](const auto& one) { return one.get(); });
    const auto last = *found;
    if (!o.ended) {
        look_at(o);
    }
    adoptions_.erase(found);
    o.tell(o.granted() ? holding{o.current(), o.holder_number()} : holding{},
           o.result() == core::acquire_outcome::lease_lost);
}

void client::look_at(adopting& o) {
    o.ended = true;
    if (o.granted() && o.life == nullptr) {
        world_.violation("adopted", name_ + " holds what no instance was asked for");
    }
    if (o.life == nullptr) {
        return;
    }
    if (!o.granted()) {
        checker_.on_not_adopted(*o.life, o.result() == core::acquire_outcome::lease_lost);
        return;
    }
    token_life& life = *o.life;
    life.policy = o.lock()->policy;
    life.driver = o.current().get();
    life.granted = now();
    if (world_.tracing()) {
        world_.tell(name_, "goes on with " + life.key + ", token " + life.token);
    }
    checker_.on_adopted(life, o.fence_number());
    leases_.push_back({o.current(), &life, {o.holder_number()}, {}});
}

// --- The engine's activity and its consequences -----------------------------------------------------

/// Runs `what` inside the engine. All engine activity begins here.
template <typename Function>
void client::enter(const Function& what) {
    if (++depth_ == 1) {
        batch_is_new_ = true;
    }
    what();
    if (--depth_ == 0 && !dead_) {
        look();
    }
}

void client::act(const world::step& what) {
    enter(what);
}

/// Checks everything that the users could observe by now.
void client::look() {
    once_.look();
    look_at_downgrades();
    look_at_shares();
    look_at_releases();
    for (const auto& one : operations_) {
        static_cast<void>(one->token());  // Reads the token while it exists.
        expect_attempts(*one);
        if (!one->running() && !one->ended) {
            look_at(*one);
        }
    }
    for (const auto& one : adoptions_) {
        if (!one->running() && !one->ended) {
            look_at(*one);
        }
    }
    for (tracked& one : leases_) {
        look_at(one);
    }
    std::erase_if(leases_, [this](const tracked& one) {
        if (one.life->let_go) {
            ended_at_[one.life->key] = now();
        }
        return one.life->let_go;
    });
    expect_counted();
    expect_readers_begin();
    expect_owners_entered();
    records_.expect_in_time();
    count_renewals();
    if (!engine_->closed()) {
        checker_.expect_undone(*this, engine_->parts().counts.releasing);
    } else if (!std::exchange(closed_, true) && now() + 1ms < closing_since_ + close_timeout) {
        checker_.on_closed(*this);
    }
}

/// Checks the end of an acquire with a deadline. Its first attempt may begin only at the deadline, and then
/// takes its time.
void client::expect_in_time(acquiring& o) {
    if (o.deadline == core::never || o.deadline <= clock_.at(o.started) ||
        paused_until_ >= o.started) {
        return;
    }
    // An attempt that begins and ends in one turn leaves no token behind.
    const bool was_sent = o.token().empty() || checker_.find(o.token()) != nullptr;
    const bool began_late =
        !was_sent || (!o.attempts.empty() && o.attempts.back()->asked >= o.deadline);
    const runtime::lock_policy& policy = *o.spec().policy;
    const int rounds =
        policy.kind().traits().tries_twice ? 4 : 2;  // Two rounds for each form of the attempt.
    const duration longest = policy.lease.agreement == core::agreement::same
                                 ? 2 * policy.lease.ttl  // Later rounds are useless.
                                 : rounds * policy.lease.instance_timeout;
    // An attempt that would begin in the next turn may be cancelled before it.
    const duration grace = began_late          ? longest + 5ms
                           : o.token().empty() ? slowest_turn + 1ms
                                               : 1ms;
    if (now() > o.deadline + grace) {
        world_.violation("deadline", name_ + " was told later than it wanted to wait");
    }
}

/// Checks a `contended` result. An instance or this client must have seen another holder or waiter.
void client::expect_contention(const acquiring& o) {
    if (o.result() == core::acquire_outcome::contended && !o.was_denied() &&
        !has_others_in_front(o) && behind_[o.spec().key].empty()) {
        world_.violation("contended", name_ + " was told that others have " + o.spec().key +
                                          ", and no instance has denied");
    }
}

/// Checks a failure because of another kind or limit. Enough instances must have reported it to rule out a
/// quorum.
void client::expect_mismatch(const acquiring& o) const {
    const bool is_kind = o.result() == core::acquire_outcome::wrong_kind;
    if (!is_kind && o.result() != core::acquire_outcome::wrong_limit) {
        return;
    }
    const token_life* const last = o.attempts.empty() ? nullptr : o.attempts.back();
    const std::uint64_t servers = last == nullptr ? 0
                                  : is_kind       ? last->of_another_kind_at
                                                  : last->of_another_limit_at;
    if (static_cast<std::size_t>(std::popcount(servers)) <= core::spare_of(voters_.size())) {
        world_.violation("limit", name_ + " was told that " + o.spec().key +
                                      " is another lock's, and a quorum may have it free");
    }
}

/// Returns whether an earlier waiter or a lease of this client keeps this acquire from the lock.
bool client::has_others_in_front(const acquiring& o) const {
    const bool reads = o.spec().admission().shares_lease();
    for (const auto& one : operations_) {
        if (one.get() == &o) {
            break;
        }
        const bool is_in_the_way =
            !reads || !one->spec().admission().shares_lease() || one->was_denied();
        if (one->spec().key == o.spec().key && is_in_the_way) {
            return true;
        }
    }
    const auto ended = ended_at_.find(o.spec().key);
    if (ended != ended_at_.end() && ended->second == now()) {
        return true;  // The client may not have detected the end yet.
    }
    const permit_wish wish = wish_of(o.spec().policy->kind().traits().token_prefix);
    std::uint32_t taken = wish.count;
    return std::ranges::any_of(leases_, [&](const tracked& one) {
        if (one.life->key != o.spec().key) {
            return false;
        }
        taken += one.life->wish.count;
        const bool leaves_room = one.life->wish.limit == wish.limit && taken <= wish.limit;
        return !(reads && is_read(o.spec().key)) && !(one.life->is_permit() && leaves_room);
    });
}

void client::look_at(acquiring& o) {
    o.ended = true;
    expect_in_time(o);
    expect_contention(o);
    expect_mismatch(o);
    if (!o.granted()) {
        if (!o.attempts.empty()) {
            checker_.on_not_acquired(*o.attempts.back(), *o.spec().policy, o.result());
        }
        return;
    }
    ++world_.tally.acquisitions;
    world_.tally.ordered += is_ordered(*o.spec().policy) ? 1U : 0U;
    const holding got{o.current(), o.holder_number()};
    tracked* const known = find_tracked(got);
    if (known != nullptr && !known->life->is_shared() && !known->holders.empty()) {
        enter_again(*known, got, spec_of(o));
        if (known->life->policy->lease.value_per_holder && o.fence_number() != known->life->fence) {
            world_.violation("fence order",
                             name_ + " has entered " + known->life->key + " with another fence");
        }
        return;
    }
    expect_order(o);
    add_entry(got, spec_of(o));
    if (checker_.find(o.token()) == nullptr) {
        world_.violation("backed validity", name_ + " holds what no instance was asked for");
        std::vector<std::string> names{o.spec().key};
        names.insert(names.end(), o.spec().more_names.begin(), o.spec().more_names.end());
        checker_.add(*this, std::move(names), o.token());
    }
    token_life& life = *checker_.find(o.token());
    if (known != nullptr) {
        if (life.is_shared()) {
            checker_.on_shared(life, o.current()->valid_until(o.holder_number()));
            if (life.policy->lease.value_per_holder) {
                checker_.on_share_fence(life, o.fence_number(), o.fences_before);
            }
            known->holders.insert(o.holder_number());
        } else {
            take_over(*known, o);
        }
        if (known->state->shared_spec()->more_names != o.spec().more_names ||
            life.policy->lease != o.spec().policy->lease ||
            &o.spec().policy->kind() !=
                &(life.was_writers ? readers_kind(*life.policy) : life.policy->kind())) {
            world_.violation("hand-off", name_ + " has handed off " + o.spec().key +
                                             " to one that wants it otherwise");
        }
        return;
    }
    life.policy = o.spec().policy;
    life.driver = o.current().get();
    life.granted = now();
    world_.tally.several += life.names.size() != 1 ? 1U : 0U;
    if (life.is_permit()) {
        checker_.on_permits(life);
        ++world_.tally.permits;
    }
    if (world_.tracing()) {
        world_.tell(name_, "holds " + life.key + ", token " + life.token + ", fence " +
                               std::to_string(o.fence_number()));
    }
    if (life.policy->lease.value_per_holder) {
        checker_.on_fence(life, o.fence_number());
    }
    leases_.push_back({o.current(), &life, {o.holder_number()}, o.acts_for()});
}

/// Records a hand-off.
void client::take_over(tracked& lease, const acquiring& o) {
    const holding next{lease.state, o.holder_number()};
    lease.holders = {next.holder};
    lease.who = o.acts_for();
    ++world_.tally.handoffs;
    if (world_.tracing()) {
        world_.tell(name_, "hands off " + lease.life->key + ", token " + lease.life->token);
    }
    if (o.place() != 0) {
        checker_.on_handed_off_in_order(lease.life->key, {number(), o.place()});
    }
    checker_.on_handed_off(*lease.life, lease.state->fence(), ++lease.handoffs,
                           next.lost() ? core::never : lease.state->valid_until(next.holder));
}

/// Records that an owner has entered its lease again.
void client::enter_again(tracked& lease, const holding& h, const spec& by) {
    ++world_.tally.entries;
    add_entry(h, by);
    if (world_.tracing()) {
        world_.tell(name_, "enters " + lease.life->key + " again, token " + lease.life->token);
    }
    if (!lease.who.is_same_owner(by.who) || !lease.who.reenters || !by.who.reenters) {
        world_.violation("one owner", name_ + " has let another in to " + lease.life->key);
    }
    if (lease.life->lost || lease.life->let_go) {
        world_.violation("one owner",
                         name_ + " has let its owner in to " + lease.life->key + ", which is over");
    }
    lease.holders.insert(h.holder);
}

spec client::spec_of(const acquiring& o) {
    return {o.spec().key, *o.spec().policy, o.acts_for(), o.spec().more_names};
}

void client::add_entry(const holding& h, const spec& of) {
    if (of.who.is_known()) {
        entries_.push_back({h, of.key, of.who, of.policy.lease.value_per_holder});
    }
}

/// Returns the expected result, given the owner's current leases.
client::entering client::expected_of(const spec& s) const {
    entering result = entering::waits;
    for (const entry& one : entries_) {
        if (one.key != s.key || !one.who.is_same_owner(s.who) || engine_->closing()) {
            continue;
        }
        const bool is_over =
            one.lease.lost() || one.lease.state->valid_until(one.lease.holder) <= now();
        const bool fits =
            one.who.reenters && s.who.reenters && one.has_fence == s.policy.lease.value_per_holder;
        if (one.lease.lost() && s.who.reenters) {
            return entering::has_lost;
        }
        if (one.lease.held()) {
            result = !fits     ? entering::would_deadlock
                     : is_over ? entering::has_lost
                               : entering::enters;
        }
    }
    return result;
}

void client::expect_entering(const acquiring& o, entering expected) {
    using core::acquire_outcome;
    const auto ended_with = [&o](acquire_outcome outcome) {
        return !o.running() && o.result() == outcome;
    };
    const bool by_owner =
        ended_with(acquire_outcome::would_deadlock) || ended_with(acquire_outcome::lease_lost);
    const bool is_as_expected = expected == entering::waits    ? !by_owner
                                : expected == entering::enters ? o.granted()
                                : expected == entering::would_deadlock
                                    ? ended_with(acquire_outcome::would_deadlock)
                                    : ended_with(acquire_outcome::lease_lost);
    // The client may have adopted another lease after its keys were lost. The latest lease decides then.
    const auto leases = std::ranges::count_if(leases_, [&](const tracked& one) {
        return one.life->key == o.spec().key && !one.life->let_go;
    });
    if (!is_as_expected && leases < 2) {
        world_.violation("one owner",
                         name_ + " has let its owner wait for " + o.spec().key +
                             ", enter it, or fail, and should not have: outcome " +
                             (o.running() ? "open" : std::to_string(static_cast<int>(o.result()))) +
                             ", expected " + std::to_string(static_cast<int>(expected)));
    }
}

/// Checks that no operation waits while its owner has the lock and could enter it.
void client::expect_owners_entered() {
    for (const auto& one : operations_) {
        if (one->running() && one->acts_for().reenters &&
            expected_of(spec_of(*one)) == entering::enters) {
            world_.violation(
                "lost wake-up",
                name_ + " lets a waiter wait for its own owner, who has " + one->spec().key);
        }
    }
}

void client::look_at_downgrades() {
    for (const auto& one : downgrades_) {
        look_at(*one);
    }
    std::erase_if(downgrades_, [](const auto& one) { return one->told; });
}

/// Checks a downgrade, which must end with its rounds or with its lease.
void client::look_at(downgrading& one) {
    constexpr duration longest = 400ms;  // Covers several rounds.
    token_life& life = life_of(one.lease);
    if (one.running()) {
        const bool is_late = std::max(one.started, paused_until_) + longest < world_.now();
        if (life.let_go || life.lost || is_late) {
            world_.violation("liveness", name_ + " has not ended a downgrade of " + life.key);
        }
        return;
    }
    if (std::exchange(one.ended, true)) {
        return;
    }
    if (one.done() && life.was_writers) {
        checker_.on_downgraded(life);
        ++world_.tally.downgrades;
    } else if (one.result() == runtime::lease_result::no_quorum) {
        ++world_.tally.downgrades_without_quorum;
    }
    if (world_.tracing()) {
        world_.tell(name_,
                    (one.done() ? "goes on as a reader of " : "cannot go on as a reader of ") +
                        life.key + ", token " + life.token);
    }
}

void client::look_at(tracked& lease) {
    token_life& life = *lease.life;
    const std::uint32_t holder =
        lease.holders.empty() ? lease.state->holder() : *lease.holders.begin();
    if (life.release_asked_for && lease.state->valid_until(holder) == core::time_point::min() &&
        lease.state->loss(holder) == core::loss::none) {
        checker_.on_released(life);  // The release waited for room in the send window.
    }
    if (life.let_go || life.handing_off) {
        return;
    }
    if (life.is_shared() || (lease.who.is_known() && !life.release_asked_for)) {
        expect_holders(lease);
    }
    // If readers share the lease, its fence is that of the newest holder.
    const bool is_another =
        life.is_shared() ? lease.state->fence() < life.fence : lease.state->fence() != life.fence;
    if (life.policy->lease.value_per_holder && is_another) {
        world_.violation("fence order",
                         name_ + " has another fence for " + life.key + " than it was granted");
    }
    const core::loss why = lease.state->loss(holder);
    const core::time_point until = lease.state->valid_until(holder);
    if (why != core::loss::none) {
        if (!life.lost) {
            if (world_.tracing()) {
                world_.tell(name_, "has lost " + life.key + ", token " + life.token);
            }
            checker_.on_lost(life, why);
        }
    } else if (until != core::time_point::min() && (!life.counts || life.valid_until != until)) {
        if (life.counts && lease.who.reenters && until < life.valid_until) {
            world_.violation("one owner", name_ + " has shortened the lease of " + life.key);
        }
        checker_.on_validity(life, until);
    }
}

/// Checks that exactly the unreleased holders hold the lease.
void client::expect_holders(const tracked& lease) {
    const std::uint32_t first =
        lease.holders.empty() ? lease.state->holder() : *lease.holders.begin();
    const bool is_valid = lease.state->valid_until(first) != core::time_point::min();
    for (std::uint32_t i = 0; i <= lease.state->holder(); ++i) {
        const bool holds = lease.state->valid_until(i) != core::time_point::min();
        if (holds != (is_valid && lease.holders.contains(i))) {
            world_.violation(lease.life->is_shared() ? "sharing bounds" : "one owner",
                             name_ + (holds ? " still has" : " has no") + " share number " +
                                 std::to_string(i) + " of " + lease.life->key);
        }
    }
}

/// Returns whether readers have the lock and other readers of the client may join them.
bool client::is_read(const std::string& key) const {
    const auto is_on = [&key](const tracked& one) { return one.life->key == key; };
    const auto is_writers = [](const tracked& one) {
        return !one.life->is_shared() || (one.life->was_writers && !one.life->admits_readers);
    };
    return std::ranges::any_of(leases_, is_on) &&
           std::ranges::none_of(leases_,
                                [&](const tracked& one) { return is_on(one) && is_writers(one); });
}

/// Checks that the first waiting reader does not wait for readers of its own client.
void client::expect_readers_begin() {
    std::uint64_t may_wait = 0;
    for (auto one = operations_.begin(); one != operations_.end(); ++one) {
        const runtime::lock_spec& wanted = (*one)->spec();
        const bool is_first = std::none_of(operations_.begin(), one, [&](const auto& earlier) {
            return earlier->running() && earlier->spec().key == wanted.key;
        });
        const bool begins = is_first && wanted.admission().shares_lease() && is_read(wanted.key);
        may_wait += (*one)->running() && !begins ? 1U : 0U;
    }
    if (engine_->parts().counts.queued > may_wait) {
        world_.violation("lost wake-up", name_ + " has a reader wait for its own readers");
    }
}

/// Checks that the client counts a lease once for each of its holders.
void client::expect_counted() {
    std::uint64_t held = 0;
    for (const tracked& one : leases_) {
        if (one.life->handing_off) {
            return;  // It may have been released instead.
        }
        held += one.life->lost          ? 0
                : one.life->is_shared() ? one.holders.size()
                                        : std::max<std::size_t>(one.holders.size(), 1);
    }
    const std::uint64_t counted = engine_->parts().counts.held;
    if (held != counted) {
        world_.violation("counted", name_ + " counts " + std::to_string(counted) +
                                        " holders, and has " + std::to_string(held));
    }
}

/// Checks the interval between attempts. A waiting writer must attempt again before its writer mark expires.
/// A reader must attempt from time to time, even if other clients are ahead. Without a quorum, nobody must.
void client::expect_attempts(acquiring& waiting) {
    if (!waiting.running() || engine_->closing()) {
        return;
    }
    if (has_others_in_front(waiting)) {
        waiting.first_since = now();
    }
    if (!engine_->parts().instances.take_commands(now())) {
        without_quorum_ = now();
    }
    const token_life* const last = waiting.attempts.empty() ? nullptr : waiting.attempts.back();
    const bool reads = waiting.spec().admission().shares_lease();
    const runtime::lock_policy& policy = *waiting.spec().policy;
    const core::duration interval =
        reads ? longest_wait_of_readers + policy.retry.maximum : policy.attempt_interval;
    if (interval == core::duration::zero() || (last == nullptr && !reads)) {
        return;
    }
    const core::time_point since =
        std::max(last == nullptr ? waiting.first_since : last->asked, without_quorum_);
    if (clock_.at(paused_until_) <= since &&
        now() > since + interval + 2 * policy.lease.instance_timeout) {
        world_.violation(reads ? "bounded wait" : "no reader before a waiting writer",
                         name_ + " waits for " + waiting.spec().key + ", and has not tried for " +
                             in_ms(now() - since));
    }
}

/// Records that a holder has released. Returns whether the lease still has other holders.
bool client::leaves_others(const holding& h) {
    std::erase_if(entries_, [&h](const entry& one) {
        return one.lease.state == h.state && one.lease.holder == h.holder;
    });
    tracked* const found = find_tracked(h);
    if (found == nullptr) {
        return false;
    }
    found->holders.erase(h.holder);
    return !found->holders.empty();
}

/// Checks that waiters of a process acquire a lock in the order of their arrival.
void client::expect_order(const acquiring& granted) const {
    for (const auto& one : operations_) {
        if (one.get() == &granted) {
            return;
        }
        // After 100 ms, a waiter for another of its names lets later waiters pass.
        const bool may_let_pass =
            !one->spec().more_names.empty() &&
            engine_->parts().turn.recent_time() - one->arrived() >= core::milliseconds(100);
        if (one->running() && one->spec().key == granted.spec().key && !may_let_pass) {
            world_.violation("order in a client", name_ + " has served a waiter for " +
                                                      granted.spec().key + " before an older one");
        }
    }
}

void client::count_renewals() {
    const std::uint64_t renewed = engine_->parts().counts.renewed;
    world_.tally.renewals += renewed - std::exchange(renewals_, renewed);
}

/// Records a command that is seen for the first time.
void client::note(const instance::submission& one) {
    request& r = requests_.emplace_back(one);
    if (core::is_of_record(one.command.step)) {
        note_record(r);
        return;
    }
    if (is_of_result(one.command.step)) {
        note_once(r);
        return;
    }
    if (one.command.token.empty()) {
        return;  // A command of the remote queue.
    }
    const core::lease_tag tag = core::lease_tag::from(one.tag);
    if (tag.purpose() == purpose::acquire) {
        ++world_.tally.attempts;
        checker_.add(*this, names_in(r.command), r.token());
    }
    world_.tally.raises += tag.purpose() == purpose::raise ? 1U : 0U;
    r.life = tag.purpose() == purpose::adopt ? &checker_.adopt(*this, r.token())
                                             : checker_.find(r.token(), *this);
    if (tag.purpose() == purpose::adopt) {
        const auto by = std::ranges::find_if(adoptions_, [&](const auto& o) {
            return o->current() != nullptr && o->current()->token() == one.command.token;
        });
        if (by != adoptions_.end()) {
            (*by)->life = r.life;
        } else {
            checker_.on_not_adopted(*r.life,
                                    false);  // Given up in its first turn.
        }
    }
    if (tag.purpose() == purpose::acquire) {
        const auto by = std::ranges::find_if(operations_, [&](const auto& o) {
            return o->current() != nullptr && o->current()->token() == one.command.token;
        });
        if (by != operations_.end()) {
            expect_no_mismatch(**by);
            (*by)->attempts.push_back(r.life);
            expect_in_order(**by);
        }
    }
    r.life->unanswered += one.targets.count(voters_.size());
    checker_.on_submitted(*r.life, one.command, tag);
    if (tag.purpose() == purpose::release) {
        once_.look();
        for (tracked& lease : leases_) {
            if (lease.life == r.life) {
                look_at(lease);  // It may just have been lost.
            }
        }
        checker_.on_given_back(*r.life, submitted_since_);
    }
    if (world_.tracing()) {
        const bool to_all = one.targets == core::instance_set::all();
        world_.tell(name_,
                    "sends " + words(r) + " to " + (to_all ? "all" : test::to_text(one.targets)));
    }
}

void client::note_record(request& r) {
    r.record = dynamic_cast<const record_call&>(*r.receiver).life();
    if (world_.tracing()) {
        world_.tell(name_, "sends " + words(r));
    }
}

void client::note_once(request& r) {
    r.once = dynamic_cast<const settling&>(*r.receiver).life();
    if (r.command.step == core::step::complete && !r.token().empty()) {
        checker_.find(r.token(), *this)->completes = true;
    }
    if (world_.tracing()) {
        world_.tell(name_, "sends " + words(r));
    }
}

/// Checks that no further attempt is made after all instances have reported in time that the key belongs to
/// another lock.
void client::expect_no_mismatch(const acquiring& o) const {
    constexpr duration least_timeout = 20ms;
    if (o.attempts.empty() ||
        o.attempts.back()->mismatch_told >= o.attempts.back()->asked + least_timeout) {
        return;
    }
    const token_life& last = *o.attempts.back();
    const auto all = [this](std::uint64_t servers) {
        return static_cast<std::size_t>(std::popcount(servers)) == voters_.size();
    };
    if (all(last.of_another_kind_at) || all(last.of_another_limit_at)) {
        world_.violation("limit",
                         name_ + " tries again, though " + o.spec().key + " is another lock's");
    }
}

void client::send(std::size_t instance, const instance::batch& commands) {
    if (std::exchange(batch_is_new_, false)) {
        requests_.clear();
        for (const instance::submission& one : commands.submissions()) {
            note(one);
        }
    }
    for (std::size_t i = 0; i != commands.size(); ++i) {
        if (commands.submissions()[i].is_for(instance)) {
            const request r = requests_[i];
            if (stopped_) {
                refuse(instance, r, core::vote::failed(core::failure::down));
            } else {
                routes_[instance]->send(r);
            }
        }
    }
}

/// With a crowd, each user wants a lock of its own. First attempts are sent in the order of the requests.
void client::expect_in_order(const acquiring& sent) {
    if (world_.faults().crowd == 0 || sent.attempts.size() != 1) {
        return;
    }
    if (sent.started < last_started_) {
        world_.violation("order",
                         name_ + " has sent a later acquire before that of " + sent.spec().key);
    }
    last_started_ = std::max(last_started_, sent.started);
}

request client::unsent(std::size_t instance, request r) {
    if (r.sent != core::never) {
        flows_[instance].on_answer(r.sent, false, now());
    }
    r.sent = core::never;
    return r;
}

bool client::send_on(std::size_t instance, connection& way, request r,
                     std::optional<script_form> form, bool again) {
    core::failure why = core::failure::none;
    if (!r.receiver->wanted(instance, r.tag)) {
        why = core::failure::withdrawn;
    } else if (now() > r.command.deadline) {
        why = core::failure::too_late;
    } else if (!way.ready()) {
        why = core::failure::down;
        // mutant: quarantine_after_moved_ignored
    } else if (core::relies_on_memory(r.command) && now() < way.quarantined_until()) {
        why = core::failure::quarantined;
    } else if (way.forbids(r.command)) {
        why = core::failure::server_error;
    }
    if (why != core::failure::none) {
        refuse(instance, r,
               why == core::failure::quarantined ? core::vote::quarantined(way.quarantined_until())
                                                 : core::vote::failed(why));
        return false;
    }
    if (r.record != nullptr) {
        checker_.records().on_sent(*r.record);
    }
    if (r.life != nullptr && !again) {
        checker_.on_sent(*r.life, instance, core::lease_tag::from(r.tag));
    }
    r.order = ++last_sent_[instance];
    r.sent = now();
    r.was_sent = true;
    flows_[instance].on_sent(r.sent);
    way.send(r, form, again);
    return true;
}

void client::flow::on_sent(core::time_point now) {
    ++batches_[now].unanswered;
    window_.on_sent(++in_flight_, 1, now);
}

void client::flow::on_answer(core::time_point sent, bool is_lost, core::time_point now) {
    batch& its = batches_[sent];
    --in_flight_;
    --its.unanswered;
    if (!is_lost && !std::exchange(its.is_answered, true)) {
        window_.on_first_answer(sent, now);
    }
    if (its.unanswered == 0) {
        batches_.erase(sent);
        if (!is_lost) {
            window_.on_answered(sent, now);
        }
    }
}

void client::refuse(std::size_t instance, const request& r, const core::vote& v) {
    const core::failure why = v.reason;
    if (why == core::failure::withdrawn) {
        world_.count(fault::withdrawn);
    } else if (why == core::failure::down) {
        world_.count(fault::refused);
    } else if (why == core::failure::quarantined) {
        world_.count(fault::quarantined);
    }
    if (r.groups) {  // Commands for names in other slots may still be pending.
        post(world_.now(), [this, instance, r, v] { routes_[instance]->on_answer(r, v); });
        return;
    }
    // As in `redis::cluster`.
    const bool has_key = r.is_partly_done && !core::outcome_unknown(why);
    on_answer(instance, r, has_key ? core::vote::failed(core::failure::unclear_error) : v);
}

void client::on_answer(std::size_t instance, const request& r, const core::vote& v) {
    if (r.sent != core::never) {
        flows_[instance].on_answer(r.sent, v.reason == core::failure::connection_lost, now());
    }
    if (world_.tracing()) {
        world_.tell(name_, "hears from instance " + std::to_string(instance) + ": " + words(r) +
                               ", " + text_of(r, v));
    }
    if (is_in_order(r.command)) {
        // With a binding order, an attempt is denied before its waiter waits.
    } else if (r.command.step == core::step::leave) {
        behind_[r.key()].erase(r.command.ticket);
    } else if (r.command.step == core::step::join && v.kind == core::vote_kind::granted) {
        if (v.value == 0) {
            behind_[r.key()].erase(r.command.ticket);
        } else {
            behind_[r.key()].insert(r.command.ticket);
        }
    }
    if (r.record != nullptr &&
        (v.kind == core::vote_kind::granted ||
         (v.kind == core::vote_kind::denied && v.key == core::key_state::foreign))) {
        r.record->is_told = true;
    }
    if (r.once != nullptr && r.command.step == core::step::complete && !r.command.heals &&
        dynamic_cast<const settling&>(*r.receiver).running()) {
        once_checker::on_answer(*r.once, instance, v);
    }
    if (r.life != nullptr) {
        token_life& life = *r.life;
        const core::lease_tag tag = core::lease_tag::from(r.tag);
        --life.unanswered;
        checker_.on_answer(life, instance, tag, v, r.was_sent);
        if (tag.purpose() == purpose::acquire && v.kind == core::vote_kind::granted &&
            life.let_go) {
            world_.count(fault::late_grant);
        }
        if (tag.purpose() == purpose::heal && v.kind == core::vote_kind::granted) {
            ++world_.tally.heals;
        }
    }
    enter([&] { r.receiver->on_vote(instance, r.tag, v, now()); });
}

void client::on_accepting(std::size_t instance) {
    if (stopped_ || instance >= routes_.size()) {
        return;  // The client has ended, or has not begun.
    }
    checker_.on_accepting(*this, instance);
    enter([&] {
        engine_->observer().on_state_change(instance);
        engine_->observer().on_accepting(instance);
    });
    const core::time_point quarantined_until = routes_[instance]->quarantined_until();
    if (now() < quarantined_until) {
        post(clock_.when(quarantined_until), [this, instance] {
            checker_.on_ready(*this);
            enter([&] { engine_->observer().on_state_change(instance); });
        });
    }
}

void client::on_broken(std::size_t instance) {
    if (!stopped_ && instance < routes_.size()) {
        enter([&] { engine_->observer().on_state_change(instance); });
    }
}

void client::on_key_changed(std::size_t instance, const std::string& key) {
    if (!stopped_) {
        enter([&] { engine_->observer().on_key_changed(instance, key); });
    }
}

}  // namespace colock::simulation
