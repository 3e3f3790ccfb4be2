// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_UNIT_CORE_ACQUIRE_SUPPORT_HPP
#define COLOCK_TEST_UNIT_CORE_ACQUIRE_SUPPORT_HPP

#include "core/acquire.hpp"
#include "core/lease.hpp"

#include "unit/core/script.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::core::test {

struct attempts_settings : acquire_settings {
    duration ttl{};
    drift_bound drift;
    duration instance_timeout{};
    bool fencing = false;
};

/// An `acquire` with the leases of its attempts, like in an operation of the runtime.
class attempts {
public:
    struct event {
        enum class kind_type : std::uint8_t { policy, vote, raised, timer, cancel };
        kind_type kind = kind_type::policy;
        acquire::event policy;  // Only for events of `acquire` itself.
        std::size_t index = 0;
        core::vote vote;

        static event voted(std::size_t i, const core::vote& v) {
            return {kind_type::vote, {}, i, v};
        }
        static event raised(std::size_t i, const core::vote& v) {
            return {kind_type::raised, {}, i, v};
        }
        static event of(const acquire::event& e) { return {kind_type::policy, e, 0, {}}; }
        static event just(kind_type kind) { return {kind, {}, 0, {}}; }
    };

    attempts(const attempts_settings& settings, std::uint64_t seed)
        : policy_(settings, seed),
          deadline_(settings.deadline),
          settings_(std::make_shared<lease_settings>()) {
        settings_->instances = settings.instances;
        settings_->ttl = settings.ttl;
        settings_->drift = settings.drift;
        settings_->instance_timeout = settings.instance_timeout;
        settings_->agreement = settings.fencing ? agreement::largest : agreement::none;
    }

    [[nodiscard]] acquire& policy() noexcept { return policy_; }
    [[nodiscard]] const acquire& policy() const noexcept { return policy_; }
    /// Returns the lease of the latest attempt.
    [[nodiscard]] const core::lease& lease() const { return leases_->back(); }

    std::string say(const event& e, time_point now) {
        using kind = event::kind_type;
        const bool attempting = !leases_->empty() && lease().acquiring();
        switch (e.kind) {
            case kind::policy:
                if (attempting) {
                    const acquire::step none = policy_.resume(e.policy, now);
                    BOOST_TEST((!none.attempt && !none.failed));
                    return wait();
                }
                return carry_out(policy_.resume(e.policy, now), now);
            case kind::vote:
                return leases_->empty() ? wait()
                                        : vote(e, lease_tag(lease_tag::purpose_type::acquire), now);
            case kind::raised:
                return vote(e, lease_tag(lease_tag::purpose_type::raise, 1), now);
            case kind::timer:
                return attempting
                           ? carry_out(
                                 tell(lease::event::just(lease::event::kind_type::timer), now), now)
                           : carry_out(
                                 policy_.resume(
                                     acquire::event::just(acquire::event::kind_type::timer), now),
                                 now);
            case kind::cancel:
                break;
        }
        if (attempting) {
            tell(lease::event::just(lease::event::kind_type::give_up), now);
        }
        return (attempting ? "give_back; " : "") +
               carry_out(
                   policy_.resume(acquire::event::just(acquire::event::kind_type::cancel), now),
                   now);
    }

private:
    lease_step tell(const lease::event& e, time_point now) {
        return leases_->back().resume(e, now);
    }

    std::string vote(const event& e, lease_tag tag, time_point now) {
        const bool attempting = lease().acquiring();
        const lease_step step = tell(lease::event::voted(e.index, tag, e.vote), now);
        return attempting ? carry_out(step, now) : wait();
    }

    std::string carry_out(const acquire::step& step, time_point now) {
        if (step.failed) {
            until_ = never;
            return "failed " + name(*step.failed);
        }
        if (!step.attempt) {
            until_ = step.until;
            return wait();
        }
        leases_->emplace_back(*settings_, 1);
        return "attempt; " +
               carry_out(tell(lease::event::start(policy_.current_attempt()), now), now);
    }

    std::string carry_out(const lease_step& step, time_point now) {
        if (!step.attempt) {
            until_ = step.until == never ? until_ : step.until;
            std::string raises;
            if (step.send && step.send->purpose() == lease_tag::purpose_type::raise) {
                command raise;
                lease().fill(raise, *step.send);
                raises = "raise " + std::to_string(raise.value) + "; ";
            }
            return raises + wait();
        }
        const acquire::step next =
            policy_.resume(acquire::event::attempted(*step.attempt, lease().votes()), now);
        if (*step.attempt == acquire_outcome::granted) {
            until_ = never;
            return "granted " + in_ms(lease().valid_until());
        }
        return "give_back; " + carry_out(next, now);
    }

