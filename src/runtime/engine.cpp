// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/engine.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/key/places.hpp"
#include "runtime/key/ticket.hpp"
#include "runtime/operations/acquire_operation.hpp"
#include "runtime/operations/request_operation.hpp"

#include <algorithm>

namespace colock::runtime {
namespace {

/// Notifies every object that is in the list now. A notified object may leave the list, join it again, or
/// remove others. Removed objects are not notified.
template <typename List, typename Function>
void for_each(List& list, const Function& tell) {
    struct remaining {
        List& list;
        List rest{};
        ~remaining() { list.splice(list.end(), rest); }  // In case of an exception.
    } untold{list};
    untold.rest.swap(list);
    while (!untold.rest.empty()) {
        auto& one = untold.rest.front();
        untold.rest.pop_front();
        list.push_back(one);
        tell(one);
    }
}

template <typename List>
void abandon_all(List& list) noexcept {
    while (!list.empty()) {
        auto& one = list.front();
        list.pop_front();
        one.on_abandon();
    }
}

}  // namespace

template <typename Function>
void engine::for_each_lease(const Function& tell) {
    for_each(parts_.members.leases, tell);
    for_each(parts_.members.giving_back, tell);
}

template <typename Predicate>
bool engine::any_lease(const Predicate& is_so) const {
    return std::ranges::any_of(parts_.members.leases, is_so) ||
           std::ranges::any_of(parts_.members.giving_back, is_so);
}

engine::engine(environment& world, engine_settings settings) : parts_(world, std::move(settings)) {}

engine::~engine() = default;

void engine::take(instance_group::list instances) {
    parts_.instances.take(std::move(instances));
}

void engine::start() {
    parts_.instances.start();
    parts_.reporter.start(parts_.turn.now());
    parts_.monitor.start();
}

// --- Turns ------------------------------------------------------------------------------------------

void engine::turn() {
    parts_.turn.begin();
    try {
        run_turn();
    } catch (...) {
        // A handler of the caller has thrown, or there is no memory. The event loop gets the exception, and
        // the rest follows in another turn.
        parts_.turn.schedule();
        throw;
    }
}

void engine::run_turn() {
    parts_.monitor.look(parts_.turn.recent_time());
    parts_.finished
        .collect();  // An operation that the receiver finishes causes an event of the next turn.
    if (!parts_.events.empty()) {
        parts_.events.deliver();
        if (parts_.turn.stopped()) {  // The receiver has destroyed the execution context.
            return;
        }
    }
    parts_.finished.deliver();
    tell_own_writes();
    parts_.queues.begin_next();
    if (!parts_.finished.empty()) {  // Operations that the handlers have finished in this turn.
        parts_.turn.schedule();
    }
    if (parts_.turn.stopped()) {  // A handler has destroyed the execution context.
        return;
    }
    admit();
    parts_.out.flush(parts_.instances);
    const core::time_point now = parts_.turn.recent_time();
    const auto is_open = [now](const lease_driver& one) { return !one.settled(now); };
    // mutant: closed_before_the_releases
    if (parts_.closing && !closed_ && !any_lease(is_open)) {
        finish_closing(close_operation::outcome_type::closed);
    } else if (closed_ && parts_.events.empty()) {
        parts_.events.stop();
    }
}

/// Admits releases and attempts that have waited for room.
void engine::admit() {
    const core::time_point now = parts_.turn.recent_time();
    const std::size_t room = parts_.instances.room(now);
    if (parts_.gate.waits_for_quorum() && parts_.instances.take_commands(now)) {
        parts_.gate.on_quorum();
    }
    parts_.gate.open(room - std::min(room, parts_.out.size()), now);
}

void engine::on_pending(std::size_t /*index*/) {
    parts_.out.flush_anyway();
}

void engine::wake() {
    parts_.turn.note_time();
    parts_.turn.retry();
    parts_.alarms.run(parts_.turn.recent_time());
}

// --- Events from the instances ----------------------------------------------------------------------

void engine::on_state_change(std::size_t index) {
    parts_.turn.note_time();
    const instance_group::change change = parts_.instances.update(index);
    const bool is_back = change.is_quorum;
    if (is_back && parts_.gate.has_waiters()) {
        parts_.gate.look_for_room();
    }
    if (change.is_ready) {
        restore_keys(index);
    }
    for_each(parts_.members.acquiring,
             [=](acquire_operation& one) { one.on_instances_changed(is_back); });
    for_each(parts_.members.tickets, [=](ticket& one) { one.on_instance_changed(index); });
    for_each(parts_.members.places, [=](places& one) { one.on_all_keys_changed(index); });
    for_each(parts_.members.requests, [](request_operation& one) { one.on_instance_changed(); });
    parts_.reporter.report(index);
}

void engine::on_accepting(std::size_t index) {
    for_each(parts_.members.giving_back, [=](lease_driver& one) { one.on_accepting(index); });
    restore_keys(index);
    for_each(parts_.members.requests, [](request_operation& one) { one.on_instance_changed(); });
}

/// Lets each held lease restore its key on an instance that takes commands.
void engine::restore_keys(std::size_t index) {
    for_each(parts_.members.leases, [=](lease_driver& one) { one.restore_key(index); });
}

void engine::on_key_changed(std::size_t index, std::string_view key) {
    parts_.turn.note_time();
    auto& watched = parts_.members.watched;
    if (const auto ticket = watched.find(key); ticket != watched.end()) {
        ticket->second->on_watched_changed(index);
    } else if (key_queue* const queue = parts_.queues.find(key)) {
        queue->on_key_changed(index);
    }
    if (!parts_.members.at_more_keys.empty()) {
        tell_those_with_more_keys(index, key);
    }
}

/// Notifies the queues of locks for which this is not the first key. A notified queue may end others, so each
/// one is looked up by its name.
void engine::tell_those_with_more_keys(std::size_t index, std::string_view key) {
    std::vector<std::shared_ptr<const lock_spec>> concerned;
    const auto found = parts_.members.at_more_keys.equal_range(key);
    for (auto one = found.first; one != found.second; ++one) {
        concerned.push_back(one->second->attempting()->spec());
    }
    for (const auto& lock : concerned) {
        if (key_queue* const queue = parts_.queues.find(lock->key)) {
            queue->on_key_changed(index);
        }
    }
}

/// Notifies the client's own waiters. Instances do not notify a client of its own writes, or of later events.
void engine::tell_own_writes() {
    if (parts_.own_writes.empty()) {
        return;
    }
    for (const auto& lock : std::exchange(parts_.own_writes, {})) {
        for (std::size_t i = 0; i != parts_.instances.size(); ++i) {
            on_key_changed(i, lock->key);
            for (const std::string_view key : lock->more_keys) {
                on_key_changed(i, key);
            }
        }
    }
}

void engine::on_all_keys_changed(std::size_t index) {
    parts_.turn.note_time();
    for_each(parts_.members.tickets, [=](ticket& one) { one.on_all_keys_changed(index); });
    for_each(parts_.members.places, [=](places& one) { one.on_all_keys_changed(index); });
    for_each(parts_.members.acquiring, [=](acquire_operation& one) { one.on_key_changed(index); });
}

// --- Closing ----------------------------------------------------------------------------------------

void close_operation::on_start() {
    engine_->close();
    if (engine_->closed_) {
        finish(engine_->close_outcome_);
    } else {
        engine_->close_waiters_.push_back(std::static_pointer_cast<close_operation>(self()));
    }
}

void close_operation::cancel() {
    finish(outcome_type::cancelled);
}

void close_operation::finish(outcome_type outcome) {
    if (running()) {
        outcome_ = outcome;
        engine_->parts_.finished.add(take());
    }
}

void engine::close() {
    if (parts_.closing || parts_.turn.stopped()) {
        return;
    }
    parts_.closing = true;
    while (!parts_.members.acquiring.empty()) {
        parts_.members.acquiring.front().on_close();
    }
    for_each(parts_.members.requests, [](request_operation& one) { one.on_close(); });
    for_each_lease([](lease_driver& one) { one.on_close(); });
    const core::time_point now = parts_.turn.now();
    close_deadline_ = now + parts_.settings.close_timeout;
    look_after_leases(now);
    parts_.turn.schedule();
}

void engine::close_at_once() {
    if (!parts_.turn.stopped() && !closed_) {
        close();
        finish_closing(close_operation::outcome_type::closed);
    }
}

/// Checks the leases regularly. Time alone may settle a lease, because a silent instance is not waited for.
void engine::look_after_leases(core::time_point now) {
    parts_.alarms.wait(*this,
                       std::min(close_deadline_, now + parts_.settings.instance_timeout / 4));
}

void engine::on_time(core::time_point now) {
    if (closed_) {
        return;
    }
    if (now < close_deadline_) {
        look_after_leases(now);
        parts_.turn.schedule();
        return;
    }
    const auto unanswered = [](const lease_driver& one) { return one.unanswered(); };
    finish_closing(any_lease(unanswered) ? close_operation::outcome_type::unanswered
                                         : close_operation::outcome_type::closed);
}

void engine::finish_closing(close_operation::outcome_type outcome) {
    closed_ = true;
    close_outcome_ = outcome;
    parts_.alarms.stop_waiting(*this);
    parts_.monitor.stop();
    parts_.instances.stop();
    parts_.reporter.stop();
    for_each_lease([](lease_driver& one) { one.on_closed(); });
    parts_.alarms.disarm();
    for (const auto& waiting : std::exchange(close_waiters_, {})) {
        waiting->finish(outcome);
    }
    if (parts_.events.wanted()) {
        parts_.turn.schedule();  // It delivers the last ones.
    }
}

void engine::abandon() noexcept {
    parts_.turn.stop();
    parts_.events.stop();
    parts_.alarms.stop();
    parts_.instances.clear();
    parts_.withdrawn.abandon();
    parts_.members.at_more_keys.clear();
    parts_.own_writes.clear();
    abandon_all(parts_.members.acquiring);
    abandon_all(parts_.members.leases);
    abandon_all(parts_.members.giving_back);
    abandon_all(parts_.members.tickets);
    abandon_all(parts_.members.places);
    abandon_all(parts_.members.requests);
    parts_.queues.abandon();
    parts_.finished.drop();
    for (const auto& waiting : std::exchange(close_waiters_, {})) {
        const auto dying = waiting->take();
    }
}

}  // namespace colock::runtime
