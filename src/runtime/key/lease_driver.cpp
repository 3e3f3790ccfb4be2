// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/key/lease_driver.hpp"

#include "core/validity.hpp"
#include "runtime/client_context.hpp"
#include "runtime/describe.hpp"
#include "runtime/key/key_queue.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace colock::runtime {
namespace {

constexpr std::uint32_t no_holder = std::numeric_limits<std::uint32_t>::max();

/// Returns the release outcome for one of several holders. The servers are not involved: the others keep the
/// lease, or have lost it too.
core::release_outcome outcome_of_share(core::loss loss) noexcept {
    switch (loss) {
        case core::loss::none:
            return core::release_outcome::released;
        case core::loss::keys_gone:
            return core::release_outcome::lost;
        default:
            return core::release_outcome::expired;
    }
}

}  // namespace

lease_driver::lease_driver(std::shared_ptr<const lock_spec> spec, key_queue& queue,
                           std::string_view token)
    : member_at_key(spec->admission()),
      first_reader_(spec->admission().shares_lease() ? 0 : no_holder),
      queue_(&queue),
      spec_(std::move(spec)),
      machine_(spec_->policy->lease, spec_->owner->next_seed()),
      client_(*spec_->owner),
      token_(
          client_.world, spec_->policy->kind().traits().token_prefix,
          token.empty() ? std::string_view(client_.settings.label) : token_parts::of(token).label,
          token_parts::of(token).digits) {
    client_.members.leases.push_back(*this);
}

runtime::loop& lease_driver::loop() const noexcept {
    return client_;
}

lease_driver::~lease_driver() {
    client_.alarms.stop_waiting(*this);
}

/// Handles an external event. Only such events can end the driver. Without memory, a timer soon takes its
/// place.
void lease_driver::drive(const event& e, core::time_point now) {
    try {
        carry_out(machine_.resume(e, now), now);
    } catch (const std::bad_alloc&) {
        constexpr core::duration soon = core::milliseconds(10);
        client_.alarms.wait(*this, now + soon);
        if (e.kind == event::kind_type::extend) {
            throw;  // Its caller waits for it.
        }
    }
    forget_if_over();
}

void lease_driver::resume(const event& e, core::time_point now) {
    carry_out(machine_.resume(e, now), now);
}

/// Carries out a step. Without memory for a command, its instances vote `failed`.
void lease_driver::carry_out(const core::lease_step& step, core::time_point now) {
    bool is_healed = step.heals.empty();
    bool is_sent = !step.send;
    try {
        act(step, now);
        if (!is_healed) {
            submit(core::lease_tag(purpose::heal), step.heals, now);
            is_healed = true;
        }
        if (!is_sent) {
            submit(*step.send, step.targets, now);
            is_sent = true;
        }
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): see below
    }
    tell_queue(step, now);
    if (!is_healed) {
        fail(core::lease_tag(purpose::heal), step.heals, now);
    }
    if (!is_sent) {
        fail(*step.send, step.targets, now);
    }
    // Requests that arrived in the meantime. They end with the lease.
    // mutant: second_downgrade_forgotten
    if (step.extended && !rare_->extends.empty()) {
        resume(event::extend(ttl_for(*rare_->extends.front())), now);
    }
    if (step.shared && !rare_->next_shares.empty()) {
        begin_shares(now);
    }
}

/// Votes for the instances to which a command was not sent.
void lease_driver::fail(core::lease_tag tag, core::instance_set targets, core::time_point now) {
    for (std::size_t i = 0; i != client_.instances.size(); ++i) {
        if (targets.contains(i)) {
            resume(event::voted(i, tag, core::vote::failed(core::failure::overloaded)), now);
        }
    }
}

void lease_driver::tell_queue(const core::lease_step& step, core::time_point now) {
    if (queue_ != nullptr) {
        queue_->on_lease(*this, step, now);
    }
}

