// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/schedule.hpp"

#include "core/queue_ticket.hpp"
#include "kinds/kind.hpp"
#include "simulation/checker.hpp"
#include "simulation/client.hpp"
#include "simulation/order_checker.hpp"
#include "simulation/permit.hpp"
#include "simulation/voter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace colock::simulation {
namespace {

constexpr duration calm_time = 2500ms;     // Without faults, for worlds that continue.
constexpr duration finish_time = 6s;       // For the remaining waiters.
constexpr duration longest_ttl = 1s;       // 500 ms, extended to twice that.
constexpr duration longest_keep = 1600ms;  // Of the result of a name that is run once.
constexpr duration bound = 400ms;          // Covers drift and late executions.
constexpr std::uint64_t most_steps = 150000;
constexpr std::size_t least_crowd = 100;  // Keeps the servers busy.

/// The dialects of the servers of a world. Some have native deletes.
constexpr std::array dialects = {&small_redis::redis_7, &small_redis::redis_8,
                                 &small_redis::redis_8_4, &small_redis::valkey_9};

class schedule {
public:
    schedule(const profile& p, std::uint64_t seed, bool trace)
        : world_(p, seed, trace),
          dialect_dice_(seed ^ 0x6469616c656374U),
          record_dice_(seed ^ 0x7265636f7264U),
          order_dice_(seed ^ 0x6f72646572U),
          once_dice_(seed ^ 0x6f6e6365U),
          places_(world_),
          checker_(world_, voters_) {
        name_resources(seed);
    }

    result run();

private:
    void name_resources(std::uint64_t seed);
    void populate();
    void choose_order(bool is_wanted, std::size_t instances);
    void calm_down();
    void expect_progress();
    void expect_places();
    void plan_faults();
    void expect_goodput();
    void plan(double per_run, void (schedule::*what)());
    [[nodiscard]] voter& any_voter() { return *voters_[world_.random.below(voters_.size())]; }
    [[nodiscard]] server& any_server() {
        voter& one = any_voter();
        return one.node(one.size() == 1 ? 0 : world_.random.below(one.size()));
    }
    [[nodiscard]] client& any_client() { return *clients_[world_.random.below(clients_.size())]; }
    [[nodiscard]] const std::string& any_key();
    [[nodiscard]] bool is_ordered() const;
    [[nodiscard]] bool could_grant(const std::string& key);
    [[nodiscard]] std::vector<std::string> keys() const;

    void reset();
    void partition();
    void block(std::size_t which_client, std::size_t which_server, bool there, bool back,
               duration how_long);
    void pause_instance();
    void restart_with_data();
    void restart_without_data();
    void roll_back();
    void jump();
    void fail_over();
    void cut_replication();
    void cut_sentinel();
    void move_slot();
    void migrate_slot();
    void delete_key();
    void shorten_key();
    void lose_counter();
    void spoil_counter();
    void run_out_of_memory();
    void lose_right();
    void refuse_writes();
    void lose_scripts();
    void take_name();
    void pause_client();
    void crash_client();
    void hand_on(const std::string& text);
    void close_client();

