// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_UNIT_RUNTIME_VIRTUAL_WORLD_HPP
#define COLOCK_TEST_UNIT_RUNTIME_VIRTUAL_WORLD_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "instance/instance.hpp"
#include "instance/send_window.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/table.hpp"
#include "runtime/engine.hpp"
#include "runtime/environment.hpp"
#include "runtime/events.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/operations/acquire_operation.hpp"
#include "support/event_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Production engines in a world of virtual time. No thread sleeps, nothing is sent, and the order of events
// is always the same.

namespace colock::test {

/// The virtual clock and the pending events.
class virtual_world {
public:
    [[nodiscard]] core::time_point now() const noexcept { return events_.now(); }

    void at(core::time_point when, std::function<void()> what) {
        events_.at(when, std::move(what));
    }
    void after(core::duration delay, std::function<void()> what) {
        at(now() + delay, std::move(what));
    }

    /// Lets time pass.
    void run_for(core::duration d) {
        const core::time_point end = now() + d;
        while (events_.has_until(end)) {
            events_.run_next();
        }
        events_.pass_to(end);
    }

    /// Lets time pass without any event. It simulates a blocked program.
    void be_busy_for(core::duration d) { events_.pass_to(now() + d); }

    /// Lets time pass until the condition holds. Returns false if it does not hold within that time.
    template <typename Condition>
    [[nodiscard]] bool run_until(const Condition& condition,
                                 core::duration at_most = std::chrono::seconds(30)) {
        const core::time_point end = now() + at_most;
        while (!condition()) {
            if (!events_.has_until(end)) {
                return false;
            }
            events_.run_next();
        }
        return true;
    }

private:
    event_queue<core::time_point> events_{core::time_point(std::chrono::hours(1000))};
};

class virtual_instance;

/// The state and the behaviour of a server.
struct virtual_server {
    kinds::table keys;
    core::duration latency = std::chrono::microseconds(50);  ///< In one direction.
    core::duration service{};  ///< The time for each command. All clients share one queue.
    core::time_point busy_until{};
    bool is_silent = false;  ///< It accepts commands without executing them.
    bool is_up = true;
    core::time_point quarantined_until = core::time_point::min();  ///< For later connections.
    bool is_connecting = false;  ///< Nobody is connected, and the display says so.
    bool is_starting = false;    ///< It is not up, and no connection has been tried.
    bool loses_leaves = false;   ///< A `leave` of a remote queue gets no reply.
    std::size_t lost_leaves = 0;
    bool tells_changes = false;  ///< It notifies of changes, and so supports remote queues.
    std::size_t executed = 0;
    /// The instances to notify of changes to a key.
    std::set<std::pair<std::string, virtual_instance*>> asked{};
};

/// The connection of an engine to a server.
class virtual_instance final : public instance::instance {
public:
    virtual_instance(virtual_world& world, virtual_server& server, std::size_t index,
                     colock::instance::instance_observer& observer)
        : world_(world), server_(server), index_(index), observer_(observer) {}
    ~virtual_instance() override {
        std::erase_if(server_.asked, [this](const auto& asker) { return asker.second == this; });
    }

    void start() override {
        if (!is_quarantined()) {
            return;
        }
        world_.at(server_.quarantined_until, [this, alive = std::weak_ptr(alive_)] {
            if (!alive.expired()) {
                observer_.on_state_change(index_);
            }
        });
    }
    void stop() override { is_stopped_ = true; }

    void send(const std::shared_ptr<const colock::instance::batch>& commands,
              core::time_point now) override {
        std::vector<colock::instance::submission> sent;
        for (const auto& one : commands->submissions()) {
            if (!one.is_for(index_)) {
                continue;
            }
            const core::failure why = reason_to_refuse(one, now);
            if (why == core::failure::quarantined) {
                one.receiver->on_vote(index_, one.tag,
                                      core::vote::quarantined(server_.quarantined_until), now);
            } else if (why != core::failure::none) {
                one.receiver->on_vote(index_, one.tag, core::vote::failed(why), now);
            } else if (server_.loses_leaves && one.command.step == core::step::leave) {
                ++server_.lost_leaves;
            } else {
                sent.push_back(one);
            }
        }
        waiting_since_ = in_flight_ == 0 ? now : waiting_since_;
        in_flight_ += sent.size();
        if (!sent.empty()) {
            window_.on_sent(in_flight_, sent.size(), now);
        }
        if (!sent.empty() && !server_.is_silent) {
            world_.at(arrival_after(to_server_), [this, sent, alive = std::weak_ptr(alive_)] {
                if (!alive.expired()) {
                    execute_in_parts(sent, world_.now() - server_.latency);
                }
            });
        }
    }

