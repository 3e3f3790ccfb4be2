// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The order of waiters as far as a client can derive it. A random test compares it with a queue of several
// clients.

#include "core/waiting_places.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace {

BOOST_AUTO_TEST_SUITE(places_of_one_client)

using colock::core::waiting_places;

constexpr std::uint64_t another_client = 0;

/// Returns waiters with these numbers. None of them has entered.
waiting_places waiting(std::initializer_list<std::uint64_t> numbers) {
    waiting_places result;
    for (const std::uint64_t number : numbers) {
        result.add(number);
    }
    return result;
}

BOOST_AUTO_TEST_CASE(a_waiter_behind_nobody_may_be_handed_the_lease) {
    waiting_places places = waiting({1});
    BOOST_TEST(!places.may_be_handed_off(1));
    places.on_entered(1, 1);
    BOOST_TEST(places.may_be_handed_off(1));
}

BOOST_AUTO_TEST_CASE(a_waiter_behind_another_client_may_not) {
    waiting_places places = waiting({1});
    places.on_entered(1, another_client);
    BOOST_TEST(!places.may_be_handed_off(1));
}

BOOST_AUTO_TEST_CASE(a_waiter_follows_the_one_before_it) {
    waiting_places places = waiting({1, 2});
    places.on_entered(1, another_client);
    places.on_entered(2, 1);
    BOOST_TEST(!places.may_be_handed_off(2));
    places.on_granted(1);
    places.remove(1);
    BOOST_TEST(places.may_be_handed_off(2));
}

BOOST_AUTO_TEST_CASE(a_waiter_that_gives_up_passes_on_what_it_knows) {
    waiting_places places = waiting({1, 2, 3, 4});
    places.on_entered(1, 1);
    places.on_entered(2, 1);
    places.on_entered(3, another_client);
    places.on_entered(4, 3);
    places.remove(1);
    BOOST_TEST(places.may_be_handed_off(2));
    places.remove(3);
    places.on_handed_off(2);
    places.remove(2);
    BOOST_TEST(!places.may_be_handed_off(4));
}

/// The removed waiter may have been in the queue twice, because a copy of a command was late.
BOOST_AUTO_TEST_CASE(a_waiter_behind_one_that_waits_no_more_may_not) {
    waiting_places places = waiting({1, 2});
    places.on_denied(1);
    places.on_granted(1);
    places.remove(1);
    places.on_entered(2, 1);
    BOOST_TEST(!places.may_be_handed_off(2));
}

/// The first attempt of waiter 1 was lost. Waiter 2 was in the queue before it, and keeps its place.
BOOST_AUTO_TEST_CASE(a_turn_before_a_later_waiter_leaves_that_its_place) {
    waiting_places places = waiting({2, 3});
    places.on_entered(2, 2);
    places.on_entered(3, 2);
    places.on_granted(1);
    BOOST_TEST(places.may_be_handed_off(2));
    places.on_handed_off(2);
    places.remove(2);
    BOOST_TEST(places.may_be_handed_off(3));
}

BOOST_AUTO_TEST_CASE(waiters_that_have_entered_again_wait_for_their_turn) {
    waiting_places places = waiting({1, 2});
    places.on_entered(1, 1);
    places.on_entered(2, 1);
    places.forget();
    places.on_entered(1, another_client);  // It was in the queue already.
    BOOST_TEST(!places.may_be_handed_off(1));
    places.on_entered(2, 1);
    places.add(3);
    places.on_entered(3, 2);
    places.add(4);
    places.on_entered(4, 3);
    for (const std::uint64_t turn : {1U, 2U}) {
        places.on_granted(turn);
        places.remove(turn);
        BOOST_TEST(!places.may_be_handed_off(turn + 1));
    }
    places.on_granted(3);
    places.remove(3);
    BOOST_TEST(places.may_be_handed_off(4));
}

/// The first attempt was lost. The next attempt has entered the waiter behind a later waiter.
BOOST_AUTO_TEST_CASE(a_waiter_that_entered_late_passes_nothing_on) {
    waiting_places places = waiting({2});
    places.on_entered(2, 2);
    places.on_denied(1);
    places.add(3);
    places.on_entered(3, 1);
    places.on_granted(1);
    places.remove(1);
    BOOST_TEST(places.may_be_handed_off(2));
    BOOST_TEST(!places.may_be_handed_off(3));
}

/// Waiter 1 was granted, but the reply was lost. Its next attempt has entered it again, behind others.
BOOST_AUTO_TEST_CASE(a_waiter_whose_attempt_was_lost_passes_nothing_on) {
    for (const bool gives_up : {false, true}) {
        waiting_places places = waiting({1});
        places.on_entered(1, 1);
        places.on_attempt_lost(1);
        places.on_denied(1);
        places.add(2);
        places.on_entered(2, 1);
        if (!gives_up) {
            places.on_granted(1);
        }
        places.remove(1);
        BOOST_TEST(!places.may_be_handed_off(2));
    }
}

/// A queue with waiters of this client and of others. Commands of this client are executed in order, but some
/// are lost or late.
class model {
public:
    explicit model(unsigned seed) : random_(seed) {}

    void run() {
        for (int i = 0; i != 4000; ++i) {
            step();
        }
    }
    [[nodiscard]] std::size_t handoffs() const noexcept { return handoffs_; }

private:
    struct member {
        bool is_ours;
        std::uint64_t number;
        friend bool operator==(const member&, const member&) = default;
    };
    struct command {
        enum class what { attempt, enter, leave } kind;
        std::uint64_t number;
    };

    bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

