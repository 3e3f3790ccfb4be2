#include "runtime/lease_state.hpp"

#include "runtime/acquire_operation.hpp"
#include "runtime/describe.hpp"
#include "runtime/engine.hpp"

#include <algorithm>
#include <utility>

namespace colock::runtime {
namespace {

// A tag is the verb, and for `extend` the round as well; `heal` is an acquire of its own kind.
constexpr instance::command_tag tag_bits = 3;
constexpr instance::command_tag heal_tag = 7;

constexpr instance::command_tag make_tag(core::verb verb, std::uint32_t round = 0) noexcept {
    return (round << tag_bits) | static_cast<instance::command_tag>(verb);
}

constexpr bool is(instance::command_tag tag, core::verb verb) noexcept {
    return (tag & ((1U << tag_bits) - 1U)) == static_cast<instance::command_tag>(verb);
}

core::milliseconds to_milliseconds(core::duration d) noexcept {
    return std::chrono::duration_cast<core::milliseconds>(d);
}

loss_reason reason_for(core::loss why) noexcept {
    switch (why) {
        case core::loss::keys_gone:
        case core::loss::unrenewable:
            break;
        case core::loss::expired:
            return loss_reason::expired;
        case core::loss::max_hold:
            return loss_reason::max_hold;
    }
    return loss_reason::lost;
}

}  // namespace

void lease_operation::finish(lease_result result) {
    if (!finished_) {
        finished_ = true;
        result_ = result;
        lease_->owner()->deliver_later(shared_from_this());
    }
}

void lease_operation::cancel() {
    finish(lease_result::cancelled);
}

void extend_operation::start() {
    lease().extend(std::static_pointer_cast<extend_operation>(shared_from_this()));
}

void release_operation::start() {
    lease().release(std::static_pointer_cast<release_operation>(shared_from_this()));
}

void loss_operation::start() {
    lease().wait_lost(std::static_pointer_cast<loss_operation>(shared_from_this()));
}

lease_state::lease_state(std::shared_ptr<engine> owner, std::shared_ptr<const lock_spec> spec,
                         acquire_operation& attempt)
    : attempt_(&attempt),
      keys_(owner->instance_count(), belief::maybe),
      engine_(std::move(owner)),
      spec_(std::move(spec)),
      token_(engine_->tokens().next_token()),
      ttl_(spec_->ttl) {
    engine_->add(*this);
}

lease_state::~lease_state() {
    engine_->stop_waiting(*this);
}

void lease_state::submit(core::verb verb, core::duration ttl, core::time_point sent,
                         instance::command_tag tag, std::uint32_t target) {
    instance::submission one;
    one.command.verb = verb;
    one.command.key = spec_->key;
    one.command.token = token_.view();
    one.command.ttl = to_milliseconds(ttl);
    if (verb == core::verb::acquire || verb == core::verb::extend) {  // a release is never too late
        one.command.deadline = sent + engine_->settings().instance_timeout;
    }
    one.receiver = this;
    one.tag = tag;
    one.target = target;
    keep_alive();
    pending_votes_ += target == instance::submission::every_instance
                          ? static_cast<std::uint32_t>(keys_.size())
                          : 1U;
    last_turn_ = engine_->turn_number();
    engine_->submit(one);
}

/// To be called when `wanted` may have become false for something.
void lease_state::reconsider() noexcept {
    if (pending_votes_ != 0 && last_turn_ == engine_->turn_number()) {
        engine_->reconsider();
    }
}

void lease_state::detach() noexcept {
    attempt_ = nullptr;
    reconsider();
}

void lease_state::send_acquire(core::time_point sent) {
    submit(core::verb::acquire, ttl_, sent, make_tag(core::verb::acquire));
}

void lease_state::hold(core::time_point sent, core::time_point valid_until, core::time_point now) {
    attempt_ = nullptr;
    phase_ = phase::held;
    was_held_ = true;
    ++engine_->count().held;

    core::renew_settings settings;
    settings.instances = keys_.size();
    settings.ttl = spec_->ttl;
    settings.interval = spec_->renew_interval;
    settings.drift = engine_->settings().drift;
    settings.instance_timeout = engine_->settings().instance_timeout;
    settings.max_hold = spec_->max_hold;
    machine_.emplace<core::renew>(settings, sent, valid_until);
    drive_renew(core::renew::event::start(), now);
}

void lease_state::give_back(const std::vector<std::size_t>& denied) {
    if (std::any_of(keys_.begin(), keys_.end(), [](belief b) { return b != belief::no; })) {
        ++engine_->count().undone;
    }
    const core::time_point now = std::chrono::steady_clock::now();
    begin_release(now, core::time_point::min());
    for (const std::size_t index : denied) {
        submit(core::verb::remaining, {}, now, make_tag(core::verb::remaining),
               static_cast<std::uint32_t>(index));
    }
}

void lease_state::on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote) {
    --pending_votes_;
    if (is(tag, core::verb::acquire)) {
        on_acquire_vote(index, vote);
    } else if (is(tag, core::verb::extend)) {
        if (phase_ == phase::held) {
            drive_renew(core::renew::event::voted(index, tag >> tag_bits, vote),
                        std::chrono::steady_clock::now());
        }
    } else if (is(tag, core::verb::release)) {
        on_release_vote(index, vote);
    } else if (is(tag, core::verb::remaining)) {
        if (attempt_ != nullptr) {
            attempt_->on_remaining(index, vote);
        }
    } else {
        on_heal_vote(index, vote);
    }
    forget_if_idle();
}

