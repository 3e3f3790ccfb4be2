#include "runtime/lease_state.hpp"

#include "core/prefetch.hpp"
#include "runtime/acquire_operation.hpp"
#include "runtime/describe.hpp"
#include "runtime/engine.hpp"

#include <algorithm>
#include <utility>

namespace colock::runtime {
namespace {

using purpose = core::lease_tag::purpose_type;

core::milliseconds to_milliseconds(core::duration d) noexcept {
    return std::chrono::duration_cast<core::milliseconds>(d);
}

lease_result result_of(core::release_outcome outcome) noexcept {
    return outcome == core::release_outcome::no_quorum ? lease_result::no_quorum
                                                       : lease_result::done;
}

}  // namespace

void lease_operation::finish(lease_result result) {
    if (running()) {
        result_ = result;
        waiting_for_lease::unlink();
        lease_->owner()->deliver_later(take());
    }
}

void lease_operation::prefetch() const noexcept {
    core::prefetch_shared(lease_, core::cache_line);
}

void lease_operation::cancel() {
    finish(lease_result::cancelled);
}

void extend_operation::on_start() {
    lease().extend(*this);
}

void downgrade_operation::on_start() {
    lease().downgrade(*this);
}

void downgrade_operation::on_extended() {
    lease().admit_readers();
}

void upgrade_operation::on_start() {
    is_shared_ = lease().spec().is_shared();
    finish(!lease().is_held_by(*this) ? lease().result_without(*this)
           : lease().is_on(*shared_)  ? lease_result::done
                                      : lease_result::wrong);
}

void share_operation::on_start() {
    if (!lease().is_held_by(*this)) {
        finish(lease().result_without(*this));
    } else if (!lease().spec().is_shared() || !lease().is_on(*shared_)) {
        finish(lease_result::wrong);
    } else {
        lease().add_holder();
        new_holder_ = lease().holder();
        finish(lease_result::done);
    }
}

void release_operation::on_start() {
    lease().release(*this);
}

void release_operation::resolve(core::release_outcome outcome) {
    outcome_ = outcome;
    finish(result_of(outcome));
}

void loss_operation::on_start() {
    lease().wait_lost(*this);
}

lease_state::lease_state(std::shared_ptr<const lock_spec> spec, acquire_operation& attempt,
                         core::acquire& attempt_machine)
    : attempt_(&attempt),
      attempt_machine_(&attempt_machine),
      spec_(std::move(spec)),
      machine_(spec_->policy->lease, spec_->owner->next_seed()),
      engine_(*spec_->owner),
      token_(engine_.next_token(spec_->policy->kind())),
      held_as_(token_.view()) {
    engine_.add(*this);
}

lease_state::~lease_state() {
    engine_.stop_waiting(*this);
}

void lease_state::submit(const core::lease::action& send, core::time_point now) {
    // A release is never too late.
    const core::time_point deadline =
        core::has_deadline(send.step) ? now + engine_.settings().instance_timeout : core::never;
    core::command& command = engine_.submit(*this, send.tag.value(), send.targets, deadline);
    command.kind = &spec().policy->kind();
    command.step = send.step;
    command.key = spec_->key;
    command.token = held_as_;
    command.ttl = to_milliseconds(send.ttl);
    command.fence = send.fence;
    command.contended = send.contended;
    command.heals = send.tag.purpose() == purpose::heal;
    pending_votes_ += static_cast<std::uint32_t>(send.targets.count(engine_.instance_count()));
    last_turn_ = engine_.turn_number();
}

void lease_state::detach() noexcept {
    attempt_ = nullptr;
    machine_.detach();
    engine_.reconsider(last_turn_);
    forget_if_over();
}

void lease_state::begin(std::shared_ptr<lease_state> self, bool contended, core::time_point now) {
    self_ = std::move(self);
    submit(machine_.start(contended), now);
}

void lease_state::raise(std::uint64_t fence, core::time_point now) {
    submit(machine_.raise(fence), now);
}

void lease_state::hold(local_queue& queue, core::time_point valid_until, core::time_point now,
                       std::uint64_t fence) {
    attempt_ = nullptr;
    queue_ = &queue;
    ++engine_.count().held;
    drive(machine_.hold(valid_until, now, fence), now);
}

void lease_state::give_back() {
    if (machine_.may_have_keys()) {
        ++engine_.count().undone;
    }
    const core::time_point now = engine_.now();
    drive(machine_.give_back(now), now);
}

void lease_state::ask_remaining(std::shared_ptr<lease_state> self, std::size_t index) {
    if (!self_) {  // all that there was to give back is
        self_ = std::move(self);
        engine_.add(*this);
    }
    submit(core::lease::ask_remaining(index), engine_.recent_time());
}

void lease_state::on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote) {
    --pending_votes_;
    in_vote_ = true;
    const core::lease_tag sent = core::lease_tag::from(tag);
    if (!machine_.note(index, sent, vote)) {
        const core::time_point now = engine_.now();
        drive(machine_.on_vote(index, sent, vote, now), now);
    }
    switch (sent.purpose()) {
        case purpose::acquire:
            if (vote.kind != core::vote_kind::granted) {
                engine_.reconsider(last_turn_);
            }
            if (machine_.acquiring() && !attempt_machine_->note(index, vote)) {
                attempt_->on_deciding_vote(index, vote);
            }
            break;
        case purpose::raise:
            if (machine_.acquiring()) {
                attempt_->on_raised(index, vote);
            }
            break;
        case purpose::remaining:
            if (attempt_ != nullptr) {
                attempt_->on_remaining(index, vote);
            }
            break;
        case purpose::heal:
            if (vote.kind == core::vote_kind::granted) {
                ++engine_.count().healed;
            }
            break;
        case purpose::release:
            if (vote.reason == core::failure::down) {
                engine_.tell_of_accepting(*this);
            }
            break;
        case purpose::extend:
        case purpose::count:
            break;
    }
    in_vote_ = false;
    forget_if_over();
}

