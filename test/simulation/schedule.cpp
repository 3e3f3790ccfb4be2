#include "simulation/schedule.hpp"

#include "simulation/checker.hpp"
#include "simulation/client.hpp"
#include "simulation/server.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>

namespace colock::simulation {
namespace {

constexpr duration busy_time = 1500ms;  // with faults
constexpr duration finish_time = 6s;    // for who still waits
constexpr duration longest_ttl = 1s;    // of 500 ms, extended to twice that
constexpr duration bound = 400ms;       // drift, and how late a command may be executed
constexpr std::uint64_t most_steps = 60000;

class schedule {
public:
    schedule(const profile& p, std::uint64_t seed, bool trace)
        : world_(p, seed, trace), checker_(world_, servers_) {}

    result run();

private:
    void populate();
    void plan_faults();
    void plan(double per_run, void (schedule::*what)());
    [[nodiscard]] server& any_server() { return *servers_[world_.random.below(servers_.size())]; }
    [[nodiscard]] client& any_client() { return *clients_[world_.random.below(clients_.size())]; }
    [[nodiscard]] const std::string& any_key() { return keys_[world_.random.below(keys_.size())]; }

    void reset();
    void partition();
    void block(std::size_t which_client, std::size_t which_server, bool there, bool back,
               duration how_long);
    void pause_instance();
    void restart_with_data();
    void restart_without_data();
    void roll_back();
    void jump();
    void delete_key();
    void shorten_key();
    void lose_counter();
    void spoil_counter();
    void pause_client();
    void crash_client();
    void close_client();

    world world_;
    std::vector<std::unique_ptr<server>> servers_;
    checker checker_;
    std::vector<std::unique_ptr<client>> clients_;
    std::vector<std::string> keys_;
};

void schedule::populate() {
    static constexpr std::array<std::size_t, 12> sizes = {1, 2, 3, 3, 3, 3, 3, 4, 5, 5, 5, 7};
    const std::size_t n = sizes[world_.random.below(sizes.size())];
    for (std::size_t i = 0; i != n; ++i) {
        servers_.push_back(std::make_unique<server>(world_, i));
        checker_.watch(i);
        servers_.back()->on_down = [this, i] {
            for (auto& c : clients_) {
                c->reset(i, std::nullopt);
            }
        };
    }
    keys_ = world_.random.chance(0.8) ? std::vector<std::string>{"key"}
                                      : std::vector<std::string>{"key", "other"};
    const std::size_t clients = 1 + world_.random.below(4);
    for (std::size_t i = 0; i != clients; ++i) {
        clients_.push_back(std::make_unique<client>(world_, checker_, servers_, i));
    }
    for (auto& c : clients_) {
        c->start(keys_, true_time(busy_time));
    }
}

/// `what` happens so many times per run on average, at any time.
void schedule::plan(double per_run, void (schedule::*what)()) {
    const auto most = static_cast<std::size_t>(std::ceil(per_run * 2));
    for (std::size_t i = 0; i != most; ++i) {
        if (world_.random.chance(per_run / static_cast<double>(most))) {
            world_.after(world_.random.up_to(busy_time), [this, what] { (this->*what)(); });
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
    plan(f.foreign_deletes, &schedule::delete_key);
    plan(f.foreign_expiries, &schedule::shorten_key);
    plan(f.counters_lost, &schedule::lose_counter);
    plan(f.counters_spoiled, &schedule::spoil_counter);
    plan(f.client_pauses, &schedule::pause_client);
    plan(f.client_crashes, &schedule::crash_client);
    plan(f.client_closes, &schedule::close_client);
}

void schedule::reset() {
    any_client().reset(world_.random.below(servers_.size()));
}

void schedule::partition() {
    const std::size_t c = world_.random.below(clients_.size());
    const std::size_t s = world_.random.below(servers_.size());
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
    if (world_.random.chance(0.4)) {  // they give the connection up
        world_.after(world_.random.up_to(how_long), [this, c, s] { clients_[c]->reset(s); });
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
        c.block(which_server, connection::to_server, world_.now() + how_long);
    }
    if (back) {
        c.block(which_server, connection::to_client, world_.now() + how_long);
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
void schedule::pause_client() {
    const bool hiccup = world_.random.chance(0.4);
    world_.count(hiccup ? fault::client_hiccup : fault::client_pause);
    any_client().pause(hiccup ? world_.random.up_to(80ms) : world_.random.between(500ms, 900ms));
}
void schedule::crash_client() {
    any_client().crash();
}
void schedule::close_client() {
    any_client().close();
}

result schedule::run() {
    populate();
    plan_faults();
    world_.run(true_time(busy_time), most_steps);
    world_.calm_down();
    world_.run(true_time(busy_time + finish_time), most_steps);
    for (auto& c : clients_) {
        if (world_.violations().empty()) {
            c->expect_nothing_pending();
        }
    }
    duration set_back{};
    for (auto& s : servers_) {
        set_back = std::max(set_back, s->set_back());
    }
    world_.run(world_.now() + longest_ttl + bound + set_back, most_steps);
    if (world_.violations().empty()) {
        checker_.expect_no_keys(keys_);
    }
    return {world_.tally, world_.violations()};
}

}  // namespace

result run_schedule(const profile& p, std::uint64_t seed, bool trace) {
    return schedule(p, seed, trace).run();
}

}  // namespace colock::simulation