    world world_;
    dice dialect_dice_;
    dice record_dice_;  // Separate, so records do not change worlds without them.
    dice order_dice_;   // Separate, for binding orders.
    dice once_dice_;    // Separate, for names that are run once.
    place_checker places_;
    bool takes_several_ = false;  // Some users lock several names together.
    bool goes_on_ = false;        // The users continue after the faults.
    std::vector<std::unique_ptr<voter>> voters_;
    checker checker_;
    std::vector<std::unique_ptr<client>> clients_;
    std::vector<resource> resources_;
    std::vector<std::string> records_;             // With one instance.
    std::vector<std::string> once_;                // Names that are run once.
    std::map<std::string, true_time> free_since_;  // Since when no client acquired the free key.
    std::uint64_t acquisitions_ = 0;
};

/// Chooses the resources, some of which are semaphores. A separate generator is used. Worlds without
/// semaphores, or without locks with several names, are therefore the same as if these did not exist.
void schedule::name_resources(std::uint64_t seed) {
    constexpr std::size_t most_permits = 4;
    dice random(seed ^ 0x73656d6170686f72U);
    for (const char* const key : {"key", "other"}) {
        const auto limit = static_cast<std::uint32_t>(1 + random.below(most_permits));
        resources_.push_back({key, random.chance(0.3) ? limit : 0, false});
    }
    dice several(seed ^ 0x7365766572616cU);
    takes_several_ = world_.faults().crowd == 0 && several.chance(0.15);
    if (takes_several_) {
        resources_.push_back({"third", 0, false});
        for (resource& one : resources_) {
            one.limit = several.chance(0.9) ? 0 : one.limit;
        }
    }
}

const std::string& schedule::any_key() {
    std::size_t i = world_.random.below(resources_.size() + records_.size() + once_.size());
    if (i < resources_.size()) {
        return resources_[i].key;
    }
    i -= resources_.size();
    return i < records_.size() ? records_[i] : once_[i - records_.size()];
}

std::vector<std::string> schedule::keys() const {
    std::vector<std::string> result;
    std::ranges::transform(resources_, std::back_inserter(result), &resource::key);
    return result;
}

void schedule::populate() {
    static constexpr std::array<std::size_t, 12> sizes = {1, 2, 3, 3, 3, 3, 3, 4, 5, 5, 5, 7};
    const deployment& d = world_.profile().deployment;
    const bool wants_order = order_dice_.chance(0.1);
    const std::size_t drawn =
        d.kind == topology::standalone ? sizes[world_.random.below(sizes.size())]
        // When a master renews a lock and votes for it again, this vote is not replicated before it counts.
        : d.replicas_acked != 0 || world_.random.chance(0.6) ? 1
                                                             : 3;
    const bool may_order = world_.faults().crowd == 0 && !takes_several_;
    const std::size_t n = wants_order && may_order ? 1 : drawn;
    if (may_order) {
        choose_order(wants_order, n);
    }
    for (std::size_t i = 0; i != n; ++i) {
        deployment kind = d;
        kind.tells_changes = world_.random.chance(0.6);
        kind.speaks = dialects[dialect_dice_.below(dialects.size())];
        voter& one = *voters_.emplace_back(std::make_unique<voter>(world_, i, kind));
        checker_.watch(i);
        report_outages(one, i, clients_);
    }
    if (world_.random.chance(0.8) && !takes_several_) {
        resources_.pop_back();
    }
    const std::size_t clients = world_.faults().crowd != 0 ? 1 : 1 + world_.random.below(4);
    for (std::size_t i = 0; i != clients; ++i) {
        clients_.push_back(std::make_unique<client>(world_, checker_, voters_, i));
    }
    checker_.waits = [this](const std::string& of, const stored_waiter& one) {
        return waits_in(clients_, of, one);
    };
    goes_on_ = world_.faults().crowd == 0 && world_.random.chance(0.2);
    goes_on_ = goes_on_ || (is_ordered() && order_dice_.chance(0.4));
    const true_time end(world_.faults().busy_time + (goes_on_ ? calm_time : 0ms));
    if (n == 1 && world_.faults().crowd == 0 && record_dice_.chance(0.8)) {
        records_ = {"record", "another record"};
    }
    if (world_.faults().crowd == 0 && once_dice_.chance(0.2)) {
        once_ = {"job", "another job"};
    }
    dice handing_over(record_dice_.next());
    const bool hands_over = world_.faults().crowd == 0 && handing_over.chance(0.2);
    for (auto& c : clients_) {
        if (hands_over) {
            c->on_detached = [this](const std::string& text) { hand_on(text); };
        }
        c->start(resources_, takes_several_, end);
        if (!records_.empty()) {
            c->start_records(records_, keys(), end);
        }
        if (!once_.empty()) {
            c->start_once(once_, end);
        }
        if (world_.faults().crowd != 0) {
            c->start_crowd(least_crowd + world_.random.below(world_.faults().crowd));
        }
    }
}

/// Chooses resources with a binding order. This requires a single instance, and a semaphore has no binding
/// order.
void schedule::choose_order(bool is_wanted, std::size_t instances) {
    if (instances != 1 || !(is_wanted || order_dice_.chance(0.25))) {
        return;
    }
    for (resource& one : resources_) {
        one.limit = is_wanted ? 0 : one.limit;
        one.is_ordered = one.limit == 0;
    }
}

bool schedule::is_ordered() const {
    return std::ranges::any_of(resources_, &resource::is_ordered);
}

/// Checks the throughput. It must not fall under more load, because the crowd alone keeps the servers busy.
void schedule::expect_goodput() {
    const fault_model& f = world_.faults();
    if (f.crowd == 0) {
        return;
    }
    constexpr int commands_of_cycle = 2;
    const double most = static_cast<double>(f.busy_time.count()) /
                        static_cast<double>((commands_of_cycle * f.service).count());
    if (static_cast<double>(world_.tally.served) < world_.profile().claims.goodput * most) {
        world_.violation("goodput", "the servers could have served " +
                                        std::to_string(static_cast<int>(most)) + ", and served " +
                                        std::to_string(world_.tally.served));
    }
}

/// Continues without faults. All progress that does not depend on faults must then happen soon.
void schedule::calm_down() {
    constexpr duration settled = 700ms;  // For paused clients and cut connections to recover.
    constexpr duration step = 20ms;
    world_.calm_down();
    const true_time calm_since = world_.now();
    while (goes_on_ && world_.now() < calm_since + calm_time && world_.violations().empty()) {
        world_.run(world_.now() + step, most_steps);
        if (world_.now() >= calm_since + settled) {
            expect_progress();
            expect_places();
        }
    }
    world_.run(calm_since + finish_time + (goes_on_ ? calm_time : 0ms), most_steps);
}

/// Returns the time after which such a waiter checks the lock, even if the client ahead has died. With a
/// binding order, all dead waiters ahead are skipped when their tickets have expired.
duration longest_sleep(duration waited, const runtime::lock_spec& wanted) {
    if (wanted.policy->kind().traits().orders_waiters) {
        return core::milliseconds(wanted.policy->place_ttl());
    }
    core::queue_ticket_settings queue;
    queue.refresh = client::longest_backoff;
    return queue.interval(waited);
}

/// Returns whether a quorum could grant the lock to each client's first waiter, for any lock kind.
bool schedule::could_grant(const std::string& key) {
    bool is_exclusive = false;
    std::set<std::string> names{key};
    for (const auto& one : clients_) {
        const runtime::lock_spec* const wanted = one->first_wish(key);
        if (wanted == nullptr) {
            continue;
        }
        names.insert(wanted->more_names.begin(), wanted->more_names.end());
        const permit_wish wish = wish_of(wanted->policy->kind().traits().token_prefix);
        is_exclusive = is_exclusive || wish.limit == 0;
        if (wish.limit != 0 && !checker_.room_for(key, wish).first) {
            return false;
        }
    }
    const auto ready =
        static_cast<std::size_t>(std::ranges::count_if(voters_, [&](const auto& one) {
            return std::ranges::all_of(
                names, [&](const std::string& name) { return one->could_grant(name); });
        }));
    return !is_exclusive || ready >= voters_.size() / 2 + 1;
}

/// Checks that no operation waits for long for a lock that a quorum could grant.
void schedule::expect_progress() {
    constexpr duration longest = 500ms;
    const bool progress = std::exchange(acquisitions_, world_.tally.acquisitions) != acquisitions_;
    for (const std::string& key : keys()) {
        duration patience = duration::max();  // Of the waiter that checks first.
        for (const auto& one : clients_) {
            if (const duration waited = one->longest_wait(key); waited > longest) {
                patience =
                    std::min(patience, longest + longest_sleep(waited, *one->first_wish(key)));
            }
        }
        free_since_.try_emplace(key, world_.now());
        const bool is_wanted = patience != duration::max();
        if (progress || !is_wanted || !could_grant(key)) {
            free_since_[key] = world_.now();
        } else if (world_.now() - free_since_[key] >= patience) {
            world_.violation("lost wake-up", key + " is free since " +
                                                 in_ms(world_.now() - free_since_[key]) +
                                                 ", and somebody waits for it");
        }
    }
}

/// Checks the places in the queues of locks with a binding order.
void schedule::expect_places() {
    for (const resource& of : resources_) {
        if (!of.is_ordered) {
            continue;
        }
        if (!voters_.front()->could_answer(of.key)) {
            places_.skip(of.key);
            continue;
        }
        std::vector<client_waiters> all;
        for (const auto& one : clients_) {
            all.push_back(one->waiters_for(of.key));
        }
        places_.look(of.key, voters_.front()->server_of(of.key).waiters(of.key), all);
    }
}

/// Schedules `what` at random times, `per_run` times on average.
void schedule::plan(double per_run, void (schedule::*what)()) {
    const auto most = static_cast<std::size_t>(std::ceil(per_run * 2));
    for (std::size_t i = 0; i != most; ++i) {
        if (world_.random.chance(per_run / static_cast<double>(most))) {
            world_.after(world_.random.up_to(world_.faults().busy_time),
                         [this, what] { (this->*what)(); });
        }
    }
}

void schedule::plan_faults() {
    const fault_model& f = world_.faults();
    plan(f.resets, &schedule::reset);
    plan(f.partitions, &schedule::partition);
    plan(f.instance_pauses, &schedule::pause_instance);
    plan(f.restarts_with_data, &schedule::restart_with_data);
    plan(f.restarts_without_data, &schedule::restart_without_data);
    plan(f.rollbacks, &schedule::roll_back);
    plan(f.clock_jumps, &schedule::jump);
    plan(f.failovers, &schedule::fail_over);
    plan(f.replication_cuts, &schedule::cut_replication);
    plan(f.sentinel_cuts, &schedule::cut_sentinel);
    plan(f.slot_moves, &schedule::move_slot);
    plan(f.slot_migrations, &schedule::migrate_slot);
    plan(f.foreign_deletes, &schedule::delete_key);
    plan(f.foreign_expiries, &schedule::shorten_key);
    plan(f.counters_lost, &schedule::lose_counter);
    plan(f.counters_spoiled, &schedule::spoil_counter);
    plan(f.memory_shortages, &schedule::run_out_of_memory);
    plan(f.rights_lost, &schedule::lose_right);
    plan(f.write_refusals, &schedule::refuse_writes);
    plan(f.scripts_lost, &schedule::lose_scripts);
    plan(f.names_taken, &schedule::take_name);
    plan(f.client_pauses, &schedule::pause_client);
    plan(f.client_crashes, &schedule::crash_client);
    plan(f.client_closes, &schedule::close_client);
}

void schedule::reset() {
    client& c = any_client();
    c.to(world_.random.below(voters_.size())).reset();
}

void schedule::partition() {
    const std::size_t c = world_.random.below(clients_.size());
    const std::size_t s = world_.random.below(voters_.size());
    const duration how_long = world_.random.between(5ms, 300ms);
    switch (world_.random.below(4)) {
        case 0:
            world_.count(fault::partition);
            block(c, s, true, true, how_long);
            break;
        case 1:
            world_.count(fault::partition_to_server);
            block(c, s, true, false, how_long);
            break;
        case 2:
            world_.count(fault::partition_to_client);
            block(c, s, false, true, how_long);
            break;
        default:
            world_.count(fault::flapping);
            for (int i = 0; i != 5; ++i) {
                world_.after(i * 20ms, [this, c, s] { block(c, s, true, true, 15ms); });
            }
            break;
    }
    if (world_.random.chance(0.4)) {  // They close the connection.
        world_.after(world_.random.up_to(how_long), [this, c, s] { clients_[c]->to(s).reset(); });
    }
}

void schedule::block(std::size_t which_client, std::size_t which_server, bool there, bool back,
                     duration how_long) {
    client& c = *clients_[which_client];
    if (world_.tracing()) {
        world_.tell(c.who(), std::string("is cut off from instance ") +
                                 std::to_string(which_server) +
                                 (there && back ? ""
                                  : there       ? ", going there,"
                                                : ", coming from there,") +
                                 " for " + in_ms(how_long));
    }
    if (there) {
        c.to(which_server).block(connection::to_server, world_.now() + how_long);
    }
    if (back) {
        c.to(which_server).block(connection::to_client, world_.now() + how_long);
    }
}

void schedule::pause_instance() {
    any_server().pause(world_.random.between(5ms, 300ms));
}
void schedule::restart_with_data() {
    any_server().restart(world_.random.up_to(100ms), server::data::kept);
}
void schedule::restart_without_data() {
    any_server().restart(world_.random.up_to(100ms), server::data::lost);
}
void schedule::roll_back() {
    any_server().restart(world_.random.up_to(20ms), server::data::rolled_back);
}
void schedule::jump() {
    const duration by = world_.random.up_to(400ms) + 1ms;
    any_server().jump(world_.random.chance(0.5) ? by : -by);
}
void schedule::fail_over() {
    // Sentinels and clusters wait much longer between two failovers.
    constexpr duration between_failovers = 800ms;
    voter& one = any_voter();
    const std::size_t node = one.owner_of(one.slot_of(any_key()));
    const auto former = world_.random.chance(world_.faults().dead_masters) ? voter::former::dead
                                                                           : voter::former::alive;
    const duration back_after = world_.random.between(20ms, 500ms);
    if (one.failed_over() == true_time() || world_.now() >= one.failed_over() + between_failovers) {
        one.fail_over(node, former, back_after);
    }
}
void schedule::cut_replication() {
    any_voter().cut_replication(world_.now() + world_.random.up_to(400ms));
}

/// Cuts a Sentinel off from the others, or a client off from another Sentinel. Each client therefore reaches
/// a Sentinel that has detected a failover. A client that learns of none, but still reaches the old master,
/// cannot be protected.
void schedule::cut_sentinel() {
    const true_time until = world_.now() + world_.random.up_to(1500ms);
    const std::size_t i = world_.random.below(voters_.size());
    if (world_.random.chance(0.5)) {
        voters_[i]->cut_sentinel(0, until);
    } else {
        any_client().to(i).cut_sentinel(1, until);
    }
}
/// Moves a slot. The source must not be quarantined, because a quarantine does not move with the slot.
void schedule::move_slot() {
    voter& one = any_voter();
    const std::string& key = any_key();
    const std::size_t to = world_.random.below(one.size());
    if (one.quarantined_until(key) + bound < world_.now()) {
        one.move_slot(one.slot_of(key), to);
    }
}
void schedule::migrate_slot() {
    voter& one = any_voter();
    const std::string& key = any_key();
    const std::size_t to = world_.random.below(one.size());
    if (one.quarantined_until(key) + bound < world_.now()) {
        one.migrate(key, to);
    }
}
void schedule::delete_key() {
    any_server().delete_key(any_key());
}
void schedule::shorten_key() {
    any_server().shorten_key(any_key());
}
void schedule::lose_counter() {
    any_server().lose_counter(any_key());
}
void schedule::spoil_counter() {
    any_server().spoil_counter(any_key());
}
void schedule::run_out_of_memory() {
    any_server().run_out_of_memory(world_.random.up_to(300ms));
}
void schedule::lose_right() {
    any_server().lose_right(world_.random.up_to(300ms));
}
void schedule::refuse_writes() {
    server& one = any_server();
    const duration how_long = world_.random.up_to(200ms);
    if (world_.profile().deployment.kind == topology::standalone && world_.random.chance(0.5)) {
        one.become_replica(how_long);
    } else {
        one.refuse_writes(how_long);
    }
}
void schedule::lose_scripts() {
    any_server().lose_scripts();
}
void schedule::take_name() {
    any_server().take_name_of(any_key(), world_.random.up_to(300ms));
}
void schedule::pause_client() {
    const bool hiccup = world_.random.chance(0.4);
    world_.count(hiccup ? fault::client_hiccup : fault::client_pause);
    any_client().pause(hiccup ? world_.random.up_to(80ms) : world_.random.between(500ms, 900ms));
}
void schedule::crash_client() {
    any_client().crash();
}
/// Lets one client after the other try to adopt a detached lease. The first try is soon, late, or never made.
void schedule::hand_on(const std::string& text) {
    dice& random = world_.random;
    if (random.chance(0.1)) {
        return;
    }
    world_.after(random.up_to(random.chance(0.8) ? 30ms : 600ms),
                 [this, text] { any_client().take_over(text, [this, text] { hand_on(text); }); });
}
void schedule::close_client() {
    any_client().close();
}

result schedule::run() {
    populate();
    plan_faults();
    world_.run(true_time(world_.faults().busy_time), most_steps);
    expect_goodput();
    calm_down();
    for (auto& c : clients_) {
        if (world_.violations().empty()) {
            c->expect_nothing_pending();
        }
    }
    duration set_back{};
    for (auto& s : voters_) {
        set_back = std::max(set_back, s->set_back());
    }
    world_.run(world_.now() + longest_ttl + bound + set_back, most_steps);
    if (world_.violations().empty()) {
        checker_.expect_nobody(keys());
    }
    // After its permits have expired, the key of a semaphore lives for the same time again.
    world_.run(world_.now() + longest_ttl, most_steps);
    if (world_.violations().empty()) {
        checker_.expect_no_keys(keys());
    }
    if (!once_.empty() && world_.violations().empty()) {
        world_.run(world_.now() + longest_keep + set_back, most_steps);
        checker_.expect_no_keys(once_);
    }
    return {world_.tally, world_.violations()};
}

}  // namespace

result run_schedule(const profile& p, std::uint64_t seed, bool trace) {
    return schedule(p, seed, trace).run();
}

}  // namespace colock::simulation
