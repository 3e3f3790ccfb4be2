#include "runtime/engine.hpp"

#include "core/backoff.hpp"
#include "core/prefetch.hpp"
#include "core/quorum.hpp"
#include "core/stable_hash.hpp"

#include <algorithm>

namespace colock::runtime {
namespace {

/// Tells all that are in a list now. Who hears of it may leave the list, join it again, and take others out of
/// it, who are not told then.
template <typename List, typename Function>
void for_each(List& list, const Function& tell) {
    struct remaining {
        List& list;
        List rest{};
        ~remaining() { list.splice(list.end(), rest); }  // if somebody has thrown
    } untold{list};
    untold.rest.swap(list);
    while (!untold.rest.empty()) {
        auto& one = untold.rest.front();
        untold.rest.pop_front();
        list.push_back(one);
        tell(one);
    }
}

}  // namespace

template <typename Function>
void engine::for_each_lease(const Function& tell) {
    for_each(leases_, tell);
    for_each(giving_back_, tell);
}

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
        engine_->deliver_later(take());
    }
}

engine::engine(environment& world, const engine_settings& settings)
    : world_(world), settings_(settings) {
    timers_.run(recent_time_);  // so that the wheels stand at the present
}

engine::~engine() = default;

void engine::start(instance_list instances) {
    instances_ = std::move(instances);
    for (const auto& one : instances_) {
        one->start();
    }
}

std::vector<instance::status> engine::instance_states() const {
    std::vector<instance::status> result;
    result.reserve(instances_.size());
    for (const auto& one : instances_) {
        result.push_back(one->snapshot());
    }
    return result;
}

bool engine::starting() const {
    return !has_quorum_ && std::any_of(instances_.begin(), instances_.end(),
                                       [](const auto& one) { return one->starting(); });
}

void engine::on_state_change(std::size_t /*index*/) {
    const bool had_quorum = has_quorum_;
    const auto ready = std::count_if(instances_.begin(), instances_.end(),
                                     [](const auto& one) { return one->ready(); });
    has_quorum_ = static_cast<std::size_t>(ready) >= core::quorum_of(instances_.size());
    const bool is_back = has_quorum_ && !had_quorum;
    for_each(acquiring_, [&](acquire_operation& one) { one.on_instances_changed(is_back); });
    for_each(remote_queues_, [](remote_queue& one) { one.on_instances_changed(); });
}

/// By rendezvous: clients agree, and each server has its share of the keys. (D. G. Thaler, C. V. Ravishankar,
/// "A Name-Based Mapping Scheme for Rendezvous", 1996.)
std::optional<std::size_t> engine::keeper_of(std::string_view key) const noexcept {
    const std::uint64_t key_hash = core::stable_hash(key);
    std::optional<std::size_t> result;
    std::uint64_t highest = 0;
    for (std::size_t i = 0; i != instances_.size(); ++i) {
        std::uint64_t state = key_hash ^ instances_[i]->keeper_id();
        const std::uint64_t weight = core::next_random(state);
        if (can_keep_queue(i) && (!result || weight > highest)) {
            result = i;
            highest = weight;
        }
    }
    return result;
}

bool engine::can_keep_queue(std::size_t index) const noexcept {
    return has_quorum_ && instances_[index]->keeper_id() != 0;
}

void engine::on_pending(std::size_t /*index*/) {
    instances_want_to_send_ = true;
    schedule_turn();
}

void engine::on_accepting(std::size_t index) {
    for_each(giving_back_, [index](lease_state& one) { one.on_accepting(index); });
}

void engine::on_key_changed(std::size_t index, std::string_view key) {
    if (const auto ticket = watched_.find(key); ticket != watched_.end()) {
        ticket->second->on_ticket_changed(index);
        return;
    }
    const local_queue* const queue = queues_.find(key);
    if (queue != nullptr && queue->attempting() != nullptr) {
        tell_of_change(*queue->attempting(), queue->remote(), index);
    }
}