void lease_state::on_acquire_vote(std::size_t index, const core::vote& vote) {
    const bool granted = vote.kind == core::vote_kind::granted;
    if (granted) {
        keys_[index] = belief::yes;
    } else if (vote.kind == core::vote_kind::denied || !core::outcome_unknown(vote.reason)) {
        keys_[index] = belief::no;
        reconsider();
    }
    if (phase_ == phase::acquiring) {
        attempt_->on_vote(index, vote);
    } else if (phase_ == phase::releasing && granted && giving_back().thinks_without(index)) {
        drive_release(core::release::event::late_grant(index), engine_->recent_time());
    }
}

void lease_state::on_release_vote(std::size_t index, const core::vote& vote) {
    if (phase_ == phase::releasing && giving_back().note(index, vote)) {
        return;
    }
    // Not sent, since by then there was no need.
    const bool needless = vote.kind == core::vote_kind::failed && keys_[index] == belief::no;
    drive_release(core::release::event::voted(
                      index, needless ? core::vote::denied(core::holder::nobody) : vote),
                  engine_->recent_time());
}

void lease_state::on_heal_vote(std::size_t index, const core::vote& vote) {
    if (vote.kind == core::vote_kind::granted) {
        keys_[index] = belief::yes;
        ++engine_->count().healed;
    }
}

/// What makes it false calls `reconsider`.
bool lease_state::wanted(std::size_t index, instance::command_tag tag) const {
    if (is(tag, core::verb::acquire)) {
        return phase_ == phase::acquiring || phase_ == phase::held;
    }
    if (is(tag, core::verb::release)) {
        return keys_[index] != belief::no;
    }
    if (is(tag, core::verb::remaining)) {
        return attempt_ != nullptr;
    }
    return phase_ == phase::held;  // extend and heal stop strictly before the release
}

void lease_state::on_time(core::time_point now) {
    const std::shared_ptr<lease_state> alive = shared_from_this();
    if (phase_ == phase::held) {
        drive_renew(core::renew::event::timer(), now);
    } else if (phase_ == phase::releasing) {
        drive_release(core::release::event::timer(), now);
    }
    forget_if_idle();
}

