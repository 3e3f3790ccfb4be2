// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/lease.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/table.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

// All orders in which the commands of a few leases are executed and their votes come, on the production machine and kind. At no
// moment are there more permits out than there are, and a lone acquire gets one of those that are free. The same was shown of a
// model of the protocol before it was built.

namespace colock::kinds {
namespace {

using boost::unit_test::label;
using core::lease;
using core::lease_tag;

/// How many instances there are, how many permits, and what each of the leases wants.
struct size_of_world {
    std::size_t instances;
    std::uint32_t limit;
    std::vector<std::uint32_t> counts;
    std::vector<unsigned> preferred;
    bool give_up = true;  // at any moment
};

enum class act : std::uint8_t { start, execute, deliver, wait, let_go };

struct action {
    act what;
    std::uint8_t who;
    std::uint8_t where = 0;
};

class world {
public:
    explicit world(const size_of_world& size) : size_(size), tables_(size.instances) {
        for (std::size_t i = 0; i != size.counts.size(); ++i) {
            add(size.counts[i], size.preferred[i]);
        }
    }

    /// What can happen next.
    [[nodiscard]] std::vector<action> enabled() const {
        std::vector<action> result;
        for (std::uint8_t i = 0; i != parties_.size(); ++i) {
            const party& one = *parties_[i];
            if (!one.started) {
                result.push_back({act::start, i});
                continue;
            }
            for (std::uint8_t at = 0; at != size_.instances; ++at) {
                if (!one.to_execute[at].empty()) {
                    result.push_back({act::execute, i, at});
                }
                if (!one.to_deliver[at].empty()) {
                    result.push_back({act::deliver, i, at});
                }
            }
            if (one.machine.acquiring() && one.until < now_ + std::chrono::milliseconds(1)) {
                result.push_back({act::wait, i});
            }
            if (one.machine.held() || (size_.give_up && one.machine.acquiring())) {
                result.push_back({act::let_go, i});
            }
        }
        return result;
    }

    void apply(const action& a) {
        now_ += std::chrono::microseconds(1);
        party& one = *parties_[a.who];
        switch (a.what) {
            case act::start:
                one.started = true;
                resume(one, lease::event::start(one.attempt));
                break;
            case act::execute: {
                const sent next = one.to_execute[a.where].front();
                one.to_execute[a.where].pop_front();
                command c = next.what;
                c.values = next.values.empty() ? nullptr : &next.values;
                one.to_deliver[a.where].push_back({next.tag, tables_[a.where].execute(c, now_)});
                break;
            }
            case act::deliver: {
                const voted next = one.to_deliver[a.where].front();
                one.to_deliver[a.where].pop_front();
                resume(one, lease::event::voted(a.where, next.tag, next.vote));
                break;
            }
            case act::wait:
                now_ = std::max(now_, one.until);
                resume(one, lease::event::just(lease::event::kind_type::timer));
                break;
            case act::let_go:
                resume(one,
                       lease::event::just(one.machine.held() ? lease::event::kind_type::release
                                                             : lease::event::kind_type::give_up));
                break;
        }
        deliver_to_those_that_let_go(one);
    }

    /// The slots of all leases that are valid now.
    [[nodiscard]] std::vector<std::uint32_t> slots_out() const {
        std::vector<std::uint32_t> result;
        for (const auto& one : parties_) {
            if (one->machine.held()) {
                command c;
                one->machine.fill(c, lease_tag(lease_tag::purpose_type::extend));
                std::string list = c.values != nullptr ? *c.values : std::to_string(c.value) + ' ';
                while (!list.empty()) {
                    result.push_back(
                        (one->preferred + static_cast<std::uint32_t>(std::stoul(list)) - 1) %
                        size_.limit);
                    list.erase(0, list.find(' ') + 1);
                }
            }
        }
        return result;
    }

    /// Nothing is under way.
    [[nodiscard]] bool is_quiet() const {
        const auto is_empty = [](const auto& queue) { return queue.empty(); };
        return std::ranges::all_of(parties_, [&](const auto& one) {
            return !one->machine.acquiring() && std::ranges::all_of(one->to_execute, is_empty) &&
                   std::ranges::all_of(one->to_deliver, is_empty);
        });
    }

    /// Whether another one gets so many, when nothing else happens.
    [[nodiscard]] bool admits_lone(std::uint32_t count, unsigned preferred) {
        add(count, preferred);
        const auto i = static_cast<std::uint8_t>(parties_.size() - 1);
        apply({act::start, i});
        const party& one = *parties_[i];
        for (int steps = 0; steps != 1000 && one.machine.acquiring(); ++steps) {
            for (std::uint8_t at = 0; at != size_.instances; ++at) {
                while (!one.to_execute[at].empty()) {
                    apply({act::execute, i, at});
                }
                if (!one.to_deliver[at].empty()) {
                    apply({act::deliver, i, at});
                }
            }
        }
        return one.machine.held();
    }