void lease_state::prefetch() const noexcept {
    core::prefetch(&machine_);
    core::prefetch_shared(spec_, core::cache_line);
    if (attempt_ != nullptr) {
        core::prefetch(attempt_machine_);
    }
    if (!release_waiters_.empty()) {
        core::prefetch(&release_waiters_.front());
    }
}

/// What may make it false calls `engine::reconsider`.
bool lease_state::wanted(std::size_t index, instance::command_tag tag) const {
    return machine_.wanted(index, core::lease_tag::from(tag));
}

void lease_state::on_time(core::time_point now) {
    drive(machine_.on_time(now), now);
    forget_if_over();
}

/// Carries out an action of the machine, and those that come next.
void lease_state::drive(core::lease::action action, core::time_point now) {
    using kind = core::lease::action::kind_type;
    for (;;) {
        if (action.kind == kind::lost) {
            // Before `publish`: a lease that is not valid and has no reason looks released to other threads.
            on_lost(action.why);
        }
        publish();
        if (machine_.let_go() && !std::exchange(let_go_, true)) {
            on_releasing(now);
        }
        switch (action.kind) {
            case kind::wait:
                engine_.wait(*this, action.time);
                return;
            case kind::send:
                submit(action, now);
                break;
            case kind::extended:
                action = end_extend(action.success, now);
                continue;
            case kind::lost:
                break;
            case kind::handed_off:
                if (!hand_off_to_next()) {
                    action = machine_.release(now);
                    continue;
                }
                break;
            case kind::resolved:
                on_resolved();
                break;
            case kind::ended:
                end();
                return;
        }
        action = machine_.next(now);
    }
}

/// For whoever asks from another thread, and for the counters.
void lease_state::publish() noexcept {
    valid_until_.store(machine_.valid_until().time_since_epoch().count(),
                       std::memory_order_release);
    if (machine_.held()) {
        const core::renew& watchdog = machine_.watchdog();
        engine_.count().renewed.add(watchdog.won() - renewals_counted_);
        engine_.count().renewals_failed.add(watchdog.failed() - failed_renewals_counted_);
        renewals_counted_ = watchdog.won();
        failed_renewals_counted_ = watchdog.failed();
    }
}

