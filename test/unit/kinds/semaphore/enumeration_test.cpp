// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/lease.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/table.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

// Enumerates all orders in which the commands of a few leases are executed and their votes arrive. It uses
// the production state machine and kind. There are never more permits in use than the limit, and a lone
// acquire gets a free permit. The same was shown for a model of the protocol before its implementation.

namespace colock::kinds {
namespace {

using boost::unit_test::label;
using core::lease;
using core::lease_tag;

/// The number of instances and permits, and the demand of each lease.
struct size_of_world {
    std::size_t instances;
    std::uint32_t limit;
    std::vector<std::uint32_t> counts;
    std::vector<unsigned> preferred;
    bool give_up = true;  // A lease may give up at any moment.
};

/// An event of a lease.
struct happening {
    lease::event::kind_type kind;
    core::time_point time;
    std::size_t at = 0;  // The instance of a vote. The fields below also belong to a vote.
    lease_tag tag{lease_tag::purpose_type::acquire};
    core::vote vote{};

    /// Returns true if a lease reacts to both events in the same way.
    [[nodiscard]] bool is_like(const happening& other) const {
        return kind == other.kind && time == other.time && at == other.at && tag == other.tag &&
               vote.kind == other.vote.kind && vote.key == other.vote.key &&
               vote.value == other.vote.value &&
               (vote.detail ? other.vote.detail && *vote.detail == *other.vote.detail
                            : !other.vote.detail);
    }
};

/// A lease with all its past events. A lease cannot be copied, but another lease with the same events behaves
/// identically.
class lease_with_past {
public:
    explicit lease_with_past(std::size_t instances)
        : settings_(std::make_shared<const core::lease_settings>(settings_for(instances))) {}
    lease_with_past(const lease_with_past&) = delete;
    lease_with_past& operator=(const lease_with_past&) = delete;
    ~lease_with_past() = default;

    /// Applies an event. If the lease is shared, the others keep the old one. Each future is computed only
    /// once.
    static void resume(std::shared_ptr<lease_with_past>& shared, happening what) {
        if (shared.use_count() == 1) {
            shared->futures_.clear();
            shared->resume(std::move(what));
            return;
        }
        for (const std::shared_ptr<lease_with_past>& future : shared->futures_) {
            if (future->past_.back().is_like(what)) {
                shared = std::shared_ptr(future);
                return;
            }
        }
        const auto future = std::make_shared<lease_with_past>(shared->settings_->instances);
        for (const happening& each : shared->past_) {
            future->resume(each);
        }
        future->resume(std::move(what));
        shared->futures_.push_back(future);
        shared = future;
    }

    [[nodiscard]] const lease& machine() const noexcept { return machine_; }
    [[nodiscard]] std::size_t age() const noexcept { return past_.size(); }
    /// Returns the step after the last event.
    [[nodiscard]] const core::lease_step& step() const noexcept { return step_; }

private:
    static core::lease_settings settings_for(std::size_t instances) {
        core::lease_settings result;
        result.instances = instances;
        result.ttl = std::chrono::hours(1);
        result.instance_timeout = std::chrono::minutes(1);
        result.agreement = core::agreement::same;
        return result;
    }

    void resume(happening what) {
        static const core::attempt attempt{.contended = true};
        lease::event e = lease::event::just(what.kind);
        e.index = what.at;
        e.tag = what.tag;
        e.vote = &what.vote;
        e.attempt = &attempt;
        step_ = machine_.resume(e, what.time);
        past_.push_back(std::move(what));
    }

    std::shared_ptr<const core::lease_settings> settings_;
    lease machine_{*settings_, 1};
    core::lease_step step_;
    std::vector<happening> past_;
    std::vector<std::shared_ptr<lease_with_past>> futures_;
};

enum class act : std::uint8_t { start, execute, deliver, wait, let_go };

struct action {
    act what;
    std::uint8_t who;
    std::uint8_t where = 0;
};

class world {
public:
    explicit world(const size_of_world& size) : size_(&size) {
        for (std::size_t at = 0; at != size.instances; ++at) {
            servers_.push_back(std::make_shared<server>());
        }
        for (std::size_t i = 0; i != size.counts.size(); ++i) {
            add(size.counts[i], size.preferred[i]);
        }
    }

