// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/key/places.hpp"

#include "core/instance_set.hpp"
#include "kinds/kind.hpp"
#include "runtime/client_context.hpp"
#include "runtime/key/key_queue.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace colock::runtime {
namespace {

// Such a lock has only one instance.
constexpr std::size_t keeper = 0;

// A tag contains the question and the low bits of the place.
constexpr instance::command_tag questions = 8;
constexpr instance::command_tag tagged(std::uint64_t place) {
    return static_cast<instance::command_tag>(place * questions);
}

}  // namespace

places& places::make(key_queue& queue, std::shared_ptr<const lock_spec> of) {
    const auto made = std::make_shared<places>(queue, std::move(of));
    made->self_ = made;
    made->client_.members.places.push_back(*made);
    return *made;
}

places::places(key_queue& queue, std::shared_ptr<const lock_spec> of)
    : spec_(std::move(of)),
      client_(*spec_->owner),
      queue_(&queue),
      machine_({spec_->policy->place_refresh}) {}

places::~places() {
    client_.alarms.stop_waiting(*this);
}

// --- From its queue ---------------------------------------------------------------------------------

void places::enter(std::uint64_t place) {
    const core::time_point now = client_.turn.now();
    add(place, now);
    ask_to_enter(place, now);
}

void places::on_denied(std::uint64_t place) {
    const core::time_point now = client_.turn.now();
    add(place, now);
    waiting_.on_denied(place);
    resume(event::just(kind::denied), now);
}

void places::on_attempting() {
    resume(event::just(kind::attempting), client_.turn.now());
}

void places::on_granted(std::uint64_t place) {
    waiting_.on_granted(place);
    waiting_.remove(place);
    if (!empty()) {
        on_attempting();
    }
}

void places::leave(std::uint64_t place) {
    waiting_.remove(place);
    // mutant: fifo_leave_not_sent
    ask_to_leave(place, client_.turn.now());
}

bool places::contains(std::uint64_t place) const noexcept {
    return waiting_.contains(place);
}

void places::on_handed_off(std::uint64_t place) noexcept {
    waiting_.on_handed_off(place);
}

/// After a long silence the ticket may have expired, and other waiters may have come first since.
bool places::may_be_handed_off(std::uint64_t place) const noexcept {
    return client_.turn.now() - asked_ < longest_silence() && waiting_.may_be_handed_off(place);
}

void places::add(std::uint64_t place, core::time_point now) {
    const bool is_first = empty();
    waiting_.add(place);
    if (is_first) {
        asked_ = now;
        resume(event::just(kind::entered), now);
    }
}

void places::detach() {
    queue_ = nullptr;
    stop_watching();
    client_.alarms.stop_waiting(*this);
    forget_if_over();
}

void places::on_lock_changed() {
    resume(event::just(kind::lock_changed), client_.turn.now());
}

// --- From the engine --------------------------------------------------------------------------------

void places::on_watched_changed(std::size_t /*index*/) {
    stop_watching();
    resume(event::just(kind::before_changed), client_.turn.now());
}

void places::on_all_keys_changed(std::size_t /*index*/) {
    stop_watching();
    if (queue_ != nullptr) {
        resume(event::just(kind::all_changed), client_.turn.now());
    }
}

void places::on_abandon() noexcept {
    client_.alarms.stop_waiting(*this);
    queue_ = nullptr;
    const auto dying = std::move(self_);
}

// --- The machine ------------------------------------------------------------------------------------

void places::resume(const event& e, core::time_point now) {
    carry_out(machine_.resume(e, now), now);
}

/// Carries out a step. Registers each watch before the request, so that no change is missed. Reports the
/// advice last.
void places::carry_out(const core::queue_place::step& step, core::time_point now) {
    if (step.watch_lock) {
        ask_lock(now);
    }
    if (step.watch_before) {
        watch_before();
        ask(question::before, core::step::remaining, tickets_.back(), now);
    }
    if (step.stay) {
        // mutant: fifo_other_places_forgotten
        if (now - std::exchange(asked_, now) >= longest_silence()) {
            enter_again(now);
        }
        ask_to_stay(now);
    }
    client_.alarms.wait(*this, step.until);
    if (step.advice == core::queue_advice::wait && !client_.instances.tells_changes(keeper)) {
        queue_->on_place_advice(core::queue_advice::on_its_own);
    } else if (step.advice != core::queue_advice::none) {
        queue_->on_place_advice(step.advice);
    }
}

kinds::command& places::ask(question what, core::step step, std::string_view key,
                            core::time_point now, std::uint64_t place) {
    const core::time_point deadline =
        core::has_deadline(step) ? now + spec_->policy->lease.instance_timeout : core::never;
    kinds::command& command =
        client_.out.submit(*this, tagged(place) + static_cast<instance::command_tag>(what),
                           core::instance_set::only(keeper), deadline);
    command.kind = &spec_->policy->kind().queue();
    command.step = step;
    command.key = key;
    command.ticket = client_.client_number;
    command.place_ttl = spec_->policy->place_ttl();
    ++pending_votes_;
    return command;
}