/// Tells the one who asked for the extension, and asks for the next.
core::lease::action lease_state::end_extend(bool success, core::time_point now) {
    auto& extends = rare().extends;
    if (!success) {
        explain_no_quorum(*machine_.watchdog().votes());
    }
    const auto asker = std::move(extends.front());
    extends.erase(extends.begin());
    asker->finish(success ? lease_result::done : lease_result::no_quorum);
    if (success) {
        asker->on_extended();
    }
    return extends.empty() ? machine_.next(now) : machine_.extend(ttl_for(*extends.front()), now);
}

bool lease_state::is_held_by(const lease_operation& asker) const noexcept {
    return machine_.held() && loss(asker.holder()) == core::loss::none && holds(asker.holder());
}

/// Of an operation whose lease is not held.
lease_result lease_state::result_without(const lease_operation& asker) const noexcept {
    return loss(asker.holder()) == core::loss::none ? lease_result::not_held : lease_result::ended;
}

void lease_state::extend(extend_operation& asker) {
    if (!is_held_by(asker)) {
        asker.finish(result_without(asker));
    } else {
        auto& extends = rare().extends;
        extends.push_back(std::static_pointer_cast<extend_operation>(asker.self()));
        if (extends.size() == 1) {
            const core::time_point now = engine_.now();
            drive(machine_.extend(ttl_for(*extends.front()), now), now);
        }
    }
}

void lease_state::downgrade(downgrade_operation& asker) {
    const kinds::kind_traits& ours = spec_->policy->kind().traits();
    const kinds::kind_traits& readers = asker.shared()->policy->kind().traits();
    if (!is_held_by(asker)) {
        asker.finish(result_without(asker));
    } else if (!is_on(*asker.shared()) || ours.fenced != readers.fenced ||
               !(spec().is_shared() || ours.clears_the_way)) {
        asker.finish(lease_result::wrong);
    } else if (queue_->is_shared()) {
        asker.finish(lease_result::done);
    } else {
        if (!reader_spec_) {  // else the last time it found no quorum
            reader_spec_ = asker.shared();
            held_as_ = token_.with_prefix(readers.token_prefix);
        }
        extend(asker);
    }
}

void lease_state::admit_readers() {
    if (queue_ != nullptr) {
        queue_->become_shared(engine_.now());
        engine_.advance(*queue_);
    }
}

void lease_state::wait_lost(loss_operation& asker) {
    if (!is_held_by(asker)) {
        asker.finish(result_without(asker));
    } else {
        rare().loss_waiters.push_back(asker);
    }
}

void lease_state::release(release_operation& asker) {
    if (leaves_others(asker.holder())) {
        const bool lost = loss(asker.holder()) != core::loss::none;
        release_share(asker.holder());
        asker.resolve(lost ? core::release_outcome::expired : core::release_outcome::released);
    } else if (machine_.outcome()) {
        asker.resolve(*machine_.outcome());
    } else {
        release_waiters_.push_back(asker);
        let_go(asker.holder());
    }
}

void lease_state::let_go(std::uint32_t holder) {
    if (queue_ == nullptr || engine_.dead()) {
        return;
    }
    if (leaves_others(holder)) {
        release_share(holder);
        return;
    }
    end_loss_waiters(lease_result::not_held);
    const core::time_point now = engine_.now();
    if (!may_hand_off(now)) {
        drive(machine_.release(now), now);
    } else if (spec_->policy->lease.fencing) {
        drive(machine_.begin_handoff(now), now);
    } else {
        machine_.hand_off(now);
        hand_off_to_next();
    }
    forget_if_over();
}

// --- Sharing ----------------------------------------------------------------------------------------