    void step() {
        const auto draw = random_() % 1000;
        if (draw < 250) {
            come();
        } else if (draw < 600) {
            execute();
        } else if (draw < 640) {
            queue_.push_back({false, ++others_});
        } else if (draw < 720) {
            others_turn();
        } else if (draw < 800) {
            is_taken_ = false;
        } else if (draw < 900) {
            let_go();
        } else if (draw < 920) {
            give_up();
        } else if (draw < 925) {
            execute_late();
        } else if (draw < 930) {
            enter_again();
        } else {
            attempt();
        }
    }

    /// Adds a waiter of this client. The first waiter attempts, and the others enter.
    void come() {
        constexpr std::size_t most = 8;
        if (local_.size() == most) {
            return;
        }
        const std::uint64_t number = ++given_;
        if (!holds_ && !attempting_ && local_.empty()) {
            attempting_ = number;
            sent_.push_back({command::what::attempt, number});
            return;
        }
        local_.push_back(number);
        places_.add(number);
        sent_.push_back({command::what::enter, number});
    }
    void attempt() {
        const bool is_sent = std::ranges::any_of(
            sent_, [](const command& one) { return one.kind == command::what::attempt; });
        if (attempting_ && !is_sent) {
            sent_.push_back({command::what::attempt, *attempting_});
        }
    }
    void begin_next() {
        if (!holds_ && !attempting_ && !local_.empty()) {
            attempting_ = local_.front();
            local_.pop_front();
            attempt();
        }
    }

    void execute() {
        if (sent_.empty()) {
            return;
        }
        const command one = sent_.front();
        sent_.pop_front();
        const bool may_be_lost = one.kind != command::what::leave && chance(6);
        if (!may_be_lost) {
            carry_out(one, true);
            return;
        }
        if (one.kind == command::what::enter) {
            must_enter_again_ = true;
        } else {
            places_.on_attempt_lost(one.number);
        }
        if (chance(50)) {
            carry_out(one, false);
        } else if (chance(50)) {
            late_.push_back(one);
        }
    }
    /// Executes a copy of a failed command.
    void execute_late() {
        if (!late_.empty()) {
            carry_out(late_.front(), false);
            late_.pop_front();
        }
    }
    void enter_again() {
        if (std::exchange(must_enter_again_, false)) {
            places_.forget();
            for (const waiting_places::waiter& one : places_.all()) {
                if (one.number != attempting_) {
                    sent_.push_back({command::what::enter, one.number});
                }
            }
        }
    }
    void carry_out(const command& one, bool is_answered) {
        const member own{true, one.number};
        const bool is_there = std::ranges::find(queue_, own) != queue_.end();
        if (one.kind == command::what::leave) {
            std::erase(queue_, own);
        } else if (one.kind == command::what::enter) {
            const std::uint64_t before = is_there                ? 0
                                         : queue_.empty()        ? one.number
                                         : queue_.back().is_ours ? queue_.back().number
                                                                 : 0;
            if (!is_there) {
                queue_.push_back(own);
            }
            if (is_answered) {
                places_.on_entered(one.number, before);
            }
        } else {
            answer_attempt(own, is_there, is_answered);
        }
    }
    void answer_attempt(const member& own, bool is_there, bool is_answered) {
        // A waiter with a smaller number was left behind.
        while (!queue_.empty() && queue_.front().is_ours && queue_.front().number < own.number) {
            queue_.erase(queue_.begin());
        }
        if (!is_taken_ && !holds_ && (queue_.empty() || queue_.front().is_ours)) {
            std::erase(queue_, own);
            if (!is_answered) {  // The client releases what it may have acquired.
                is_taken_ = true;
                return;
            }
            places_.on_granted(own.number);
            places_.remove(own.number);
            attempting_.reset();
            holds_ = true;
            return;
        }
        if (!is_there) {
            queue_.push_back(own);
        }
        if (is_answered) {
            places_.on_denied(own.number);
        }
    }
    void others_turn() {
        if (!holds_ && !is_taken_ && !queue_.empty() && !queue_.front().is_ours) {
            queue_.erase(queue_.begin());
            is_taken_ = true;
        }
    }

    void let_go() {
        if (!holds_) {
            return;
        }
        if (local_.empty() || !places_.may_be_handed_off(local_.front())) {
            holds_ = false;
            begin_next();
            return;
        }
        const std::uint64_t next = local_.front();
        const auto its = std::ranges::find(queue_, member{true, next});
        const bool goes_past =
            std::any_of(queue_.begin(), its, [](const member& one) { return !one.is_ours; });
        BOOST_TEST(!goes_past);
        ++handoffs_;
        local_.pop_front();
        places_.on_handed_off(next);
        places_.remove(next);
        sent_.push_back({command::what::leave, next});
    }
    void give_up() {
        if (!local_.empty()) {
            const auto one =
                local_.begin() + static_cast<std::ptrdiff_t>(random_() % local_.size());
            places_.remove(*one);
            sent_.push_back({command::what::leave, *one});
            local_.erase(one);
        }
    }

    std::mt19937 random_;
    std::vector<member> queue_;
    std::deque<command> sent_;
    std::deque<command> late_;
    std::deque<std::uint64_t> local_;
    std::optional<std::uint64_t> attempting_;
    waiting_places places_;
    bool holds_ = false;
    bool is_taken_ = false;
    bool must_enter_again_ = false;
    std::uint64_t given_ = 0;
    std::uint64_t others_ = 0;
    std::size_t handoffs_ = 0;
};

BOOST_AUTO_TEST_CASE(no_lease_goes_past_another_client) {
    std::size_t handoffs = 0;
    for (unsigned seed = 1; seed != 400; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            model all(seed);
            all.run();
            handoffs += all.handoffs();
        }
    }
    BOOST_TEST(handoffs > 1000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