void engine::tell_of_change(acquire_operation& waiting, remote_queue* remote, std::size_t index) {
    const auto owned = waiting.self();  // the first to hear of it may end it
    if (remote != nullptr) {
        remote->on_lock_changed(index);
    }
    if (waiting.running()) {
        waiting.on_key_changed(index);
    }
}

void engine::on_all_keys_changed(std::size_t index) {
    for_each(remote_queues_, [index](remote_queue& one) { one.on_all_keys_changed(index); });
    for_each(acquiring_, [index](acquire_operation& one) { one.on_key_changed(index); });
}

core::command& engine::submit(instance::vote_receiver& receiver, instance::command_tag tag,
                              core::instance_set targets, core::time_point deadline) {
    schedule_turn();
    return batch_->submit(&receiver, tag, targets, deadline);
}

std::shared_ptr<instance::batch> engine::empty_batch() {
    auto result = batches_.take([] { return std::make_shared<instance::batch>(); });
    result->clear();
    return result;
}

void engine::deliver_later(std::shared_ptr<operation> finished) {
    finished_.push_back(std::move(finished));
    schedule_turn();
}

void engine::schedule_turn() {
    if (!turn_scheduled_ && !dead()) {
        turn_owed_ = reading_;
        if (!reading_) {
            world_.defer();
        }
        turn_scheduled_ = true;  // not if that has thrown, or no turn would ever come
    }
}

void engine::on_reading() {
    reading_ = true;
}

/// With few locks under way the turn follows at once: there is nothing that it should wait for. With many, the votes of
/// other instances make its batch larger. (That saves a lock that is taken all by itself 6 % of its client's CPU.)
void engine::on_read() {
    constexpr std::uint64_t few = 4;
    reading_ = false;
    if (!std::exchange(turn_owed_, false) || dead()) {
        return;
    }
    if (statistics_.acquiring - statistics_.queued + statistics_.releasing > few) {
        turn_scheduled_ = false;
        schedule_turn();
        return;
    }
    turn();
}

void engine::turn() {
    recent_time_ = now();
    turn_scheduled_ = false;  // a handler may run the context, and wait there for another turn
    try {
        deliver_finished();
    } catch (...) {  // from a caller's handler: it goes to whoever runs the context, then we go on
        schedule_turn();
        throw;
    }
    begin_next();
    if (!finished_.empty()) {  // what the handlers have finished in their turn
        schedule_turn();
    }
    send_batch();
    if (closing_ && !closed_ && all_settled(recent_time_)) {
        finish_closing(close_operation::outcome_type::closed);
    }
}

bool engine::all_settled(core::time_point now) const {
    const auto settled = [now](const lease_state& one) { return one.settled(now); };
    return std::ranges::all_of(leases_, settled) && std::ranges::all_of(giving_back_, settled);
}

void engine::send_batch() {
    const bool wanted = std::exchange(instances_want_to_send_, false) || !batch_->empty();
    if (dead() || !wanted) {
        return;
    }
    const auto sent = std::exchange(batch_, empty_batch());
    ++turn_number_;
    const core::time_point now = world_.now();
    const std::size_t first = std::exchange(first_, 0);  // what votes at once may change it
    for (std::size_t i = 0; i != instances_.size(); ++i) {
        instances_[(first + i) % instances_.size()]->send(sent, now);
    }
}

/// Runs the handlers of what has finished until now; what finishes meanwhile has its turn later.
void engine::deliver_finished() {
    if (next_to_deliver_ == delivering_.size()) {
        delivering_.clear();
        next_to_deliver_ = 0;
        delivering_.swap(finished_);
    }
    while (next_to_deliver_ != delivering_.size()) {
        prefetch_next();
        const auto operation = std::move(delivering_[next_to_deliver_++]);
        operation->deliver();
    }
}

/// What the operations after the next to be delivered need.
void engine::prefetch_next() const noexcept {
    constexpr std::size_t soon = 2;
    constexpr std::size_t later = 6;
    constexpr std::size_t usual_size = 320;
    if (next_to_deliver_ + later < delivering_.size()) {
        core::prefetch_shared(delivering_[next_to_deliver_ + later], usual_size);
    }
    if (next_to_deliver_ + soon < delivering_.size()) {
        delivering_[next_to_deliver_ + soon]->prefetch();
    }
}