/// As a hand-off may be, but that it need not be let go before. A lease with a limit of its own to how long it is held is
/// for one holder; and where a writer waits, nobody else is let in.
bool lease_state::may_be_shared(const lock_spec& wanted, core::time_point now) const {
    const lock_policy& policy = *spec().policy;
    return &wanted.policy->kind() == &policy.kind() && wanted.policy->lease == policy.lease &&
           policy.lease.max_hold == core::duration::zero() && !machine_.awaited_by_writer() &&
           machine_.may_hand_off(now);
}

std::shared_ptr<lease_state> lease_state::add_holder() {
    if (!shared_by_) {
        shared_by_ = std::make_unique<sharers>();
        shared_by_->add(holder());
        sharers_.store(shared_by_.get(), std::memory_order_release);
    }
    const std::uint32_t next = holder() + 1;
    shared_by_->add(next);
    holder_.store(next, std::memory_order_release);
    ++engine_.count().held;
    return self_;
}

/// A holder lets go: whether others stay, or had stayed when it did so. Else it is the latest holder, and the lease is
/// released with it.
bool lease_state::leaves_others(std::uint32_t holder) {
    if (!shared_by_) {
        return holder != this->holder();
    }
    if (shared_by_->count() == 1 && shared_by_->contains(holder)) {
        shared_by_->remove(holder, machine_.lost());
        holder_.store(holder, std::memory_order_release);
    }
    return shared_by_->count() != 0 || holder != this->holder();
}

void lease_state::release_share(std::uint32_t holder) {
    const bool lost = machine_.lost();
    if (!shared_by_ || !shared_by_->remove(holder, lost)) {
        return;  // it has let go before
    }
    ++engine_.count().released;
    if (!lost) {
        --engine_.count().held;
    }
    end_loss_waiters_of(holder, lease_result::not_held);
}

/// A reader does not shorten what others hold with it.
core::duration lease_state::ttl_for(const extend_operation& asker) const noexcept {
    return spec().is_shared() ? std::max(asker.ttl(), machine_.watchdog().ttl()) : asker.ttl();
}

// --- Hand-off ---------------------------------------------------------------------------------------

/// Whether the first in the local queue wants a lease like this one.
bool lease_state::next_may_have_it() const {
    if (queue_->empty()) {
        return false;
    }
    const lock_policy& wanted = *queue_->front().spec().policy;
    return &wanted.kind() == &spec().policy->kind() && wanted.lease == spec_->policy->lease;
}

bool lease_state::may_hand_off(core::time_point now) const {
    return !spec().is_shared() && next_may_have_it() &&
           queue_->hold().may_hand_off(machine_.holder(), spec_->policy->handoff, now) &&
           machine_.may_hand_off(now);
}

/// The machine has another holder: the first in the local queue. False if no waiter there wants the lease
/// any more.
bool lease_state::hand_off_to_next() {
    publish();
    holder_.store(machine_.holder(), std::memory_order_release);
    if (!next_may_have_it()) {
        return false;
    }
    ++engine_.count().released;
    ++engine_.count().handed_off;
    resolve(core::release_outcome::released);
    queue_->front().receive(self_);
    return true;
}

/// Its keys stay where they are until the holder has let go: see `core::lease`.
void lease_state::on_lost(core::loss why) {
    const core::round* votes = machine_.watchdog().votes();
    const bool by_votes = why == core::loss::keys_gone || why == core::loss::unrenewable;
    rare().loss_details = by_votes && votes != nullptr
                              ? describe(spec_->resource(), *votes, engine_.instance_states())
                              : describe(spec_->resource());
    ++engine_.count().lost;
    loss_.store(why, std::memory_order_release);
    end_loss_waiters(lease_result::ended);
    end_extends();
    const std::size_t holders = shared_by_ ? shared_by_->count() : 1;
    engine_.count().held.add(std::uint64_t{0} - holders);
    engine_.release_started();
    engine_.reconsider(last_turn_);
}