    [[nodiscard]] std::string wait() const { return "wait " + in_ms(until_); }

    acquire policy_;
    time_point deadline_;
    time_point until_ = never;
    std::shared_ptr<lease_settings> settings_;
    std::shared_ptr<std::deque<core::lease>> leases_ = std::make_shared<std::deque<core::lease>>();
};

inline std::string said(attempts& machine, const attempts::event& event, time_point now) {
    return machine.say(event, now);
}

using acquire_script = script<attempts>;

/// Settings of five instances that have 50 ms to vote. The ttl is 1 s, so a grant of an attempt sent at 0 is
/// valid until 988 ms. The waits are 10 to 20 ms. The number of attempts is unlimited.
inline attempts_settings five() {
    attempts_settings s;
    s.instances = 5;
    s.ttl = 1s;
    s.instance_timeout = 50ms;
    s.retry = {20ms, 20ms};
    s.unavailable_timeout = 1h;
    return s;
}

/// Returns the settings of `five` for another number of instances.
inline attempts_settings instances(std::size_t n) {
    attempts_settings s = five();
    s.instances = n;
    return s;
}

/// Returns the settings of `five` for a single attempt.
inline attempts_settings once(std::size_t n = 5) {
    attempts_settings s = instances(n);
    s.deadline = time_point::min();
    return s;
}

inline constexpr std::uint64_t acquire_seed = 42;

/// Returns a random number of the seed above.
inline std::uint64_t random_number(std::size_t number) {
    return random_number(acquire_seed, number);
}

/// Returns the wait of a machine with that seed after attempt number `attempt`, counted from 1.
inline duration pause(std::size_t attempt, const attempts_settings& settings = five()) {
    return settings.retry.delay(attempt - 1, random_number(attempt));
}

inline const auto start = attempts::event::of(acquire::event::start());
inline const auto timer = attempts::event::just(attempts::event::kind_type::timer);
inline const auto wake = attempts::event::of(acquire::event::just(acquire::event::kind_type::wake));
inline const auto poll = attempts::event::of(acquire::event::just(acquire::event::kind_type::poll));
inline const auto parked =
    attempts::event::of(acquire::event::just(acquire::event::kind_type::parked));
inline const auto unparked =
    attempts::event::of(acquire::event::just(acquire::event::kind_type::unparked));
inline const auto cancel = attempts::event::just(attempts::event::kind_type::cancel);

/// Returns a machine whose first attempt was sent at 0.
inline attempts begun(const attempts_settings& settings = five(),
                      const std::string& expected = "attempt; wait 50") {
    attempts machine(settings, acquire_seed);
    BOOST_TEST(said(machine, start, at(0ms)) == expected);
    return machine;
}

inline std::vector<attempts::event> voted(std::string_view letters) {
    return votes_from(letters, [](char letter, std::size_t i) {
        return attempts::event::voted(i, vote_from(letter));
    });
}
inline attempts::event granted(std::size_t i) {
    return attempts::event::voted(i, vote::granted());
}
inline attempts::event denied(std::size_t i) {
    return attempts::event::voted(i, vote::denied(key_state::foreign));
}
inline attempts::event failed(std::size_t i) {
    return attempts::event::voted(i, vote::failed(failure::down));
}

/// Instance `i` is quarantined until `end`.
inline attempts::event quarantined(std::size_t i, duration end) {
    return attempts::event::voted(i, vote::quarantined(at(end)));
}

inline attempts::event changed(std::size_t i) {
    return attempts::event::of(acquire::event::changed(i));
}

/// Instance `i` reports that the key will live for `rest`. With `will_tell`, it tracks the key for the
/// waiter.
inline attempts::event rest(std::size_t i, milliseconds rest, bool will_tell = false) {
    return attempts::event::of(
        acquire::event::remaining(i, kept(vote::denied(key_state::foreign, rest)), will_tell));
}

/// Instance `i` reports the remaining time, and will report the next change.
inline attempts::event told(std::size_t i, milliseconds remaining = 1h) {
    return rest(i, remaining, true);
}

}  // namespace colock::core::test

#endif