void lease_state::drive_renew(core::renew::event event, core::time_point now) {
    using kind = core::renew::action::kind_type;
    for (;;) {
        const std::uint32_t won = watchdog().won();
        const std::uint32_t failed = watchdog().failed();
        const core::renew::action action = watchdog().resume(event, now);
        engine_->count().renewed.add(watchdog().won() - won);
        engine_->count().renewals_failed.add(watchdog().failed() - failed);
        valid_until_.store(watchdog().valid_until().time_since_epoch().count(),
                           std::memory_order_release);
        switch (action.kind) {
            case kind::wait:
                wait(action.time);
                return;
            case kind::send:
                send_extend(now);
                break;
            case kind::heal:
                keys_[action.index] = belief::maybe;
                submit(core::verb::acquire, watchdog().ttl(), now, heal_tag,
                       static_cast<std::uint32_t>(action.index));
                break;
            case kind::extended:
                event = end_extend(action.success);
                continue;
            case kind::lost:
                lose(reason_for(action.why));
                return;
        }
        event = core::renew::event::done();
    }
}

void lease_state::send_extend(core::time_point now) {
    ttl_ = std::max(ttl_, watchdog().ttl());
    submit(core::verb::extend, watchdog().ttl(), now,
           make_tag(core::verb::extend, watchdog().round_number()));
}

/// Tells the one who asked for the extension; gives the event to go on with.
core::renew::event lease_state::end_extend(bool success) {
    auto& extends = rare().extends;
    extends.front()->finish(success ? lease_result::done : lease_result::no_quorum);
    extends.erase(extends.begin());
    return extends.empty() ? core::renew::event::done()
                           : core::renew::event::extend(extends.front()->ttl());
}

void lease_state::extend(std::shared_ptr<extend_operation> asker) {
    if (loss() != loss_reason::none) {
        asker->finish(lease_result::ended);
    } else if (phase_ != phase::held) {
        asker->finish(lease_result::not_held);
    } else {
        auto& extends = rare().extends;
        extends.push_back(std::move(asker));
        if (extends.size() == 1) {
            drive_renew(core::renew::event::extend(extends.front()->ttl()),
                        std::chrono::steady_clock::now());
        }
    }
}

void lease_state::wait_lost(std::shared_ptr<loss_operation> asker) {
    if (loss() != loss_reason::none) {
        asker->finish(lease_result::ended);
    } else if (phase_ != phase::held) {
        asker->finish(lease_result::not_held);
    } else {
        auto& waiters = rare().loss_waiters;
        std::erase_if(waiters, [](const auto& waiter) { return waiter->finished(); });
        waiters.push_back(std::move(asker));
    }
}

void lease_state::release(std::shared_ptr<release_operation> asker) {
    if (outcome_) {
        asker->finish(*outcome_ == core::release_outcome::no_quorum ? lease_result::no_quorum
                                                                    : lease_result::done);
        return;
    }
    release_waiters_.push_back(std::move(asker));
    let_go();
}

void lease_state::let_go() {
    if (phase_ != phase::held || engine_->dead()) {
        return;
    }
    const core::time_point now = std::chrono::steady_clock::now();
    end_loss_waiters(lease_result::not_held);
    begin_release(now, valid_until());
    forget_if_idle();
}

void lease_state::lose(loss_reason why) {
    if (phase_ != phase::held) {
        return;
    }
    const core::round* votes = watchdog().votes();
    rare().loss_details = why == loss_reason::lost && votes != nullptr
                              ? describe(spec_->resource, *votes, engine_->instance_states())
                              : describe(spec_->resource);
    const core::time_point end = valid_until();
    ++engine_->count().lost;
    loss_.store(why, std::memory_order_release);
    end_loss_waiters(lease_result::ended);
    begin_release(std::chrono::steady_clock::now(), end);
}

/// Leaves the phase of acquiring or holding for good.
void lease_state::begin_release(core::time_point now, core::time_point valid_until) {
    if (phase_ == phase::held) {
        --engine_->count().held;
        if (rare_) {
            for (const auto& asker : std::exchange(rare_->extends, {})) {
                asker->finish(loss() == loss_reason::none ? lease_result::not_held
                                                          : lease_result::ended);
            }
        }
    }
    phase_ = phase::releasing;
    reconsider();
    keep_alive();
    engine_->release_started();
    valid_until_.store(core::time_point::min().time_since_epoch().count(),
                       std::memory_order_release);

    core::release_settings settings;
    settings.instances = keys_.size();
    settings.instance_timeout = engine_->settings().instance_timeout;
    settings.retry = {std::chrono::milliseconds(20), std::chrono::seconds(2)};
    settings.valid_until = valid_until;
    settings.gone_at = core::gone_at(now, ttl_, engine_->settings().drift);
    core::release& machine = machine_.emplace<core::release>(settings, engine_->next_seed());
    for (std::size_t i = 0; i != keys_.size(); ++i) {
        if (keys_[i] != belief::no) {
            machine.concern(i);
        }
    }
    drive_release(core::release::event::start(), now);
}