    /// Returns all possible next actions.
    [[nodiscard]] std::vector<action> enabled() const {
        std::vector<action> result;
        for (std::uint8_t i = 0; i != parties_.size(); ++i) {
            const party& one = parties_[i];
            if (!one.started) {
                result.push_back({act::start, i});
                continue;
            }
            for (std::uint8_t at = 0; at != size_->instances; ++at) {
                if (!one.to_execute[at].empty()) {
                    result.push_back({act::execute, i, at});
                }
                if (!one.to_deliver[at].empty()) {
                    result.push_back({act::deliver, i, at});
                }
            }
            if (one.machine().acquiring() && one.until < now_ + std::chrono::milliseconds(1)) {
                result.push_back({act::wait, i});
            }
            if (one.machine().held() || (size_->give_up && one.machine().acquiring())) {
                result.push_back({act::let_go, i});
            }
        }
        return result;
    }

    void apply(const action& a) {
        party& one = parties_[a.who];
        one.text.clear();
        switch (a.what) {
            case act::start:
                one.started = true;
                resume(one, {lease::event::kind_type::start, now_});
                break;
            case act::execute: {
                const sent next = take_first(one.to_execute[a.where]);
                command c = next.what;
                c.values = next.values.empty() ? nullptr : &next.values;
                std::shared_ptr<server>& at = servers_[a.where];
                if (at.use_count() != 1) {
                    at = std::make_shared<server>(*at);
                }
                at->text.clear();
                one.to_deliver[a.where].push_back({next.tag, at->keys.execute(c, now_)});
                break;
            }
            case act::deliver:
                deliver(one, a.where);
                break;
            case act::wait:
                now_ = std::max(now_, one.until);
                resume(one, {lease::event::kind_type::timer, now_});
                break;
            case act::let_go:
                resume(one, {one.machine().held() ? lease::event::kind_type::release
                                                  : lease::event::kind_type::give_up,
                             now_});
                break;
        }
        deliver_to_those_that_let_go(one);
    }

    /// Returns the slots of all leases that are valid now.
    [[nodiscard]] std::vector<std::uint32_t> slots_out() const {
        std::vector<std::uint32_t> result;
        for (const party& one : parties_) {
            if (one.machine().held()) {
                command c;
                one.machine().fill(c, lease_tag(lease_tag::purpose_type::extend));
                std::string list = c.values != nullptr ? *c.values : std::to_string(c.value) + ' ';
                while (!list.empty()) {
                    result.push_back(
                        (one.who->preferred + static_cast<std::uint32_t>(std::stoul(list)) - 1) %
                        size_->limit);
                    list.erase(0, list.find(' ') + 1);
                }
            }
        }
        return result;
    }

    /// Returns true if no command, vote or attempt is pending.
    [[nodiscard]] bool is_quiet() const {
        const auto is_empty = [](const auto& queue) { return queue.empty(); };
        return std::ranges::all_of(parties_, [&](const party& one) {
            return !one.machine().acquiring() && std::ranges::all_of(one.to_execute, is_empty) &&
                   std::ranges::all_of(one.to_deliver, is_empty);
        });
    }

    /// Returns true if another lease gets this many permits while no other action happens.
    [[nodiscard]] bool admits_lone(std::uint32_t count, unsigned preferred) {
        add(count, preferred);
        const auto i = static_cast<std::uint8_t>(parties_.size() - 1);
        apply({act::start, i});
        const party& one = parties_[i];
        for (int steps = 0; steps != 1000 && one.machine().acquiring(); ++steps) {
            for (std::uint8_t at = 0; at != size_->instances; ++at) {
                while (!one.to_execute[at].empty()) {
                    apply({act::execute, i, at});
                }
                if (!one.to_deliver[at].empty()) {
                    apply({act::deliver, i, at});
                }
            }
        }
        return one.machine().held();
    }

    /// Returns everything that determines the future, except the time.
    [[nodiscard]] std::string state() const {
        std::string text;
        for (const party& one : parties_) {
            text += text_of(one);
        }
        for (const std::shared_ptr<server>& at : servers_) {
            text += text_of(*at);
        }
        return text;
    }

private:
    struct sent {
        lease_tag tag;
        command what;
        std::string values;
    };
    struct voted {
        lease_tag tag;
        core::vote vote;
    };
    struct server {
        table keys;
        std::string text;  // A cached description of the state, or empty.
    };
    struct identity {
        const lock_kind& kind;
        std::string token;
        std::uint32_t preferred;
    };
    /// Copies share everything that no action has changed.
    struct party {
        party(std::size_t instances, identity its_own)
            : who(std::make_shared<const identity>(std::move(its_own))),
              its_lease(std::make_shared<lease_with_past>(instances)),
              to_execute(instances),
              to_deliver(instances) {}