/// Does the lease's own part of a step.
void lease_driver::act(const core::lease_step& step, core::time_point now) {
    if (step.extended) {
        end_extend(*step.extended);
    }
    if (step.shared) {
        end_shares(*step.shared);
    }
    if (step.lost) {
        // Before `publish`: to other threads, an invalid lease without a reason looks released.
        on_lost(*step.lost, step.lost_late, now);
    }
    publish();
    if (step.let_go) {
        on_releasing();
    }
    if (step.resolved) {
        on_resolved();
    }
    if (step.ended) {
        end();
    } else {
        client_.alarms.wait(*this, step.until);
    }
}

kinds::command& lease_driver::submit(core::lease_tag tag, core::instance_set targets,
                                     core::time_point now) {
    // A release is never too late.
    const core::time_point deadline = core::has_deadline(core::lease::step_of(tag))
                                          ? now + client_.settings.instance_timeout
                                          : core::never;
    kinds::command& command = client_.out.submit(*this, tag.value(), targets, deadline);
    command.kind = &spec().policy->kind();
    command.ticket = client_.client_number;
    command.key = spec_->key;
    command.more_keys = spec_->more_keys;
    // mutant: released_as_a_writer
    command.token = held_as();
    if (spec_->policy->kind().traits().orders_waiters) {
        command.place = place_;
        command.place_ttl = spec_->policy->place_ttl();
    }
    machine_.fill(command, tag);
    pending_votes_ += static_cast<std::uint32_t>(targets.count(client_.instances.size()));
    last_turn_ = client_.out.turn_number();
    return command;
}

/// Returns the token that the instances store.
std::string_view lease_driver::held_as() noexcept {
    // mutant: downgrade_as_a_writer
    return is_downgraded() ? token_.with_prefix(spec().policy->kind().traits().token_prefix)
                           : token_.view();
}

void lease_driver::detach() noexcept {
    queue_ = nullptr;
    client_.out.reconsider(last_turn_);
}

void lease_driver::begin(std::shared_ptr<lease_driver> self, const core::attempt& attempt,
                         core::time_point now) {
    self_ = std::move(self);
    drive(event::start(attempt), now);
}

void lease_driver::hold_since(core::time_point sent, core::time_point now) noexcept {
    hold_ = core::client_hold(sent, now);
    holders_.begin(now);
    ++client_.counts.held;
}

void lease_driver::give_up(core::time_point now) {
    drive(event::just(event::kind_type::give_up), now);
}

/// Keeps the driver alive until the vote has arrived, even if everything is rolled back.
void lease_driver::ask_remaining(std::shared_ptr<lease_driver> self, std::size_t index,
                                 bool explains) {
    if (!self_) {
        self_ = std::move(self);
        client_.members.leases.push_back(*this);
    }
    kinds::command& ask = submit(core::lease_tag(purpose::remaining),
                                 core::instance_set::only(index), client_.turn.recent_time());
    ask.explains = explains;
}

void lease_driver::on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                           core::time_point now) {
    client_.note_vote(vote, now);
    --pending_votes_;
    const core::lease_tag sent = core::lease_tag::from(tag);
    if (sent.purpose() == purpose::acquire && vote.kind != core::vote_kind::granted) {
        client_.out.reconsider(last_turn_);
    } else if (sent.purpose() == purpose::heal && vote.kind == core::vote_kind::granted) {
        ++client_.counts.healed;
    } else if (sent.purpose() == purpose::release && vote.reason == core::failure::down) {
        in_client::unlink();
        client_.members.giving_back.push_back(*this);
    }
    if (sent.purpose() != purpose::remaining) {
        drive(event::voted(index, sent, vote), now);
        return;
    }
    if (is_attempt()) {
        queue_->on_remaining(index, vote);
    }
    forget_if_over();
}

/// Any change that can make it false calls `outbox::reconsider`.
bool lease_driver::wanted(std::size_t index, instance::command_tag tag) const {
    const core::lease_tag sent = core::lease_tag::from(tag);
    return sent.purpose() == purpose::remaining ? is_attempt() : machine_.wanted(index, sent);
}

/// A release that waits for room is sent when the next renewal is due. Its lease is therefore not lost while
/// it waits. A release that was sent waits longer if a quorum has not been silent for long. A server may stand
/// still for half a second, for example while it deletes the keys of a slot that has moved.
void lease_driver::on_time(core::time_point now) {
    constexpr int patience = 4;
    if (release_waits() && machine_.held() && machine_.watchdog().due() <= now) {
        send_release();
    } else {
        const bool waits_for_release = machine_.releasing() && !machine_.outcome();
        drive(event::timer(waits_for_release &&
                           client_.instances.answer_since(
                               now - patience * client_.settings.instance_timeout)),
              now);
    }
}