void lease_state::drive_release(core::release::event event, core::time_point now) {
    using kind = core::release::action::kind_type;
    while (phase_ == phase::releasing) {
        const core::release::action action = giving_back().resume(event, now);
        switch (action.kind) {
            case kind::send:
                send_release(now);
                break;
            case kind::resolved:
                on_resolved(action.outcome);
                break;
            case kind::wait:
                wait(action.time);
                return;
            case kind::ended:
                end();
                break;
        }
        event = core::release::event::done();
    }
}

void lease_state::send_release(core::time_point now) {
    constexpr instance::command_tag tag = make_tag(core::verb::release);
    if (giving_back().wants_all()) {
        submit(core::verb::release, {}, now, tag);
        return;
    }
    for (std::uint32_t i = 0; i != keys_.size(); ++i) {
        if (giving_back().wants(i)) {
            submit(core::verb::release, {}, now, tag, i);
        }
    }
}

void lease_state::on_resolved(core::release_outcome outcome) {
    // It had ended before it was given back; or its validity has, whether somebody answers or not.
    const loss_reason why = loss();
    const bool over = why == loss_reason::lost || why == loss_reason::expired;
    if ((outcome == core::release_outcome::released && why != loss_reason::none) ||
        (outcome == core::release_outcome::no_quorum && over)) {
        outcome = core::release_outcome::expired;
    }
    if (outcome == core::release_outcome::released && was_held_) {
        ++engine_->count().released;
    }
    outcome_ = outcome;
    for (const auto& waiter : std::exchange(release_waiters_, {})) {
        waiter->finish(outcome == core::release_outcome::no_quorum ? lease_result::no_quorum
                                                                   : lease_result::done);
    }
}

/// Leaves everything that the engine knows of us: from now on we may be destroyed by any thread.
void lease_state::end() {
    phase_ = phase::ended;
    engine_->stop_waiting(*this);
    unlink();
    engine_->release_ended();
}

void lease_state::on_close() {
    lose(loss_reason::closed);
    forget_if_idle();
}

void lease_state::on_closed() {
    if (phase_ != phase::releasing) {
        return;
    }
    end();
    if (!outcome_) {
        on_resolved(core::release_outcome::no_quorum);
    }
    forget_if_idle();
}

void lease_state::on_abandon() noexcept {
    engine_->stop_waiting(*this);
    // The handlers of those who wait for us may own the lease, and so us.
    std::vector<std::shared_ptr<extend_operation>> extends;
    std::vector<std::shared_ptr<loss_operation>> loss_waiters;
    if (rare_) {
        extends.swap(rare_->extends);
        loss_waiters.swap(rare_->loss_waiters);
    }
    const auto release_waiters = std::exchange(release_waiters_, {});
    const auto dying = std::move(self_);
}

void lease_state::end_loss_waiters(lease_result result) {
    if (rare_) {
        for (const auto& waiter : std::exchange(rare_->loss_waiters, {})) {
            waiter->finish(result);
        }
    }
}

lease_state::rarely_used& lease_state::rare() {
    if (!rare_) {
        rare_ = std::make_unique<rarely_used>();
    }
    return *rare_;
}

void lease_state::wait(core::time_point until) {
    engine_->wait(*this, until);
}

void lease_state::keep_alive() {
    if (!self_) {
        self_ = shared_from_this();
    }
}

/// The last thing that an entry point does: it may be the end of us.
void lease_state::forget_if_idle() {
    if (pending_votes_ == 0 && phase_ != phase::releasing) {
        const auto dying = std::move(self_);
    }
}

}  // namespace colock::runtime