void places::ask_to_enter(std::uint64_t place, core::time_point now) {
    ask(question::enter, core::step::join, spec_->key, now, place).place = place;
}

void places::on_entered(instance::command_tag tag, const core::vote& vote) {
    const auto found = std::ranges::find(waiting_.all(), tag - tag % questions,
                                         [](const auto& one) { return tagged(one.number); });
    const std::uint64_t place = found != waiting_.all().end() ? found->number : 0;
    if (vote.kind == core::vote_kind::granted) {
        waiting_.on_entered(place, vote.value);
    } else {
        must_enter_again_ = true;
    }
}

void places::ask_to_leave(std::uint64_t place, core::time_point now) {
    leaving_.push_back(place);
    ++pending_leaves_;
    ask(question::leave, core::step::leave, spec_->key, now).place = place;
}

void places::ask_lock(core::time_point now) {
    kinds::command& command = ask(question::lock, core::step::remaining, spec_->key, now);
    command.kind = &spec_->policy->kind();
    command.explains = queue_->wants_explanation();
}

void places::ask_to_stay(core::time_point now) {
    kinds::command& command = ask(question::stay, core::step::join, spec_->key, now);
    command.place = waiting_.all().front().number;
    command.value = waiting_.all().back().number;
}

void places::on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                     core::time_point now) {
    const auto alive = self_;  // The callee may drop the last other reference.
    client_.note_vote(vote, now);
    --pending_votes_;
    const auto what = static_cast<question>(tag % questions);
    while (pending_votes_ == 0 && tickets_.size() > 1) {
        tickets_.pop_front();
    }
    if (what == question::leave) {
        on_left(vote);
    } else if (what == question::enter) {
        on_entered(tag, vote);
    } else if (queue_ != nullptr) {
        must_enter_again_ =
            must_enter_again_ || (what == question::stay && vote.kind == core::vote_kind::failed);
        if (what == question::lock) {
            queue_->note_remaining(index, vote);
            // mutant: fifo_lost_place_not_taken_again
        } else if (what == question::stay && vote.kind == core::vote_kind::denied) {
            enter_again(now);
        }
        resume(event::voted(what == question::stay   ? kind::stayed
                            : what == question::lock ? kind::lock
                                                     : kind::before,
                            vote),
               now);
    }
    forget_if_over();
}

/// Returns the silence after which the ticket may have expired and any place may have been skipped. An
/// attempt creates a new ticket with only its own place. The next request would therefore not notice that the
/// others are missing.
core::duration places::longest_silence() const noexcept {
    return core::milliseconds(spec_->policy->place_ttl()) / 2;
}

/// Enters all places again, because some may be missing or may have had their turn. Leaves out an attempt in
/// progress: if it is denied, it enters that way. If it is granted, a new entry behind it would leave a place
/// without a waiter.
void places::enter_again(core::time_point now) {
    waiting_.forget();
    for (const core::waiting_places::waiter& one : waiting_.all()) {
        if (!queue_->has_attempt_under_way(one.number)) {
            ask_to_enter(one.number, now);
        }
    }
}

/// Handles the vote on a leave. A place that stays behind ends with the client's ticket, and may delay others
/// until then.
void places::on_left(const core::vote& vote) {
    left_behind_ = left_behind_ || vote.kind == core::vote_kind::failed;
    if (--pending_leaves_ == 0 && !left_behind_) {
        leaving_.clear();
    }
}

bool places::wanted(std::size_t /*index*/, instance::command_tag tag) const {
    return queue_ != nullptr || static_cast<question>(tag % questions) == question::leave;
}

void places::on_time(core::time_point now) {
    if (left_behind_ && pending_leaves_ == 0) {
        left_behind_ = false;
        for (const std::uint64_t place : std::exchange(leaving_, {})) {
            ask_to_leave(place, now);
        }
    }
    if (std::exchange(must_enter_again_, false)) {
        enter_again(now);
    }
    resume(event::just(kind::timer), now);
}

void places::watch_before() {
    stop_watching();
    std::string name = spec_->policy->kind().queue().ticket_name(spec_->key, machine_.before());
    if (tickets_.empty() || tickets_.back() != name) {
        tickets_.push_back(std::move(name));
    }
    watching_ = true;
    client_.members.watched[tickets_.back()] = this;
}

void places::stop_watching() noexcept {
    if (std::exchange(watching_, false)) {
        client_.members.watched.erase(tickets_.back());
    }
}

void places::forget_if_over() noexcept {
    if (queue_ == nullptr && pending_votes_ == 0) {
        in_client::unlink();
        const auto dying = std::move(self_);
    }
}

}  // namespace colock::runtime