/// Publishes the state for other threads, and updates the counters.
void lease_driver::publish() noexcept {
    valid_until_.store(machine_.valid_until().time_since_epoch().count(),
                       std::memory_order_release);
    if (machine_.held()) {
        const core::renew& watchdog = machine_.watchdog();
        client_.counts.renewed.add(watchdog.won() - renewals_counted_);
        client_.counts.renewals_failed.add(watchdog.failed() - failed_renewals_counted_);
        renewals_counted_ = watchdog.won();
        failed_renewals_counted_ = watchdog.failed();
    }
}

/// Completes the first request to extend.
void lease_driver::end_extend(bool success) {
    auto& extends = rare().extends;
    if (!success) {
        explain_no_quorum(*machine_.watchdog().votes());
    }
    const auto asker = std::move(extends.front());
    extends.erase(extends.begin());
    // mutant: downgrade_without_quorum
    rare_->is_readers = rare_->is_readers || (success && asker->is_downgrade());
    asker->finish(success ? lease_result::done : lease_result::no_quorum);
}

bool lease_driver::is_held_by(const lease_operation& asker) const noexcept {
    return machine_.held() && loss(asker.holder()) == core::loss::none &&
           holders_.contains(asker.holder()) && !release_waits();
}

/// Returns the result of an operation whose lease is not held.
lease_result lease_driver::result_without(const lease_operation& asker) const noexcept {
    return loss(asker.holder()) == core::loss::none ? lease_result::not_held : lease_result::ended;
}

lease_result lease_driver::check(const lease_operation& asker,
                                 const lock_spec& lock) const noexcept {
    if (!is_held_by(asker)) {
        return result_without(asker);
    }
    if (spec_->owner != lock.owner) {
        return lease_result::of_another_client;
    }
    if (spec_->key != lock.key) {
        return lease_result::of_another_name;
    }
    return spec_->admission().shares_lease() || spec_->policy->kind().traits().is_downgradable
               ? lease_result::done
               : lease_result::of_a_mutex;
}

void lease_driver::extend(extend_operation& asker) {
    if (!is_held_by(asker)) {
        asker.finish(result_without(asker));
    } else {
        auto& extends = rare().extends;
        extends.push_back(std::static_pointer_cast<extend_operation>(asker.self()));
        if (extends.size() == 1) {
            try {
                drive(event::extend(ttl_for(*extends.front())), client_.turn.now());
            } catch (const std::bad_alloc&) {
                extends.clear();
                throw;
            }
        }
    }
}

void lease_driver::downgrade(downgrade_operation& asker) {
    const kinds::kind_traits& ours = spec_->policy->kind().traits();
    const kinds::kind_traits& readers = asker.shared()->policy->kind().traits();
    if (const lease_result usable = check(asker, *asker.shared()); usable != lease_result::done) {
        asker.finish(usable);
    } else if (ours.value_per_holder != readers.value_per_holder) {
        asker.finish(lease_result::fenced_otherwise);
    } else if (queue_->local().held_as().shares_lease()) {
        asker.finish(lease_result::done);
    } else {
        if (!is_downgraded()) {  // Otherwise the last round had no quorum.
            rare().reader_spec = asker.shared();
            set_admission(asker.shared()->admission());
            rare().downgrade_began = client_.turn.now();
            // mutant: downgraded_says_writer
            first_reader_.store(asker.holder(), std::memory_order_release);
        }
        extend(asker);
    }
}

void lease_driver::wait_lost(loss_operation& asker) {
    if (!is_held_by(asker)) {
        asker.finish(result_without(asker));
    } else {
        rare().loss_waiters.push_back(asker);
    }
}