        [[nodiscard]] const lease& machine() const noexcept { return its_lease->machine(); }

        std::shared_ptr<const identity> who;
        std::shared_ptr<lease_with_past> its_lease;
        bool started = false;
        lease_tag latest{lease_tag::purpose_type::acquire};
        core::time_point until = core::never;
        std::vector<std::vector<sent>> to_execute;  // By instance, in order.
        std::vector<std::vector<voted>> to_deliver;
        mutable std::string text;  // A cached description of the state, or empty.
    };

    template <typename T>
    static T take_first(std::vector<T>& queue) {
        T result = std::move(queue.front());
        queue.erase(queue.begin());
        return result;
    }

    void add(std::uint32_t count, unsigned preferred) {
        std::string digits = "0000000" + std::to_string(preferred);
        digits += std::string(31, '0') + static_cast<char>('a' + parties_.size());
        parties_.emplace_back(size_->instances,
                              identity{semaphore(size_->limit, count),
                                       "permit:" + std::to_string(size_->limit) + "*" +
                                           std::to_string(count) + ":" + digits,
                                       preferred});
    }

    static const std::string& text_of(const party& one) {
        if (!one.text.empty()) {
            return one.text;
        }
        std::string& text = one.text;
        const bool counts = !one.machine().let_go();
        text += !one.started ? '-' : !counts ? 'l' : one.machine().held() ? 'h' : 'a';
        text += counts ? std::to_string(one.latest.value()) : std::string();
        for (std::size_t at = 0; at != one.to_execute.size(); ++at) {
            const auto vote =
                counts ? one.machine().votes().vote_of(at) : std::optional<core::vote>();
            text += vote ? text_of(*vote) : "?";
            for (const sent& next : one.to_execute[at]) {
                text += 'e' + std::to_string(next.tag.value()) + ',' +
                        std::to_string(next.what.value) + next.values;
            }
            for (const voted& next : one.to_deliver[at]) {
                text += 'v' + std::to_string(next.tag.value()) + text_of(next.vote);
            }
            text += ';';
        }
        return text;
    }
    const std::string& text_of(server& one) const {
        if (one.text.empty()) {
            auto* const found = one.keys.find("k", now_);
            one.text += '|';
            if (found != nullptr) {
                for (const auto& [slot, holder] : found->as<permits>()->slots) {
                    one.text += std::to_string(slot) + holder.token.back();
                }
            }
        }
        return one.text;
    }
    static std::string text_of(const core::vote& vote) {
        return vote.kind == core::vote_kind::granted
                   ? std::to_string(vote.value) + (vote.detail ? *vote.detail : "")
                   : "n";
    }

    /// Delivers all votes of a released lease. The time of their delivery makes no difference to other
    /// leases.
    void deliver_to_those_that_let_go(party& one) {
        bool goes_on = one.machine().let_go();
        while (goes_on) {
            goes_on = false;
            for (std::uint8_t at = 0; at != size_->instances; ++at) {
                if (!one.to_deliver[at].empty()) {
                    deliver(one, at);
                    goes_on = true;
                }
            }
        }
    }

    void deliver(party& one, std::uint8_t at) {
        const voted next = take_first(one.to_deliver[at]);
        resume(one, {lease::event::kind_type::vote, now_, at, next.tag, next.vote});
    }

    /// Applies an event. Each later event of a lease gets a later time.
    void resume(party& one, happening what) const {
        what.time += std::chrono::microseconds(one.its_lease->age());
        lease_with_past::resume(one.its_lease, std::move(what));
        const core::lease_step& step = one.its_lease->step();
        one.until = step.until;
        if (!step.heals.empty()) {
            send(one, lease_tag(lease_tag::purpose_type::heal), step.heals);
        }
        if (step.send) {
            one.latest = *step.send;
            send(one, *step.send, step.targets);
        }
    }

