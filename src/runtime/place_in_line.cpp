#include "runtime/place_in_line.hpp"

#include "instance/companion_key.hpp"
#include "runtime/acquire_operation.hpp"
#include "runtime/engine.hpp"
#include "runtime/lock_queue.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace colock::runtime {
namespace {

core::place_settings settings_for(const lock_policy& policy) {
    core::place_settings settings;
    settings.refresh = std::clamp<core::duration>(
        policy.retry.maximum, std::chrono::milliseconds(50), std::chrono::seconds(1));
    return settings;
}

/// Not 0, and small enough for a script.
std::uint64_t make_number(std::uint64_t random) noexcept {
    return random % (core::fence_limit - 1) + 1;
}

}  // namespace

void place_in_line::take(lock_queue& queue, engine& owner, std::size_t keeper) {
    const auto made = std::make_shared<place_in_line>(queue, owner, keeper);
    made->self_ = made;
    owner.add(*made);
    queue.set_place(made.get());
    const core::time_point now = owner.now();
    const core::time_point from = owner.crowds().join_from(made->spec_->key_hash);
    made->carry_out(made->machine_.join(now, from), now);
}

place_in_line::place_in_line(lock_queue& queue, engine& owner, std::size_t keeper)
    : engine_(owner),
      spec_(queue.attempting()->shared_spec()),
      queue_(&queue),
      keeper_(keeper),
      number_(make_number(owner.next_seed())),
      machine_(settings_for(*spec_->policy)) {}

place_in_line::~place_in_line() {
    engine_.stop_waiting(*this);
}

void place_in_line::ask(question what, core::verb verb, std::string_view key,
                        core::time_point now) {
    const core::time_point deadline =
        what == question::leave ? core::never : now + spec_->policy->lease.instance_timeout;
    core::command& command = engine_.submit(*this, static_cast<instance::command_tag>(what),
                                            core::instance_set::only(keeper_), deadline);
    command.verb = verb;
    command.key = key;
    command.fence = number_;
    command.ttl = std::chrono::duration_cast<core::milliseconds>(machine_.settings().ttl());
    ++pending_votes_;
    last_turn_ = engine_.turn_number();
}

/// The news come last: who hears of it may leave.
void place_in_line::carry_out(const core::place::step& step, core::time_point now) {
    if (step.join) {
        ask(question::join, core::verb::join_line, spec_->key, now);
    }
    if (step.ask_lock) {
        ask(question::lock, core::verb::remaining, spec_->key, now);
    }
    if (step.ask_before) {
        watch_before();
        ask(question::before, core::verb::remaining, ticket_, now);
    }
    engine_.wait(*this, step.until);
    if (step.news == core::place::news::none) {
        return;
    }
    news_ = step.news;
    acquire_operation* const waiting = queue_->attempting();
    if (news_ == core::place::news::wait) {
        engine_.crowds().note(spec_->key_hash, true, now);
    } else if (news_ == core::place::news::broken || news_ == core::place::news::over) {
        leave();
    }
    if (waiting != nullptr) {
        waiting->on_place(step.news);
    }
}

void place_in_line::on_vote(std::size_t /*index*/, instance::command_tag tag,
                            const core::vote& vote) {
    --pending_votes_;
    const auto what = static_cast<question>(tag);
    const core::time_point now = engine_.now();
    if (what == question::leave) {
        if (vote.kind == core::vote_kind::granted) {
            engine_.crowds().note(spec_->key_hash, vote.fence != 0, now);
        }
    } else if (queue_ != nullptr) {
        switch (what) {
            case question::join:
                carry_out(machine_.on_joined(vote, now), now);
                break;
            case question::lock:
                if (queue_->attempting() != nullptr) {
                    queue_->attempting()->note_remaining(keeper_, vote);
                }
                carry_out(machine_.on_lock(vote, now), now);
                break;
            case question::before:
                carry_out(machine_.on_before(vote, now), now);
                break;
            case question::leave:
                break;
        }
    }
    forget_if_over();
}

bool place_in_line::wanted(std::size_t /*index*/, instance::command_tag tag) const {
    return queue_ != nullptr || static_cast<question>(tag) == question::leave;
}

void place_in_line::on_time(core::time_point now) {
    carry_out(machine_.on_time(now), now);
}

void place_in_line::on_denied(const core::round& votes) {
    const core::time_point now = engine_.now();
    news_ = core::place::news::none;
    carry_out(machine_.denied(votes.has_denied(keeper_), now), now);
}

void place_in_line::on_held() {
    stop_watching();
    const core::time_point now = engine_.now();
    carry_out(machine_.held(now), now);
}

void place_in_line::on_lock_changed(std::size_t index) {
    if (concerned_by(index)) {
        const core::time_point now = engine_.now();
        carry_out(machine_.lock_changed(now), now);
    }
}

void place_in_line::on_ticket_changed(std::size_t index) {
    if (concerned_by(index)) {
        stop_watching();
        const core::time_point now = engine_.now();
        carry_out(machine_.before_changed(now), now);
    }
}

void place_in_line::on_all_keys_changed(std::size_t index) {
    if (concerned_by(index)) {
        stop_watching();
        const core::time_point now = engine_.now();
        carry_out(machine_.all_changed(now), now);
    }
}

void place_in_line::on_instances_changed() {
    if (queue_ != nullptr && !engine_.can_keep_line(keeper_)) {
        core::place::step end;
        end.news = core::place::news::broken;
        carry_out(end, engine_.now());
    }
}

void place_in_line::leave() {
    std::exchange(queue_, nullptr)->set_place(nullptr);
    stop_watching();
    engine_.stop_waiting(*this);
    engine_.reconsider(last_turn_);
    const core::time_point now = engine_.now();
    engine_.crowds().step_aside(spec_->key_hash, machine_.rejoin_from(now));
    ask(question::leave, core::verb::leave_line, spec_->key, now);
    // Who is told by it asks all instances, which are to know of the release by then.
    engine_.send_last(keeper_);
}

/// Not called before an answer to the last time, so that nobody refers to the old name.
void place_in_line::watch_before() {
    stop_watching();
    ticket_ = instance::ticket_key(spec_->key, machine_.before());
    watching_ = true;
    engine_.watch(ticket_, *this);
}

void place_in_line::stop_watching() noexcept {
    if (std::exchange(watching_, false)) {
        engine_.stop_watching(ticket_);
    }
}

void place_in_line::forget_if_over() noexcept {
    if (queue_ == nullptr && pending_votes_ == 0) {
        unlink();
        const auto dying = std::move(self_);
    }
}

void place_in_line::on_abandon() noexcept {
    engine_.stop_waiting(*this);
    const auto dying = std::move(self_);
}

}  // namespace colock::runtime