/// Stops the watchdog without a release of the keys.
void lease_driver::hand_over(handover_operation& asker) {
    const core::time_point now = client_.turn.now();
    if (machine_.held() && is_over(now)) {  // The timer for the loss is late.
        drive(event::just(event::kind_type::timer), now);
    }
    if (!is_held_by(asker)) {
        asker.finish(result_without(asker));
        return;
    }
    if (holders_.count() != 1) {
        asker.finish(lease_result::shared_by_others);
        return;
    }
    // mutant: detached_as_a_writer
    handover text{std::string(spec().policy->kind().traits().name),
                  std::string(held_as()),
                  {machine_.value(), machine_.values() != nullptr ? *machine_.values() : "",
                   machine_.longest_ttl()},
                  {spec_->key}};
    text.keys.insert(text.keys.end(), spec_->more_names.begin(), spec_->more_names.end());
    asker.receive(std::move(text));
    asker.finish(lease_result::done);
    ++client_.counts.detached;
    note_leaving(asker.holder());
    static_cast<void>(holders_.leaves_others(asker.holder(), false));
    end_ownership();
    end_loss_waiters(lease_result::not_held);
    // mutant: detached_lease_is_renewed
    drive(event::just(event::kind_type::abandon), client_.turn.now());
}

void lease_driver::release(release_operation& asker) {
    const core::time_point now = note_leaving(asker.holder());
    if (holders_.leaves_others(asker.holder(), was_lost())) {
        const core::loss why = loss(asker.holder());
        release_share(asker.holder());
        asker.resolve(outcome_of_share(why));
        return;
    }
    end_ownership();
    if (rare_ && rare_->is_cut_off) {
        asker.finish(lease_result::closed);
    } else if (machine_.outcome()) {
        asker.resolve(*machine_.outcome());
    } else if (machine_.abandoned()) {
        asker.finish(lease_result::not_held);
    } else {
        const bool may_end = may_end_hold();
        release_waiters_.push_back(asker);
        if (may_end) {
            const bool is_handed_off = may_hand_off(now);
            if (is_handed_off || !needs_room() || client_.gate.admits_release()) {
                end_hold(is_handed_off, now);
            } else {
                client_.gate.wait_for_release(asker);
            }
        }
    }
}

/// Measures how long this holder has held the lease, because it leaves now. Returns the time. If it has left
/// before, nothing is measured. A lost lease was measured at its loss.
core::time_point lease_driver::note_leaving(std::uint32_t holder) noexcept {
    client_.turn.note_time();  // The next holder has waited until now.
    const core::time_point now = client_.turn.recent_time();
    const core::time_point since = holders_.since(holder);
    if (since != core::never) {
        if (!was_lost()) {
            client_.counts.holds.add(now - since);
        }
        if (is_at_key() && now >= machine_.watchdog().valid_until()) {
            ++client_.counts.overstays;
        }
        holders_.end();
    }
    return now;
}

/// Returns false after the release has begun, or while an earlier release waits for room.
bool lease_driver::may_end_hold() const noexcept {
    return is_at_key() && !release_waits() && !client_.turn.stopped();
}

/// Returns whether the release waits for room. Leases with several holders, readers' leases and leases in a
/// downgrade never wait. The last holder's share ends immediately, so the release must begin then.
bool lease_driver::needs_room() const noexcept {
    return (machine_.held() || machine_.lost()) && !admission().shares_lease() &&
           !holders_.were_several();
}

/// Ends the ownership with the last holder. Until then, an owner whose lease was lost gets an error when it
/// enters again.
void lease_driver::end_ownership() noexcept {
    if (held_for_.is_known()) {
        // mutant: owner_is_lost_for_ever
        client_.owners.remove_lost(held_for_, *this);
        held_for_ = {};
    }
}

/// Removes a holder. Returns whether it was the last one and its lease must end now.
bool lease_driver::leave(std::uint32_t holder) {
    if (client_.turn.stopped()) {
        return false;
    }
    note_leaving(holder);
    // mutant: owner_releases_with_the_first
    if (holders_.leaves_others(holder, was_lost())) {
        release_share(holder);
        return false;
    }
    end_ownership();
    return may_end_hold();
}

void lease_driver::let_go(std::uint32_t holder) {
    if (leave(holder)) {
        const core::time_point now = client_.turn.recent_time();
        end_hold(may_hand_off(now), now);
    }
}