void engine::advance(local_queue& queue) {
    while (queue.admits_next()) {
        acquire_operation& next = queue.front();
        if (lease_state* const lease = queue.to_be_shared(next.spec(), now())) {
            next.share(*lease);  // which takes it out of the queue
            continue;
        }
        next_.push_back(std::static_pointer_cast<acquire_operation>(queue.next().self()));
        --statistics_.queued;
        schedule_turn();
        return;
    }
    if (queue.unused()) {
        queues_.close(queue);
    }
}

void engine::begin_next() {
    while (!next_.empty()) {
        for (const auto& operation : std::exchange(next_, {})) {
            operation->begin();
        }
    }
}

/// Has `wake` called when the earliest time has come.
void engine::arm() {
    if (timers_.earliest() < armed_for_ && !dead()) {
        armed_for_ = timers_.earliest();
        world_.wake_at(armed_for_);
    }
}

void engine::wake() {
    recent_time_ = now();
    armed_for_ = core::time_point::min();  // until all that is due has had its turn
    timers_.run(recent_time_);
    armed_for_ = core::never;
    arm();
}

void engine::release_ended() {
    --statistics_.releasing;
    if (closing_) {
        schedule_turn();
    }
}

void engine::close() {
    if (closing_ || dead()) {
        return;
    }
    closing_ = true;
    while (!acquiring_.empty()) {
        acquiring_.front().on_close();
    }
    for_each_lease([](lease_state& one) { one.on_close(); });
    const core::time_point now = world_.now();
    close_deadline_ = now + settings_.close_timeout;
    look_after_leases(now);
    schedule_turn();
}

void engine::close_at_once() {
    if (!dead() && !closed_) {
        close();
        finish_closing(close_operation::outcome_type::closed);
    }
}

/// Time alone may settle a lease: an instance that is silent for long is not waited for.
void engine::look_after_leases(core::time_point now) {
    wait(*this, std::min(close_deadline_, now + settings_.instance_timeout / 4));
}

void engine::on_time(core::time_point now) {
    if (closed_) {
        return;
    }
    if (now < close_deadline_) {
        look_after_leases(now);
        schedule_turn();
        return;
    }
    const auto unanswered = [](const lease_state& one) { return one.unanswered(); };
    finish_closing(std::ranges::any_of(leases_, unanswered) ||
                           std::ranges::any_of(giving_back_, unanswered)
                       ? close_operation::outcome_type::unanswered
                       : close_operation::outcome_type::closed);
}

void engine::finish_closing(close_operation::outcome_type outcome) {
    closed_ = true;
    close_outcome_ = outcome;
    timers_.clear(*this);
    for (const auto& one : instances_) {
        one->stop();
    }
    for_each_lease([](lease_state& one) { one.on_closed(); });
    armed_for_ = core::never;
    world_.wake_at(core::never);
    for (const auto& waiter : std::exchange(close_waiters_, {})) {
        waiter->finish(outcome);
    }
}

void engine::abandon() noexcept {
    dead_ = true;
    instances_.clear();
    while (!acquiring_.empty()) {
        acquire_operation& operation = acquiring_.front();
        acquiring_.pop_front();
        operation.on_abandon();
    }
    for (auto* const list : {&leases_, &giving_back_}) {
        while (!list->empty()) {
            lease_state& lease = list->front();
            list->pop_front();
            lease.on_abandon();
        }
    }
    while (!remote_queues_.empty()) {
        remote_queue& remote = remote_queues_.front();
        remote_queues_.pop_front();
        remote.on_abandon();
    }
    const auto next = std::exchange(next_, {});
    const auto finished = std::exchange(finished_, {});
    const auto delivering = std::exchange(delivering_, {});
    for (const auto& waiter : std::exchange(close_waiters_, {})) {
        const auto dying = waiter->take();
    }
}

}  // namespace colock::runtime