    /// Notifies all instances that have queried the key, except the instance that has changed it. Each is
    /// notified once.
    static void tell_of_change(virtual_server& server, const std::string& key,
                               const virtual_instance* by) {
        std::vector<virtual_instance*> told;
        std::erase_if(server.asked, [&](const auto& asker) {
            if (asker.first != key) {
                return false;
            }
            told.push_back(asker.second);
            return true;
        });
        for (virtual_instance* const who : told) {
            if (who != by) {
                who->hear(key);
            }
        }
    }

    [[nodiscard]] bool ready() const noexcept override { return serving() && !is_quarantined(); }
    [[nodiscard]] bool answers_since(core::time_point then) const override {
        return in_flight_ == 0 || std::max(answered_at_, waiting_since_) >= then;
    }
    [[nodiscard]] bool takes_commands(core::time_point /*now*/) const override { return serving(); }
    [[nodiscard]] std::size_t room() const noexcept override {
        return ready() ? window_.size() - std::min(window_.size(), in_flight_) : unlimited;
    }
    [[nodiscard]] std::uint64_t keeper_id() const noexcept override {
        return ready() && server_.tells_changes ? 1 + index_ : 0;
    }
    [[nodiscard]] bool starting() const noexcept override { return server_.is_starting; }
    [[nodiscard]] colock::instance::status snapshot() const override {
        colock::instance::status result;
        result.address = "server " + std::to_string(index_);
        if (ready()) {
            result.state = colock::instance::state::ready;
        } else if (serving()) {
            result.state = colock::instance::state::quarantined;
            result.why_quarantined = "too young";
        } else {
            result.state = server_.is_connecting ? colock::instance::state::connecting
                                                 : colock::instance::state::down;
        }
        return result;
    }

private:
    [[nodiscard]] bool serving() const noexcept {
        return server_.is_up && !server_.is_connecting && !is_stopped_;
    }
    [[nodiscard]] bool is_quarantined() const noexcept {
        return world_.now() < server_.quarantined_until;
    }

    /// Returns the arrival time of a command that is sent now. `last` is the last arrival in the same
    /// direction. A connection keeps the order.
    core::time_point arrival_after(core::time_point& last) const {
        last = std::max(last, world_.now() + server_.latency);
        return last;
    }

    [[nodiscard]] core::failure reason_to_refuse(const colock::instance::submission& one,
                                                 core::time_point now) const {
        if (!one.receiver->wanted(index_, one.tag)) {
            return core::failure::withdrawn;
        }
        if (!serving()) {
            return core::failure::down;
        }
        if (is_quarantined() && core::relies_on_memory(one.command)) {
            return core::failure::quarantined;
        }
        return now > one.command.deadline ? core::failure::too_late : core::failure::none;
    }

    /// Delivers the replies in parts, because a client reads the replies of a server from time to time.
    void execute_in_parts(const std::vector<colock::instance::submission>& sent,
                          core::time_point sent_at) {
        const std::size_t size_of_part =
            server_.service == core::duration::zero()
                ? sent.size()
                : static_cast<std::size_t>(std::chrono::milliseconds(1) / server_.service) + 1;
        for (std::size_t begin = 0; begin < sent.size(); begin += size_of_part) {
            const std::size_t end = std::min(begin + size_of_part, sent.size());
            const std::vector<colock::instance::submission> part(
                sent.begin() + static_cast<std::ptrdiff_t>(begin),
                sent.begin() + static_cast<std::ptrdiff_t>(end));
            server_.busy_until = std::max(server_.busy_until, world_.now()) +
                                 server_.service * static_cast<core::duration::rep>(part.size());
            const bool is_first = begin == 0;
            const bool is_last = end == sent.size();
            const auto run = [=, this, alive = std::weak_ptr(alive_)] {
                if (!alive.expired()) {
                    execute(part, sent_at, is_first, is_last);
                }
            };
            if (server_.service == core::duration::zero()) {
                run();
            } else {
                world_.at(server_.busy_until, run);
            }
        }
    }