void lease_driver::abandon(std::uint32_t holder) {
    if (!leave(holder)) {
        return;
    }
    client_.counts.abandoned.add(machine_.held() ? 1 : 0);
    end_loss_waiters(lease_result::not_held);
    drive(event::just(event::kind_type::abandon), client_.turn.now());
}

void lease_driver::complete(std::uint32_t holder,
                            const std::shared_ptr<const std::string>& record) {
    if (!is_at_key()) {
        return;  // It was lost and has been released since.
    }
    queue_->on_record(spec().policy->kind(), record);
    if (leave(holder)) {
        client_.counts.released.add(machine_.held() ? 1 : 0);
        end_loss_waiters(lease_result::not_held);
        drive(event::just(event::kind_type::abandon), client_.turn.now());
    }
}

void lease_driver::send_release() {
    if (is_at_key() && !client_.turn.stopped()) {
        end_hold(false, client_.turn.now());
    }
}

/// Ends the lease of its last holder.
void lease_driver::end_hold(bool is_handed_off, core::time_point now) {
    end_loss_waiters(lease_result::not_held);
    drive(event::just(is_handed_off ? event::kind_type::next_holder : event::kind_type::release),
          now);
}

// --- Sharing ----------------------------------------------------------------------------------------

/// Returns whether the lease may be shared. The rules are those of a hand-off, but the holder keeps the
/// lease. A lease with `max_hold` is for one holder. A waiting writer keeps new holders out. The options are
/// those of the acquire, even after a downgrade.
bool lease_driver::may_be_shared(const lock_spec& wanted, core::time_point now) const {
    const core::lease_settings& options = spec_->policy->lease;
    // mutant: shared_by_options_of_the_downgrade
    return !client_.closing && &wanted.policy->kind() == &spec().policy->kind() &&
           wanted.policy->lease == options && options.max_hold == core::duration::zero() &&
           !machine_.is_announced() && machine_.may_hand_off(now);
}

std::shared_ptr<lease_driver> lease_driver::add_holder(core::time_point now) {
    // mutant: entry_prolongs_max_hold
    holders_.add(now);
    ++client_.counts.held;
    return self_;
}

void lease_driver::note_shared(core::time_point began) noexcept {
    client_.note_acquired(*this, client_.turn.recent_time() - began);
}

void lease_driver::share(share_operation& asker) {
    // mutant: shared_without_asking
    if (!spec().policy->lease.value_per_holder) {
        add_holder(asker.began());
        asker.receive(holder(), machine_.value());
        return;
    }
    rare().next_shares.push_back(std::static_pointer_cast<share_operation>(asker.self()));
    if (rare_->shares.empty()) {
        begin_shares(client_.turn.now());
        forget_if_over();
    }
}

/// Counts a fence for the shares after their requests. If the lease has lost its keys in the meantime, an
/// older fence may be smaller than that of another client's writer.
void lease_driver::begin_shares(core::time_point now) {
    rare_->shares = std::exchange(rare_->next_shares, {});
    resume(event::just(event::kind_type::share), now);
}

void lease_driver::end_shares(bool success) {
    if (!success) {
        explain_no_quorum(machine_.votes());
    }
    for (const auto& asker : std::exchange(rare_->shares, {})) {
        if (!asker->running()) {
            continue;  // It was cancelled.
        }
        if (!is_held_by(*asker)) {
            asker->finish(result_without(*asker));
        } else if (!success) {
            asker->finish(lease_result::no_quorum);
        } else {
            add_holder(client_.turn.recent_time());
            asker->receive(holder(), machine_.value());
        }
    }
}

void lease_driver::release_share(std::uint32_t holder) {
    const bool lost = was_lost();
    if (!holders_.remove(holder, lost)) {
        return;  // it has let go before
    }
    // mutant: inner_release_stops_the_watchdog, released_share_is_counted
    if (!lost) {
        ++client_.counts.released;
        --client_.counts.held;
    }
    end_loss_waiters(lease_result::not_held, holder);
}

/// A holder does not shorten the ttl of the other holders.
core::duration lease_driver::ttl_for(const extend_operation& asker) const noexcept {
    // mutant: inner_extension_shortens
    return admission().shares_lease() || held_for_.reenters
               ? std::max(asker.ttl(), machine_.watchdog().ttl())
               : asker.ttl();
}

