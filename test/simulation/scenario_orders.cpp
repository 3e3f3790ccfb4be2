// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Locks with a binding order: which waiter is granted next, and which waiters have a place.

#include "simulation/scenario_themes.hpp"

#include "core/queue_place.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fifo/fifo.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <vector>

namespace colock::simulation {
namespace {

constexpr duration short_refresh = 60ms;  // The ticket's ttl is 240 ms.
constexpr duration long_refresh = 1s;     // Too long for polling.

cast one_server(std::size_t clients) {
    return telling(clients, 1);
}

spec& ordered_lock(stage& s, duration refresh, bool is_fenced = false) {
    spec& result = s.lock();
    runtime::lock_policy& policy = result.policy;
    policy.set_kind(is_fenced ? kinds::fenced_fifo : kinds::fifo);
    policy.handoff = {0, duration::zero()};
    policy.attempts = 0;
    policy.retry = {4ms, refresh};
    policy.place_refresh = refresh;
    return result;
}

/// Returns a lock with hand-offs enabled.
spec& generous_lock(stage& s, bool is_fenced = false) {
    spec& result = ordered_lock(s, long_refresh, is_fenced);
    result.policy.handoff = {64, 10s};
    return result;
}

/// Lets these users acquire the lock, one every 10 ms. The first holds it, and the others wait.
template <std::size_t First, std::size_t... Others>
auto line_up(stage& s, const spec& lock) {
    const auto wait = [&](std::size_t user) -> taking& {
        return s.wait(user, lock, s.now() + 10ms);
    };
    return std::tuple<taking&, decltype(wait(Others))...>{s.hold(First, lock, s.now() + 10ms),
                                                          wait(Others)...};
}

stored_waiters waiters_at(stage& s) {
    return s.instance(0).waiters(stage::key);
}

bool has_place(stage& s, const taking& t) {
    const stored_waiters all = waiters_at(s);
    return std::ranges::any_of(all.members, [&](const stored_waiter& one) {
        return one.lives && one.place == t.op->place() &&
               one.client == t.by->engine().parts().client_number;
    });
}

/// Checks that each waiter holds the lock in turn, woken as soon as the previous one has released it.
void expect_turns(stage& s, const std::vector<taking*>& in_order, duration wake_up = 10ms) {
    for (taking* const one : in_order) {
        s.run_for(wake_up);
        s.expect(one->held(), "the next waiter in the order of arrival holds the lock");
        s.release(*one);
    }
}

/// Two clients die while two tasks of each wait. The client behind them is granted when their tickets have
/// expired.
void dead_clients(stage& s, int) {
    const spec& lock = ordered_lock(s, short_refresh);
    auto [holder, a, b, c, d, next] = line_up<0, 1, 1, 2, 2, 3>(s, lock);
    s.user(1).crash();
    s.user(2).crash();
    taking& last = s.acquire(3, lock);
    const duration died = s.now();
    s.release(holder);
    s.run_to(died + 4 * short_refresh + 20ms);
    s.expect(next.held() && s.grants().size() == 2, "dead clients cost the time of one ticket");
    s.run_for(10ms);
    s.expect(!last.told, "the first task of the living client is granted first");
    s.user(3).close();
}

/// All waiters die while the lock is held. In take 0, another client tries in the meantime, so the server is seen
/// to run. The next client that arrives is granted immediately. In take 1, nobody asks for so long that the
/// server may have stood still. The next client is then granted one ticket later.
void dead_clients_alone(stage& s, int take) {
    const spec& lock = ordered_lock(s, short_refresh);
    auto [holder, a, b, c, d] = line_up<0, 1, 1, 2, 2>(s, lock);
    s.user(1).crash();
    s.user(2).crash();
    while (s.now() < 320ms) {
        s.run_for(30ms);
        if (take == 0) {
            s.acquire(3, lock, core::time_point::min());
        }
    }
    s.release(holder);
    s.expect(waiters_at(s).members.size() == 4, "the dead have left their places");
    const duration granted = s.now() + 10ms + take * 5 * short_refresh;
    s.release(s.hold(0, lock, granted, "all the dead are skipped together"));
}

/// The waiters keep their places for any time, in their order.
void long_wait(stage& s, int) {
    auto [holder, a, b] = line_up<0, 1, 2>(s, ordered_lock(s, short_refresh));
    while (s.now() < 3s) {
        s.run_for(10ms);
        s.expect(has_place(s, a) && has_place(s, b), "waiters keep their places");
    }
    s.release(holder);
    expect_turns(s, {&a, &b});
}

/// The second task of a client waits in that client. Another client arrives after it.
void order_of_tasks(stage& s, int) {
    auto [holder, first, second, other] = line_up<0, 1, 1, 2>(s, ordered_lock(s, long_refresh));
    s.release(holder);
    expect_turns(s, {&first, &second, &other});
}

/// The first waiter gives up. In take 0 its client has no other waiter, and in take 1 it has one at the end.
/// The next waiter is notified of this, and later of the release.
void first_leaves(stage& s, int take) {
    const spec& lock = ordered_lock(s, long_refresh);
    auto [holder, first, next] = line_up<0, 1, 2>(s, lock);
    std::vector<taking*> rest{&next};
    if (take == 1) {
        rest.push_back(&s.wait(1, lock, 40ms));
    }
    s.cancel(first);
    s.run_to(60ms);
    s.expect(waiters_at(s).members.size() == rest.size(), "who gives up leaves at once");
    s.release(holder);
    expect_turns(s, rest);
}

/// The first waiter cannot be notified that the lock is free. Other clients try in the meantime.
void tries(stage& s, int take) {
    const spec& lock = ordered_lock(s, short_refresh, take == 1);
    auto [holder, first] = line_up<0, 1>(s, lock);
    s.cut_off(1, {0}, 100ms);
    s.release(holder);
    s.run_to(30ms);
    s.expect(!s.has_key(0), "the lock is free, and a client waits that cannot hear it");
    for (const std::size_t user : {0U, 2U}) {
        taking& tried = s.acquire(user, lock, core::time_point::min());
        s.run_for(10ms);
        s.expect(tried.ended() && !tried.granted(), "a try goes past no living waiter");
        s.expect(waiters_at(s).members.size() == 1, "a try leaves no place");
    }
    taking& last = s.wait(2, lock, 60ms, "a waiter goes past no living waiter");
    s.run_to(140ms);
    expect_turns(s, {&first, &last});
}

/// A waiter gives up at various moments, and another one of its client stays. The remaining place must not
/// expire with the old ttl of the queue.
void place_outlives_a_leave(stage& s, int take) {
    auto [holder, first, second] = line_up<0, 1, 1>(s, ordered_lock(s, short_refresh));
    s.run_to(100ms + take * 7ms);
    s.cancel(first);
    for (int i = 0; i != 60; ++i) {
        s.run_for(5ms);
        s.expect(has_place(s, second), "the waiter that stays keeps its place");
    }
    s.release(holder);
    expect_turns(s, {&second});
}

/// Take 0: the second waiter pauses for longer than its ticket's ttl. Take 1: its messages are delayed for
/// longer. It gets a place at the end.
void silence(stage& s, int take) {
    const spec& lock = ordered_lock(s, short_refresh);
    auto [holder, first, sleeper, next] = line_up<0, 3, 1, 2>(s, lock);
    if (take == 0) {
        s.user(1).pause(560ms);
    } else {
        s.mute(1, {0}, 600ms);
    }
    s.run_to(600ms);
    s.expect(!has_place(s, sleeper), "a client that is silent loses its place");
    s.run_to(650ms);
    s.expect(has_place(s, sleeper), "it gets another place");
    taking& last = s.wait(0, lock, 660ms);
    s.release(holder);
    expect_turns(s, {&first, &next, &sleeper, &last});
}

/// A client with three tasks pauses for longer than its ticket's ttl. An attempt of the first task creates a
/// new ticket. The other tasks get their places back too.
void pause_of_tasks(stage& s, int) {
    const spec& lock = ordered_lock(s, short_refresh);
    auto [holder, a, b, other] = line_up<0, 1, 1, 2>(s, lock);
    s.user(1).pause(600ms);
    s.run_to(620ms);
    s.expect(!has_place(s, a), "a client that stands still loses its places");
    taking& c = s.wait(1, lock, 700ms);
    for (const taking* const one : {&a, &b, &c}) {
        s.expect(has_place(s, *one), "each task has a place again");
    }
    taking& last = s.wait(0, lock, 710ms);
    s.release(holder);
    s.run_to(900ms);
    // This server does not support client tracking.
    expect_turns(s, {&other, &a, &b, &c, &last}, 100ms);
}

/// The server stands still, and the lock is then free. The first command that it executes is that of a
/// newcomer. The last two takes use fences, and a second standstill follows shortly. During a longer one, an
/// attempt in flight may lose its place, as docs/fifo.md says.
void standstill(stage& s, int take) {
    static constexpr std::array lengths{200ms, 400ms, 900ms, 3000ms};
    const std::size_t which = static_cast<std::size_t>(take) % lengths.size();
    const bool is_second = take >= static_cast<int>(lengths.size());
    auto [holder, b, b_too, c] = line_up<0, 1, 1, 2>(s, ordered_lock(s, short_refresh, is_second));
    s.run_to(95ms);
    s.instance(0).pause(lengths.at(which));
    taking& newcomer = s.acquire(3, ordered_lock(s, short_refresh, is_second));
    s.release(holder);
    s.run_for(lengths.at(which));
    if (is_second) {
        s.run_for(5ms);
        s.instance(0).pause(lengths.at(which));
        s.run_for(lengths.at(which));
    }
    expect_turns(s, {&b, &b_too, &c, &newcomer}, 250ms);
}

/// The server has no memory for longer than a ticket's ttl, while two clients wait.
void wait_without_memory(stage& s, int) {
    auto [holder, a, b] = line_up<0, 1, 2>(s, ordered_lock(s, short_refresh));
    s.instance(0).run_out_of_memory(1s);
    while (s.now() < 950ms) {
        s.run_for(10ms);
        s.expect(has_place(s, a) && has_place(s, b), "waiters keep their places without memory");
    }
    s.run_to(1100ms);
    taking& last = s.wait(3, ordered_lock(s, short_refresh), 1150ms);
    s.release(holder);
    expect_turns(s, {&a, &b, &last});
}

/// A client gives up its only waiter, and the server does not get the message. The client's next waiter does
/// not count as the former one.
void place_left_behind(stage& s, int) {
    const spec& lock = ordered_lock(s, long_refresh);
    auto [holder, first, next] = line_up<0, 1, 2>(s, lock);
    s.mute(1, {0}, 40ms);
    s.cancel(first);
    s.run_to(35ms);
    s.disconnect(1, 0);
    s.run_to(60ms);
    s.expect(waiters_at(s).members.size() == 2, "a place is left behind");
    taking& last = s.wait(1, lock, 80ms);
    s.release(holder);
    expect_turns(s, {&next, &last});
}

/// A task of the holder's client waits directly behind it. Then another client arrives, and then a second
/// task. Take 1 uses fences.
void hand_off(stage& s, int take) {
    const spec& lock = generous_lock(s, take == 1);
    taking& holder = s.hold(0, lock, 10ms);
    taking& next = s.wait(0, lock, 15ms);
    taking& after_next = s.wait(0, lock, 20ms);
    taking& other = s.wait(1, lock, 30ms);
    taking& last = s.wait(0, lock, 40ms);
    const std::size_t grants = s.grants().size();
    s.release(holder);
    s.run_to(45ms);
    s.expect(next.held() && s.grants().size() == grants, "the waiter behind is handed the lease");
    s.release(next);
    s.run_to(50ms);
    s.expect(after_next.held() && s.grants().size() == grants, "so is the one behind that");
    s.release(after_next);
    expect_turns(s, {&other, &last});
}

/// The first of two tasks of a client is granted the lock, and does not hear of it. It gives the lock back. A lock
/// without an order then takes the name, so the task gets a new place behind another client. It does not know that,
/// and a third task enters behind it. The second task still has the client's turn, and the third one has not.
void lost_attempt(stage& s, int) {
    const spec& lock = generous_lock(s);
    auto [holder, first, second, other] = line_up<0, 1, 1, 2>(s, lock);
    spec& plain = generous_lock(s);
    plain.policy.set_kind(kinds::exclusive);
    s.release(holder);
    s.run_for(2500us);
    s.deafen(1, {0}, s.now() + 30ms);
    taking& stranger = s.acquire(3, plain);
    s.run_to(90ms);
    s.expect(stranger.held(), "a lock without an order goes past all");
    taking& third = s.wait(1, lock, 100ms);
    s.release(stranger);
    expect_turns(s, {&first, &second, &other, &third});
}

/// The other client is ahead of two tasks of the holder's client. The first of these gives up.
void no_hand_off_after_a_leave(stage& s, int) {
    auto [holder, other, leaving, last] = line_up<0, 1, 0, 0>(s, generous_lock(s));
    s.cancel(leaving);
    s.run_to(50ms);
    s.release(holder);
    expect_turns(s, {&other, &last});
}

}  // namespace

const std::vector<scenario> order_scenarios = {
    {"fault_56_sim_dead_clients_in_order",
     "clients that wait in order die, and the next client is granted after one ticket",
     {dead_clients},
     {"fifo_dead_client_blocks", "fifo_queue_not_kept"},
     one_server(4)},
    {"fault_56_sim_dead_clients_alone",
     "dead clients are in front of a newcomer, and it is granted at once, or one ticket after a "
     "silence",
     {dead_clients_alone, 2},
     {"fifo_dead_client_blocks", "fifo_second_place_of_the_dead_blocks",
      "fifo_only_one_dead_is_skipped"},
     one_server(4)},
    {"fault_57_sim_long_wait_in_order",
     "two clients wait for long, and keep their places",
     {long_wait},
     {"fifo_ticket_not_kept"},
     one_server(3)},
    {"fault_57_sim_place_after_a_leave",
     "a waiter gives up, and another one of its client keeps its place",
     {place_outlives_a_leave, 30},
     {"fifo_leave_ends_the_ticket"},
     one_server(2)},
    {"fault_58_sim_order_of_tasks",
     "two tasks of a client wait, and another client comes after them",
     {order_of_tasks},
     {"fifo_enters_by_attempt_only", "fifo_enters_at_the_head", "fifo_release_not_told"},
     one_server(3)},
    {"fault_58_sim_first_leaves",
     "the first waiter gives up, and the next one is woken at once",
     {first_leaves, 2},
     {"fifo_leave_without_ticket", "fifo_leave_not_sent"},
     one_server(3)},
    {"fault_58_sim_tries_in_order",
     "others try while the lock is free, and its first waiter cannot hear that",
     {tries, 2},
     {"fifo_past_a_waiter", "fifo_fenced_past_a_waiter", "fifo_try_goes_past",
      "fifo_try_leaves_a_place"},
     one_server(3)},
    {"fault_57_sim_silence_in_order",
     "nothing is heard of a waiter for long, and it gets a place at the end",
     {silence, 2},
     {"fifo_lost_place_not_taken_again"},
     one_server(4)},
    {"fault_115_sim_standstill_in_order",
     "the server stands still while clients wait in order, and a newcomer is the first that it "
     "hears",
     {standstill, 6},
     {"fifo_standstill_not_noticed"},
     one_server(4)},
    {"fault_116_sim_no_memory_in_order",
     "the server has no memory for long, and the waiters keep their places",
     {wait_without_memory},
     {"fifo_ticket_needs_memory"},
     one_server(4)},
    {"fault_57_sim_pause_of_tasks",
     "a client with three tasks stands still for long, and each gets a place",
     {pause_of_tasks},
     {"fifo_other_places_forgotten"},
     with_clients(3, 1)},
    {"fault_58_sim_hand_off_in_order",
     "a lease is handed off to the waiters that are directly behind, and to no others",
     {hand_off, 2},
     {"fifo_hand_off_past_a_waiter", "fifo_entry_behind_others_counts", "fifo_no_hand_off"},
     one_server(2)},
    {"fault_58_sim_no_hand_off_after_a_leave",
     "a waiter gives up, and the next one of its client does not go past another client",
     {no_hand_off_after_a_leave},
     {"fifo_leave_counts_as_a_turn"},
     one_server(2)},
    {"fault_58_sim_lost_attempt_in_order",
     "a waiter gets no answer and a new place, and no task of its client goes past others with it",
     {lost_attempt},
     {"fifo_lost_attempt_keeps_its_place"},
     one_server(4)},
    {"fault_58_sim_place_left_behind",
     "a client does not use the place that it has left behind",
     {place_left_behind},
     {"fifo_left_place_counts", "fifo_left_place_ends_unnoticed"},
     one_server(3)},
};

}  // namespace colock::simulation