    /// All on which the future depends, but for the time.
    [[nodiscard]] std::string state() const {
        std::string text;
        for (const auto& owned : parties_) {
            const party& one = *owned;
            const bool counts = !one.machine.let_go();
            text += !one.started ? '-' : !counts ? 'l' : one.machine.held() ? 'h' : 'a';
            text += counts ? std::to_string(one.latest.value()) : std::string();
            for (std::size_t at = 0; at != size_.instances; ++at) {
                const auto vote =
                    counts ? one.machine.votes().vote_of(at) : std::optional<core::vote>();
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
        }
        for (table& at : tables_) {
            auto* const found = at.find("k", now_);
            text += '|';
            if (found != nullptr) {
                for (const auto& [slot, holder] : found->as<permits>()->slots) {
                    text += std::to_string(slot) + holder.token.back();
                }
            }
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
    struct party {
        party(const size_of_world& size, const lock_kind& of, std::string its_token, unsigned slot)
            : kind(&of),
              token(std::move(its_token)),
              preferred(slot),
              settings(settings_for(size.instances)),
              machine(settings, 1),
              to_execute(size.instances),
              to_deliver(size.instances) {
            attempt.contended = true;
        }
        static core::lease_settings settings_for(std::size_t instances) {
            core::lease_settings result;
            result.instances = instances;
            result.ttl = std::chrono::hours(1);
            result.instance_timeout = std::chrono::minutes(1);
            result.agreement = core::agreement::same;
            return result;
        }

        const lock_kind* kind;
        std::string token;
        std::uint32_t preferred;
        core::lease_settings settings;
        core::attempt attempt;
        lease machine;
        bool started = false;
        lease_tag latest{lease_tag::purpose_type::acquire};
        core::time_point until = core::never;
        std::vector<std::deque<sent>> to_execute;  // by instance, in order
        std::vector<std::deque<voted>> to_deliver;
    };

    void add(std::uint32_t count, unsigned preferred) {
        std::string digits = "0000000" + std::to_string(preferred);
        digits += std::string(31, '0') + static_cast<char>('a' + parties_.size());
        parties_.push_back(std::make_unique<party>(
            size_, semaphore(size_.limit, count),
            "permit:" + std::to_string(size_.limit) + "*" + std::to_string(count) + ":" + digits,
            preferred));
    }

    static std::string text_of(const core::vote& vote) {
        return vote.kind == core::vote_kind::granted
                   ? std::to_string(vote.value) + (vote.detail ? *vote.detail : "")
                   : "n";
    }

    /// When these hear of a vote makes no difference to the others.
    void deliver_to_those_that_let_go(party& one) {
        bool goes_on = one.machine.let_go();
        while (goes_on) {
            goes_on = false;
            for (std::uint8_t at = 0; at != size_.instances; ++at) {
                if (!one.to_deliver[at].empty()) {
                    const voted next = one.to_deliver[at].front();
                    one.to_deliver[at].pop_front();
                    resume(one, lease::event::voted(at, next.tag, next.vote));
                    goes_on = true;
                }
            }
        }
    }

    void resume(party& one, const lease::event& e) {
        const core::lease_step step = one.machine.resume(e, now_);
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
        c.kind = one.kind;
        c.key = "k";
        c.token = one.token;
        one.machine.fill(c, tag);
        for (std::size_t at = 0; at != size_.instances; ++at) {
            if (targets.contains(at)) {
                one.to_execute[at].push_back(
                    {tag, c, c.values != nullptr ? *c.values : std::string()});
            }
        }
    }

    const size_of_world& size_;
    core::time_point now_{std::chrono::hours(1)};
    mutable std::vector<table> tables_;
    std::vector<std::unique_ptr<party>> parties_;
};

world replayed(const size_of_world& size, const std::vector<action>& path) {
    world result(size);
    for (const action& a : path) {
        result.apply(a);
    }
    return result;
}

/// What must hold of a world that has come there by a path.
void check(world& w, const size_of_world& size) {
    const std::vector<std::uint32_t> out = w.slots_out();
    const std::set<std::uint32_t> distinct(out.begin(), out.end());
    BOOST_TEST_REQUIRE(distinct.size() == out.size(), w.state());
    BOOST_TEST_REQUIRE(out.size() <= size.limit, w.state());
    if (w.is_quiet() && out.size() < size.limit) {
        BOOST_TEST_REQUIRE(w.admits_lone(1, static_cast<unsigned>(out.size()) % size.limit),
                           w.state());
    }
}

/// Goes through all states. Returns how many there are.
std::size_t enumerate(const size_of_world& size) {
    std::unordered_set<std::string> seen;
    std::vector<std::vector<action>> to_visit{{}};
    while (!to_visit.empty()) {
        const std::vector<action> path = std::move(to_visit.back());
        to_visit.pop_back();
        world here = replayed(size, path);
        if (!seen.insert(here.state()).second) {
            continue;
        }
        for (const action& next : here.enabled()) {
            to_visit.push_back(path);
            to_visit.back().push_back(next);
        }
        check(here, size);
    }
    return seen.size();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(semaphore_enumeration)

BOOST_AUTO_TEST_CASE(every_order_of_two_leases_is_safe, *label("fault-47")) {
    std::vector<size_of_world> sizes{{3, 1, {1, 1}, {0, 0}}, {3, 2, {1, 1}, {0, 1}}};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // it takes too long there
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
                BOOST_TEST_REQUIRE(distinct.size() == out.size(), w.state());
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