    void execute(const std::vector<colock::instance::submission>& sent, core::time_point sent_at,
                 bool is_first, bool is_last) {
        std::vector<core::vote> votes;
        votes.reserve(sent.size());
        const auto wall =
            std::chrono::duration_cast<std::chrono::microseconds>(world_.now().time_since_epoch());
        for (const auto& one : sent) {
            ++server_.executed;
            votes.push_back(server_.keys.execute(one.command, world_.now(), wall));
            for (const std::string& key : std::vector<std::string>(server_.keys.changes())) {
                tell_of_change(server_, key, this);
            }
            if (server_.tells_changes && one.command.step == core::step::remaining &&
                votes.back().key == core::key_state::foreign) {
                watch(std::string(one.command.key), votes.back().remaining);
                for (const std::string_view key : one.command.more_keys) {
                    watch(std::string(key), votes.back().remaining);
                }
            }
        }
        world_.at(arrival_after(to_client_), [=, this, alive = std::weak_ptr(alive_)] {
            if (alive.expired()) {
                return;
            }
            in_flight_ -= sent.size();
            answered_at_ = world_.now();
            for (std::size_t i = 0; i != sent.size(); ++i) {
                sent[i].receiver->on_vote(index_, sent[i].tag, votes[i], world_.now());
            }
            if (is_first) {
                window_.on_first_answer(sent_at, world_.now());
            }
            if (is_last) {
                window_.on_answered(sent_at, world_.now());
            }
        });
    }

    /// An expired key counts as changed too.
    void watch(const std::string& key, core::milliseconds remaining) {
        server_.asked.emplace(key, this);
        world_.after(
            remaining + std::chrono::milliseconds(2), [this, key, alive = std::weak_ptr(alive_)] {
                if (alive.expired()) {
                    return;
                }
                kinds::command ask;
                ask.kind = &kinds::exclusive;
                ask.step = core::step::remaining;
                ask.key = key;
                if (server_.keys.execute(ask, world_.now()).key == core::key_state::absent) {
                    tell_of_change(server_, key, nullptr);
                }
            });
    }

    void hear(const std::string& key) {
        world_.at(arrival_after(to_client_), [this, key, alive = std::weak_ptr(alive_)] {
            if (!alive.expired()) {
                observer_.on_key_changed(index_, key);
            }
        });
    }

