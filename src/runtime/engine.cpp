#include "runtime/engine.hpp"

#include "core/backoff.hpp"
#include "core/prefetch.hpp"
#include "core/quorum.hpp"
#include "core/stable_hash.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <mutex>

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

/// Knows the engines of an execution context, to take them down while the context is being
/// destroyed: what they own would otherwise outlive the services that it uses.
class engine_registry final : public boost::asio::execution_context::service {
public:
    static inline boost::asio::execution_context::id id;

    explicit engine_registry(boost::asio::execution_context& context) : service(context) {}

    void add(const std::shared_ptr<engine>& e) {
        const std::lock_guard lock(mutex_);
        std::erase_if(engines_, [](const auto& known) { return known.expired(); });
        engines_.push_back(e);
    }

private:
    void shutdown() override {
        for (const auto& known : std::exchange(engines_, {})) {
            if (const auto e = known.lock()) {
                e->abandon();
            }
        }
    }

    /// In a child, before the context runs there, if it is done as Asio asks for.
    void notify_fork(boost::asio::execution_context::fork_event event) override {
        if (event == boost::asio::execution_context::fork_child) {
            for (const auto& known : engines_) {
                if (const auto e = known.lock()) {
                    e->end_in_child();
                }
            }
        }
    }

    std::mutex mutex_;
    std::vector<std::weak_ptr<engine>> engines_;
};

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

std::shared_ptr<engine> engine::make(boost::asio::any_io_executor executor,
                                     const engine_settings& settings,
                                     const instance_factory& make_instances) {
    std::shared_ptr<engine> result(new engine(std::move(executor), settings), &dispose);
    auto& context = boost::asio::query(result->user_executor_, boost::asio::execution::context);
    boost::asio::use_service<engine_registry>(context).add(result);
    result->instances_ = make_instances(result->executor_, *result);
    for (const auto& one : result->instances_) {
        one->start();
    }
    return result;
}

engine::engine(boost::asio::any_io_executor executor, const engine_settings& settings)
    : settings_(settings),
      user_executor_(std::move(executor)),
      executor_(settings.thread_safe
                    ? boost::asio::any_io_executor(boost::asio::make_strand(user_executor_))
                    : user_executor_),
      work_(boost::asio::prefer(executor_, boost::asio::execution::outstanding_work_t::tracked)),
      timer_(std::make_unique<boost::asio::steady_timer>(executor_)) {
    timers_.run(recent_time_);  // so that the wheels stand at the present
}

engine::~engine() = default;

void engine::dispose(engine* e) noexcept {
    std::unique_ptr<engine> owned(e);
    if (e->settings_.thread_safe && !e->dead() && !e->is_inherited()) {
        try {
            boost::asio::dispatch(boost::asio::any_io_executor(e->executor_),
                                  [dying = std::move(owned)] {});
        } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; then it ends here
        }
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
    for_each(places_, [](place_in_line& one) { one.on_instances_changed(); });
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
        if (can_keep_line(i) && (!result || weight > highest)) {
            result = i;
            highest = weight;
        }
    }
    return result;
}

bool engine::can_keep_line(std::size_t index) const noexcept {
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
    const lock_queue* const queue = queues_.find(key);
    if (queue != nullptr && queue->attempting() != nullptr) {
        tell_of_change(*queue->attempting(), queue->place(), index);
    }
}

void engine::tell_of_change(acquire_operation& waiting, place_in_line* place, std::size_t index) {
    const auto owned = waiting.self();  // the first to hear of it may end it
    if (place != nullptr) {
        place->on_lock_changed(index);
    }
    if (waiting.running()) {
        waiting.on_key_changed(index);
    }
}

void engine::on_all_keys_changed(std::size_t index) {
    for_each(places_, [index](place_in_line& one) { one.on_all_keys_changed(index); });
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
            post_turn();
        }
        turn_scheduled_ = true;  // not if that has thrown, or no turn would ever come
    }
}

void engine::post_turn() {
    boost::asio::post(executor_, [self = shared_from_this()] { self->turn(); });
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
    const auto self = shared_from_this();
    turn();
}

void engine::turn() {
    const presence::visit inside(presence_);
    if (is_inherited()) {
        end_in_child();
    }
    recent_time_ = instance::clock::now();
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
    const core::time_point now = instance::clock::now();
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

void engine::advance(lock_queue& queue) {
    if (queue.empty()) {
        queues_.close(queue);
    } else {
        next_.push_back(std::static_pointer_cast<acquire_operation>(queue.next().self()));
        --statistics_.queued;
        schedule_turn();
    }
}

void engine::begin_next() {
    while (!next_.empty()) {
        for (const auto& operation : std::exchange(next_, {})) {
            operation->begin();
        }
    }
}

/// Makes the timer fire when the earliest time has come.
void engine::arm() {
    // A child may share the file with which Asio waits for timers.
    if (timers_.earliest() < armed_for_ && timer_ && !is_inherited()) {
        wait_for_timer();
    }
}

void engine::wait_for_timer() {
    // A timer does not count the time for which the machine is suspended, so it is not trusted for long.
    constexpr core::duration longest = std::chrono::seconds(1);
    armed_for_ = timers_.earliest();
    const core::time_point now = instance::clock::now();
    timer_->expires_after(armed_for_ <= now ? core::duration::zero()
                                            : std::min(armed_for_ - now, longest));
    timer_->async_wait([weak = weak_from_this()](const boost::system::error_code& failure) {
        const auto self = weak.lock();
        if (failure || !self || self->dead()) {
            return;  // armed anew for an earlier time, or gone
        }
        const presence::visit inside(self->presence_);
        if (self->is_inherited()) {
            self->end_in_child();
            return;
        }
        self->recent_time_ = instance::clock::now();
        self->armed_for_ = core::time_point::min();  // until all that is due has had its turn
        self->timers_.run(self->recent_time_);
        self->armed_for_ = core::never;
        self->arm();
    });
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
    self_ = shared_from_this();
    while (!acquiring_.empty()) {
        acquiring_.front().on_close();
    }
    for_each_lease([](lease_state& one) { one.on_close(); });
    const core::time_point now = instance::clock::now();
    close_deadline_ = now + settings_.close_timeout;
    look_after_leases(now);
    schedule_turn();
}

void engine::end_in_child() {
    if (!std::exchange(ended_in_child_, true) && !dead() && !closed_) {
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
    timer_->cancel();
    armed_for_ = core::never;
    for (const auto& waiter : std::exchange(close_waiters_, {})) {
        waiter->finish(outcome);
    }
    work_ = boost::asio::any_io_executor();
    self_.reset();  // whoever called us holds another reference
}

void engine::abandon() noexcept {
    const auto self = shared_from_this();
    dead_.store(true, std::memory_order_release);
    timer_.reset();
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
    while (!places_.empty()) {
        place_in_line& place = places_.front();
        places_.pop_front();
        place.on_abandon();
    }
    const auto next = std::exchange(next_, {});
    const auto finished = std::exchange(finished_, {});
    const auto delivering = std::exchange(delivering_, {});
    for (const auto& waiter : std::exchange(close_waiters_, {})) {
        const auto dying = waiter->take();
    }
    self_.reset();
    // Leases may outlive the context; a strand of it must not.
    work_ = boost::asio::any_io_executor();
    executor_ = boost::asio::system_executor();
    user_executor_ = boost::asio::system_executor();
}

}  // namespace colock::runtime