bool lease_driver::may_be_entered(const ownership& who, const lock_spec& by) const noexcept {
    // mutant: entered_with_other_fencing
    return is_held_for(who) && held_for_.reenters && who.reenters &&
           by.policy->lease.value_per_holder == policy().lease.value_per_holder;
}

// --- Hand-off ---------------------------------------------------------------------------------------

bool lease_driver::serves(const lock_spec& wanted) const noexcept {
    // Usually the policies are one object, because `lock_handle` shares it among locks with the same options.
    // mutant: handed_off_to_anybody, permits_handed_off_as_they_are
    const bool is_alike =
        wanted.policy == spec_->policy || (&wanted.policy->kind() == &spec().policy->kind() &&
                                           wanted.policy->lease == spec_->policy->lease);
    return is_alike && wanted.more_names == spec_->more_names;
}

bool lease_driver::may_hand_off(core::time_point now) const {
    return admission().hands_off() && queue_->next_for(*this) != nullptr &&
           hold_.may_hand_off(holders_.handoffs(), spec_->policy->handoff, now) &&
           machine_.may_hand_off(now);
}

std::shared_ptr<lease_driver> lease_driver::hand_off(const ownership& next, core::time_point now) {
    holders_.hand_off(now);
    // mutant: owner_not_handed_on
    hold_for(next);
    ++client_.counts.released;
    ++client_.counts.handed_off;
    resolve(core::release_outcome::released);
    return self_;
}

void lease_driver::give_back(core::time_point now) {
    resume(event::just(event::kind_type::release), now);
}

std::string lease_driver::last_answers(const std::vector<instance::status>& instances) const {
    const core::round* const votes = machine_.held() ? machine_.watchdog().votes() : nullptr;
    return votes != nullptr && (votes->won() || votes->impossible())
               ? describe_lease_round(spec_->resource(), policy().kind(), *votes, instances)
               : std::string();
}

/// Handles a loss. The keys stay until the holder has released the lease: see `core::lease`. `late` is how
/// late the client was to act.
void lease_driver::on_lost(core::loss why, core::duration late, core::time_point now) {
    const core::round* votes = machine_.watchdog().votes();
    const bool by_votes = why == core::loss::keys_gone || why == core::loss::unrenewable;
    std::string& details = rare().loss_details;
    if (details.empty()) {
        details = by_votes && votes != nullptr
                      ? describe_lease_round(spec_->resource(), spec().policy->kind(), *votes,
                                             client_.instances.states())
                      : describe(spec_->resource());
    }
    if (why == core::loss::unrenewable && late >= core::loss_notice(spec_->policy->lease.ttl)) {
        details += describe_standstill(late);
    }
    loss_.store(why, std::memory_order_release);
    end_loss_waiters(lease_result::ended);
    // mutant: downgrade_without_end
    end_operations();
    holders_.for_each_since([&](core::time_point since) { client_.counts.holds.add(now - since); });
    const std::size_t holders = holders_.count();
    client_.counts.lost.add(holders);
    client_.counts.held.add(std::uint64_t{0} - holders);
    client_.events.add([&] {
        // mutant: loss_told_for_one_holder
        return lost_event{std::string(resource()), std::string(token()), fence(), holders, why,
                          loss_details()};
    });
    client_.release_started();
    if (held_for_.is_known()) {
        client_.owners.add_lost(held_for_, *this, spec_->key);
    }
    client_.out.reconsider(last_turn_);
}

void lease_driver::end_operations() {
    const auto end_all = [this](auto& waiting) {
        for (const auto& asker : std::exchange(waiting, {})) {
            asker->finish(result_without(*asker));
        }
    };
    if (rare_) {
        end_all(rare_->extends);
        end_all(rare_->shares);
        end_all(rare_->next_shares);
    }
}