    virtual_world& world_;
    virtual_server& server_;
    std::size_t index_;
    colock::instance::instance_observer& observer_;
    bool is_stopped_ = false;
    colock::instance::send_window window_{1U << 16U, std::chrono::milliseconds(125)};
    std::size_t in_flight_ = 0;
    core::time_point answered_at_{};
    core::time_point waiting_since_{};
    core::time_point to_server_ = core::time_point::min();
    core::time_point to_client_ = core::time_point::min();
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class virtual_environment final : public runtime::environment {
public:
    explicit virtual_environment(virtual_world& world, std::uint64_t seed)
        : world_(world), random_(seed) {}

    [[nodiscard]] core::time_point now() const noexcept override { return world_.now(); }
    void defer() override {
        if (std::exchange(is_out_of_memory, false)) {
            throw std::bad_alloc();
        }
        world_.at(world_.now(), [this, alive = std::weak_ptr(alive_)] {
            if (!alive.expired()) {
                engine->turn();
            }
        });
    }
    void wake_at(core::time_point when) override {
        const std::uint64_t number = ++wake_number_;
        if (when != core::never) {
            world_.at(when, [this, number, alive = std::weak_ptr(alive_)] {
                if (!alive.expired() && number == wake_number_) {
                    engine->wake();
                }
            });
        }
    }
    std::uint64_t random() noexcept override { return core::next_random(random_); }

    runtime::engine* engine = nullptr;
    bool is_out_of_memory = false;  ///< Applies to the next requested turn.

private:
    virtual_world& world_;
    std::uint64_t random_;
    std::uint64_t wake_number_ = 0;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// A release that records its result.
class virtual_release final : public runtime::release_operation {
public:
    using release_operation::release_operation;
    void deliver() override {
        told = outcome();
        was_cancelled = result() == runtime::lease_result::cancelled;
        was_not_held = result() == runtime::lease_result::not_held;
        was_closed = result() == runtime::lease_result::closed;
    }

    std::optional<core::release_outcome> told;
    bool was_cancelled = false;
    bool was_not_held = false;
    bool was_closed = false;
};

/// A downgrade that records its result.
class virtual_downgrade final : public runtime::downgrade_operation {
public:
    using downgrade_operation::downgrade_operation;
    void deliver() override { told = result(); }
    std::optional<runtime::lease_result> told;
};

/// A close of a client that records its result.
class virtual_close final : public runtime::close_operation {
public:
    using close_operation::close_operation;
    void deliver() override { told = outcome(); }
    std::optional<outcome_type> told;
};

/// An acquire that records its result.
class virtual_acquire final : public runtime::acquire_operation {
public:
    virtual_acquire(virtual_world& world, std::shared_ptr<const runtime::lock_spec> spec,
                    core::time_point deadline, std::uint64_t owner = 0)
        : acquire_operation(std::move(spec), deadline, owner), world_(world) {}

    void deliver() override {
        is_finished = true;
        finished_at = world_.now();
        outcome = result();
        lease = take_lease();
        holder_number = holder();
        fence_number = fence();
        text = details();
        if (on_finished) {
            on_finished();
        }
    }

    [[nodiscard]] bool granted() const {
        return is_finished && outcome == core::acquire_outcome::granted;
    }
    [[nodiscard]] bool is_shared() const { return lease->is_shared(holder_number); }
    void let_go() { lease->let_go(holder_number); }
    [[nodiscard]] std::shared_ptr<virtual_release> release() const {
        auto result = std::make_shared<virtual_release>(lease, holder_number);
        result->start(result);
        return result;
    }
    [[nodiscard]] core::time_point valid_until() const { return lease->valid_until(holder_number); }

    std::function<void()> on_finished;
    bool is_finished = false;
    core::time_point finished_at{};
    core::acquire_outcome outcome = core::acquire_outcome::cancelled;
    std::shared_ptr<runtime::lease_driver> lease;
    std::uint32_t holder_number = 0;
    std::uint64_t fence_number = 0;
    std::string text;

private:
    virtual_world& world_;
};

/// Another operation on a lease that records its result.
template <typename Operation>
class virtual_operation final : public Operation {
public:
    template <typename... More>
    static std::shared_ptr<virtual_operation> begin(const virtual_acquire& of, More... more) {
        const auto made = std::make_shared<virtual_operation>(of.lease, of.holder_number, more...);
        made->start(made);
        return made;
    }
    using Operation::Operation;
    void deliver() override {
        is_finished = true;
        ended_with = Operation::result();
    }

    bool is_finished = false;
    runtime::lease_result ended_with = runtime::lease_result::cancelled;
};

using acquire = std::shared_ptr<virtual_acquire>;

/// Several servers, and their clients.
class virtual_deployment {
public:
    explicit virtual_deployment(std::size_t servers) : servers_(servers) {}

    [[nodiscard]] virtual_world& world() noexcept { return world_; }
    [[nodiscard]] virtual_server& server(std::size_t index) { return servers_[index]; }

    /// Sets whether all servers notify of changes, and so support remote queues.
    void tell_changes(bool tells = true) {
        for (virtual_server& one : servers_) {
            one.tells_changes = tells;
        }
    }

    /// Expects that an operation finishes in time.
    template <typename Operation>
    void finish(const std::shared_ptr<Operation>& one,
                core::duration at_most = std::chrono::seconds(30)) {
        BOOST_TEST_REQUIRE(world_.run_until([&] { return one->is_finished; }, at_most));
    }
    /// Expects that an acquire is granted in time, and returns it.
    acquire granted(acquire one, core::duration at_most = std::chrono::seconds(30)) {
        finish(one, at_most);
        BOOST_TEST_REQUIRE(one->granted());
        return one;
    }
    void expect_granted(const std::vector<acquire>& all) {
        for (const acquire& one : all) {
            granted(one);
        }
    }
    /// Expects that no client sends anything.
    void expect_silence() {
        const std::size_t before = executed();
        world_.run_for(std::chrono::seconds(5));
        BOOST_TEST(executed() == before);
    }

    /// Returns the number of commands that the servers have executed.
    [[nodiscard]] std::size_t executed() const {
        std::size_t result = 0;
        for (const virtual_server& one : servers_) {
            result += one.executed;
        }
        return result;
    }

    class client {
    public:
        client(virtual_deployment& in, std::uint64_t seed, core::milliseconds instance_timeout,
               runtime::engine_settings settings)
            : in_(in), environment_(in.world_, seed), instance_timeout_(instance_timeout) {
            settings.instance_timeout = instance_timeout;
            settings.close_timeout = std::chrono::seconds(2);
            engine_ = std::make_shared<runtime::engine>(environment_, settings);
            environment_.engine = engine_.get();
            runtime::instance_group::list instances;
            for (std::size_t i = 0; i != in.servers_.size(); ++i) {
                instances.push_back(std::make_unique<virtual_instance>(in.world_, in.servers_[i], i,
                                                                       engine_->observer()));
            }
            engine_->take(std::move(instances));
            engine_->start();
            for (std::size_t i = 0; i != in.servers_.size(); ++i) {
                engine_->observer().on_state_change(i);
            }
        }
        client(const client&) = delete;
        client& operator=(const client&) = delete;
        ~client() { engine_->abandon(); }

        [[nodiscard]] runtime::engine& engine() noexcept { return *engine_; }
        [[nodiscard]] virtual_environment& environment() noexcept { return environment_; }

        /// Starts a server that was down or starting, and notifies the client.
        void reach(std::size_t index) {
            in_.server(index).is_up = true;
            in_.server(index).is_starting = false;
            engine_->observer().on_state_change(index);
        }

        /// Returns the policy of a mutex with default options. Its renewals are due without jitter.
        [[nodiscard]] runtime::lock_policy usual_policy() const {
            runtime::lock_policy policy(kinds::exclusive);
            policy.lease.instances = in_.servers_.size();
            policy.lease.ttl = std::chrono::seconds(10);
            policy.lease.renew_interval = policy.lease.ttl / 3;
            policy.lease.instance_timeout = instance_timeout_;
            policy.retry = {std::chrono::milliseconds(4), std::chrono::milliseconds(250)};
            policy.unavailable_timeout = std::chrono::seconds(1);
            return policy;
        }

        [[nodiscard]] std::shared_ptr<const runtime::lock_spec> spec_of(
            const std::string& key, const runtime::lock_policy& policy,
            std::vector<std::string> more_names = {}) const {
            auto spec = std::make_shared<runtime::lock_spec>();
            spec->owner = {engine_, &engine_->parts()};
            spec->policy = std::make_shared<const runtime::lock_policy>(policy);
            spec->key = key;
            spec->key_hash = runtime::hash_of_key(key);
            spec->more_names = std::move(more_names);
            spec->more_keys.assign(spec->more_names.begin(), spec->more_names.end());
            return spec;
        }

        std::shared_ptr<virtual_acquire> acquire(const std::string& key,
                                                 const runtime::lock_policy& policy,
                                                 core::time_point deadline = core::never,
                                                 std::uint64_t owner = 0, bool reenters = false) {
            const auto lock = std::make_shared<runtime::lock_spec>(*spec_of(key, policy));
            lock->is_reentrant = reenters;
            const auto result =
                std::make_shared<virtual_acquire>(in_.world_, lock, deadline, owner);
            result->start(result);
            return result;
        }
        std::shared_ptr<virtual_acquire> acquire(const std::string& key) {
            return acquire(key, usual_policy());
        }

        /// Acquires the lock, and expects that it is granted.
        std::shared_ptr<virtual_acquire> lock(const std::string& key,
                                              const runtime::lock_policy& policy) {
            return in_.granted(acquire(key, policy));
        }
        std::shared_ptr<virtual_acquire> lock(const std::string& key) {
            return lock(key, usual_policy());
        }

        std::shared_ptr<virtual_close> close() {
            const auto result = std::make_shared<virtual_close>(
                std::shared_ptr<runtime::engine>(std::shared_ptr<void>(), engine_.get()));
            result->start(result);
            return result;
        }

    private:
        virtual_deployment& in_;
        virtual_environment environment_;
        core::milliseconds instance_timeout_;
        std::shared_ptr<runtime::engine> engine_;
    };

    [[nodiscard]] std::unique_ptr<client> make_client(
        core::milliseconds instance_timeout = std::chrono::milliseconds(250)) {
        return std::make_unique<client>(*this, ++clients_, instance_timeout,
                                        runtime::engine_settings());
    }
    /// Makes a client whose events go to the receiver.
    [[nodiscard]] std::unique_ptr<client> make_client(
        std::shared_ptr<runtime::event_receiver> receiver, core::duration blocked_threshold = {}) {
        runtime::engine_settings settings;
        settings.receiver = std::move(receiver);
        settings.blocked_threshold = blocked_threshold;
        return std::make_unique<client>(*this, ++clients_, std::chrono::milliseconds(250),
                                        std::move(settings));
    }

private:
    virtual_world world_;
    std::deque<virtual_server> servers_;
    std::uint64_t clients_ = 0;
};

using client = virtual_deployment::client;

/// Some servers with three clients, as a fixture.
template <std::size_t Servers>
struct servers_and_clients : virtual_deployment {
    servers_and_clients() : virtual_deployment(Servers) {}

    std::unique_ptr<client> ann = make_client();
    std::unique_ptr<client> bob = make_client();
    std::unique_ptr<client> cyd = make_client();
};
using one_server = servers_and_clients<1>;
using three_servers = servers_and_clients<3>;
using five_servers = servers_and_clients<5>;

}  // namespace colock::test

#endif