void lease_state::end_extends() {
    if (rare_) {
        for (const auto& asker : std::exchange(rare_->extends, {})) {
            asker->finish(result_without(*asker));
        }
    }
}

/// The machine has begun to release what was attempted, held or lost: the key is for others now.
void lease_state::on_releasing(core::time_point now) {
    const bool was_lost = loss_.load(std::memory_order_relaxed) != core::loss::none;
    if (!was_lost) {
        engine_.release_started();
    }
    if (queue_ != nullptr) {
        if (!was_lost) {
            --engine_.count().held;
            end_extends();
        }
        queue_->end_hold(*this, now);
        engine_.advance(*std::exchange(queue_, nullptr));
    }
    engine_.reconsider(last_turn_);
}

void lease_state::on_resolved() {
    const core::release_outcome outcome = *machine_.outcome();
    if (outcome == core::release_outcome::released && machine_.was_held()) {
        ++engine_.count().released;
    }
    if (outcome == core::release_outcome::no_quorum && machine_.was_held()) {
        explain_no_quorum(machine_.release_votes());
    }
    resolve(outcome);
}

void lease_state::resolve(core::release_outcome outcome) {
    while (!release_waiters_.empty()) {
        release_waiters_.front().resolve(outcome);
    }
}

void lease_state::explain_no_quorum(const core::round& votes) {
    rare().no_quorum_details = describe(spec_->resource(), votes, engine_.instance_states());
}

/// There is nothing left to do. Votes may still come.
void lease_state::end() {
    engine_.stop_waiting(*this);
    engine_.release_ended();
}

void lease_state::on_accepting(std::size_t index) {
    const core::time_point now = engine_.now();
    drive(machine_.on_accepting(index, now), now);
    forget_if_over();
}

void lease_state::on_close() {
    const core::time_point now = engine_.now();
    drive(machine_.close(now), now);
    forget_if_over();
}

void lease_state::on_closed() {
    if (machine_.ended()) {
        return;
    }
    const bool resolves = machine_.releasing() && !machine_.outcome();
    machine_.disconnect();
    if (queue_ != nullptr) {  // a lost lease whose holder has not let go
        rare().no_quorum_details = rare().loss_details;
        queue_->end_hold(*this, engine_.now());
        engine_.advance(*std::exchange(queue_, nullptr));
    }
    end();
    if (resolves) {
        on_resolved();
    }
    forget_if_over();
}

void lease_state::on_abandon() noexcept {
    engine_.stop_waiting(*this);
    // The handlers of those who wait for us may own the lease, and so us.
    const auto last = std::move(self_);
    const auto drop_all = [](auto& waiting) {
        while (!waiting.empty()) {
            const auto dying = waiting.front().take();
            waiting.pop_front();
        }
    };
    drop_all(release_waiters_);
    if (rare_) {
        drop_all(rare_->loss_waiters);
        for (const auto& asker : std::exchange(rare_->extends, {})) {
            const auto dying = asker->take();
        }
    }
}

void lease_state::end_loss_waiters(lease_result result) {
    if (rare_) {
        while (!rare_->loss_waiters.empty()) {
            rare_->loss_waiters.front().finish(result);
        }
    }
}

void lease_state::end_loss_waiters_of(std::uint32_t holder, lease_result result) {
    if (rare_) {
        for (auto it = rare_->loss_waiters.begin(); it != rare_->loss_waiters.end();) {
            loss_operation& one = *it++;
            if (one.holder() == holder) {
                one.finish(result);
            }
        }
    }
}

lease_state::rarely_used& lease_state::rare() {
    if (!rare_) {
        rare_ = std::make_unique<rarely_used>();
    }
    return *rare_;
}

/// The last thing that an entry point does: it may be the end of us. The engine does not know us any more
/// then, and whoever still has a lease may destroy us on any thread.
void lease_state::forget_if_over() {
    if (pending_votes_ == 0 && machine_.ended() && !in_vote_) {
        lease_of_engine::unlink();
        const auto dying = std::move(self_);
    }
}

}  // namespace colock::runtime