/// Handles the start of a release of an attempt, a lease or a lost lease. The key is free for others now.
void lease_driver::on_releasing() {
    for (release_operation& one : release_waiters_) {
        client_.gate.leave(one);
    }
    if (!machine_.was_held() && !machine_.abandoned() && machine_.may_have_keys()) {
        ++client_.counts.undone;
    }
    if (was_lost()) {
        // Those who have released it in time are not among its holders any more.
        client_.counts.overstays.add(is_at_key() ? holders_.staying() : 0);
    } else {
        client_.release_started();
        if (is_at_key()) {
            --client_.counts.held;
            end_operations();
        }
    }
    client_.out.reconsider(last_turn_);
}

void lease_driver::on_resolved() {
    const core::release_outcome outcome = *machine_.outcome();
    if (outcome == core::release_outcome::released && machine_.was_held()) {
        ++client_.counts.released;
    }
    if (outcome == core::release_outcome::no_quorum && machine_.was_held()) {
        explain_no_quorum(machine_.release_votes());
    }
    resolve(outcome);
}

void lease_driver::resolve(core::release_outcome outcome) {
    while (!release_waiters_.empty()) {
        release_waiters_.front().resolve(outcome);
    }
}

void lease_driver::explain_no_quorum(const core::round& votes) {
    rare().no_quorum_details = describe_lease_round(spec_->resource(), spec().policy->kind(), votes,
                                                    client_.instances.states());
}

/// Ends all work. Votes may still arrive.
void lease_driver::end() {
    client_.alarms.stop_waiting(*this);
    client_.release_ended();
}

void lease_driver::on_accepting(std::size_t index) {
    drive(event::accepting(index), client_.turn.now());
}

void lease_driver::restore_key(std::size_t index) {
    if (!machine_.let_go()) {
        on_accepting(index);
    }
}

void lease_driver::on_close() {
    if (!release_waits()) {
        drive(event::just(event::kind_type::close), client_.turn.now());
    }
}

void lease_driver::on_broken() {
    if (machine_.held()) {
        rare().loss_details = describe(resource()) + ": break_lock of this client has removed it";
        resume(event::just(event::kind_type::broken), client_.turn.now());
    }
    send_release();
}

void lease_driver::on_closed() {
    if (machine_.ended()) {
        return;
    }
    if (machine_.held()) {
        resume(event::just(event::kind_type::close), client_.turn.now());
    }
    const bool resolves = machine_.releasing() && !machine_.outcome();
    machine_.disconnect();
    if (is_at_key()) {  // A lost lease that the holder has not released, or whose release waits.
        // A lease that was lost before has its result without the instances.
        rare().is_cut_off = machine_.outcome() == core::release_outcome::no_quorum;
        queue_->on_disconnected(*this, client_.turn.now());
    }
    end();
    if (resolves) {
        on_resolved();
    }
    while (rare_ && rare_->is_cut_off && !release_waiters_.empty()) {
        release_waiters_.front().finish(lease_result::closed);
    }
    if (!release_waiters_.empty()) {
        resolve(*machine_.outcome());
    }
    forget_if_over();
}

void lease_driver::on_abandon() noexcept {
    client_.alarms.stop_waiting(*this);
    at_key::unlink();
    queue_ = nullptr;
    // The handlers of waiting operations may own the lease, and so this driver.
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
        const auto take_all = [](auto& waiting) {
            for (const auto& asker : std::exchange(waiting, {})) {
                const auto dying = asker->take();
            }
        };
        take_all(rare_->extends);
        take_all(rare_->shares);
        take_all(rare_->next_shares);
    }
}

/// Ends those of one holder, or all.
void lease_driver::end_loss_waiters(lease_result result, std::optional<std::uint32_t> holder) {
    if (rare_) {
        for (auto it = rare_->loss_waiters.begin(); it != rare_->loss_waiters.end();) {
            loss_operation& one = *it++;
            if (!holder || one.holder() == holder) {
                one.finish(result);
            }
        }
    }
}

lease_driver::rarely_used& lease_driver::rare() {
    if (!rare_) {
        rare_ = std::make_unique<rarely_used>();
    }
    return *rare_;
}

/// Every entry point calls this last, because it may destroy the driver. The engine does not refer to the
/// driver any more then. The owner of the lease may destroy it on any thread.
void lease_driver::forget_if_over() {
    if (pending_votes_ == 0 && machine_.ended()) {
        in_client::unlink();
        const auto dying = std::move(self_);
    }
}

}  // namespace colock::runtime