    void send(party& one, lease_tag tag, core::instance_set targets) const {
        command c;
        c.kind = &one.who->kind;
        c.key = "k";
        c.token = one.who->token;
        one.machine().fill(c, tag);
        for (std::size_t at = 0; at != size_->instances; ++at) {
            if (targets.contains(at)) {
                one.to_execute[at].push_back(
                    {tag, c, c.values != nullptr ? *c.values : std::string()});
            }
        }
    }

    const size_of_world* size_;
    core::time_point now_{std::chrono::hours(1)};
    std::vector<std::shared_ptr<server>> servers_;
    std::vector<party> parties_;
};

/// For the message of a failed check, which is built only then.
std::ostream& operator<<(std::ostream& to, const world& w) {
    return to << w.state();
}

/// Checks the invariants of a world. The caller may have reached it by any path.
void check(world w, const size_of_world& size) {
    const std::vector<std::uint32_t> out = w.slots_out();
    const std::set<std::uint32_t> distinct(out.begin(), out.end());
    BOOST_TEST_REQUIRE(distinct.size() == out.size(), w);
    BOOST_TEST_REQUIRE(out.size() <= size.limit, w);
    if (w.is_quiet() && out.size() < size.limit) {
        BOOST_TEST_REQUIRE(w.admits_lone(1, static_cast<unsigned>(out.size()) % size.limit), w);
    }
}

/// Visits all states. Returns their number.
std::size_t enumerate(const size_of_world& size) {
    struct branch {
        std::shared_ptr<world> from;
        std::optional<action> next;
    };
    std::unordered_set<std::string> seen;
    std::vector<branch> to_visit{{std::make_shared<world>(size), {}}};
    while (!to_visit.empty()) {
        auto [here, next] = std::move(to_visit.back());
        to_visit.pop_back();
        if (next) {
            if (here.use_count() != 1) {
                here = std::make_shared<world>(*here);
            }
            here->apply(*next);
        }
        if (!seen.insert(here->state()).second) {
            continue;
        }
        for (const action& each : here->enabled()) {
            to_visit.push_back({here, each});
        }
        check(*here, size);
    }
    return seen.size();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(semaphore_enumeration)

BOOST_AUTO_TEST_CASE(every_order_of_two_leases_is_safe, *label("fault-47")) {
    std::vector<size_of_world> sizes{{3, 1, {1, 1}, {0, 0}}, {3, 2, {1, 1}, {0, 1}}};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // It takes too long there.
    sizes.push_back({3, 2, {1, 1}, {0, 0}, false});
#endif
    for (const size_of_world& size : sizes) {
        const std::size_t states = enumerate(size);
        BOOST_TEST_MESSAGE(states << " states");
        BOOST_TEST(states > 1000U);
    }
}

BOOST_AUTO_TEST_CASE(random_orders_of_more_leases_are_safe, *label("fault-47")) {
    const std::vector<size_of_world> sizes{{3, 2, {1, 1, 1}, {0, 0, 0}},
                                           {3, 3, {1, 1, 1, 1}, {0, 0, 1, 1}},
                                           {3, 3, {2, 1, 2}, {0, 0, 1}},
                                           {5, 2, {1, 1, 1}, {0, 0, 0}},
                                           {5, 4, {1, 2, 1, 3}, {0, 0, 1, 2}}};
    std::mt19937 random(1);
    std::size_t grants = 0;
    for (int run = 0; run != 4000; ++run) {
        const size_of_world& size = sizes[random() % sizes.size()];
        BOOST_TEST_CONTEXT("run " << run) {
            world w(size);
            for (int steps = 0; steps != 120; ++steps) {
                const std::vector<action> all = w.enabled();
                if (all.empty()) {
                    break;
                }
                action next = all[random() % all.size()];
                if (next.what == act::let_go && random() % 8 != 0) {
                    next = all[random() % all.size()];
                }
                w.apply(next);
                const std::vector<std::uint32_t> out = w.slots_out();
                const std::set<std::uint32_t> distinct(out.begin(), out.end());
                BOOST_TEST_REQUIRE(distinct.size() == out.size(), w);
                grants += out.size();
            }
            if (w.is_quiet()) {
                check(w, size);
            }
        }
    }
    BOOST_TEST(grants > 10'000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::kinds
