#include "runtime/acquire_operation.hpp"

#include "runtime/describe.hpp"
#include "runtime/engine.hpp"
#include "runtime/lease_state.hpp"
#include "runtime/recycling_allocator.hpp"

#include <utility>

namespace colock::runtime {
namespace {

core::acquire_settings settings_for(const lock_spec& spec, core::time_point deadline) {
    core::acquire_settings settings;
    settings.instances = spec.lease.instances;
    settings.ttl = spec.lease.ttl;
    settings.drift = spec.lease.drift;
    settings.instance_timeout = spec.lease.instance_timeout;
    settings.retry = spec.retry;
    settings.attempts = spec.attempts;
    settings.deadline = deadline;
    settings.unavailable_timeout = spec.unavailable_timeout;
    settings.fencing = spec.lease.fencing;
    return settings;
}

acquire_result result_for(core::acquire_outcome outcome) noexcept {
    switch (outcome) {
        case core::acquire_outcome::contended:
            return acquire_result::contended;
        case core::acquire_outcome::no_quorum:
            return acquire_result::no_quorum;
        case core::acquire_outcome::too_slow:
            return acquire_result::too_slow;
        case core::acquire_outcome::cancelled:
            break;
    }
    return acquire_result::cancelled;
}

}  // namespace

acquire_operation::acquire_operation(std::shared_ptr<engine> owner,
                                     std::shared_ptr<const lock_spec> spec,
                                     core::time_point deadline)
    : engine_(std::move(owner)),
      spec_(std::move(spec)),
      deadline_(deadline),
      machine_(settings_for(*spec_, deadline), engine_->next_seed()) {}

acquire_operation::~acquire_operation() = default;

void acquire_operation::start() {
    self_ = shared_from_this();
    ++engine_->count().acquiring;
    engine_->add(*this);
    if (engine_->closing()) {
        on_close();
    } else if (engine_->starting()) {
        waiting_for_start_ = true;
        if (deadline_ != core::time_point::min()) {
            wait(deadline_);
        }
    } else {
        drive(core::acquire::event::start());
    }
}

void acquire_operation::cancel() {
    if (self_) {
        waiting_for_start_ = false;
        drive(core::acquire::event::cancel());
    }
}

void acquire_operation::on_instances_changed(bool quorum_is_back) {
    if (waiting_for_start_ && !engine_->starting()) {
        waiting_for_start_ = false;
        drive(core::acquire::event::start());
    } else if (!waiting_for_start_ && quorum_is_back) {
        drive(core::acquire::event::wake());
    }
}

void acquire_operation::on_close() {
    closing_ = true;
    cancel();
}

void acquire_operation::on_vote(std::size_t index, const core::vote& vote) {
    if (!machine_.note(index, vote)) {
        drive(core::acquire::event::voted(index, vote));
    }
}

void acquire_operation::on_raised(std::size_t index, const core::vote& vote) {
    drive(core::acquire::event::raised(index, vote));
}

void acquire_operation::on_remaining(std::size_t index, const core::vote& vote) {
    drive(core::acquire::event::remaining(index, vote));
}

void acquire_operation::on_time(core::time_point /*now*/) {
    drive(std::exchange(waiting_for_start_, false) ? core::acquire::event::start()
                                                   : core::acquire::event::timer());
}

void acquire_operation::drive(core::acquire::event event) {
    using kind = core::acquire::action::kind_type;
    const core::time_point now = std::chrono::steady_clock::now();
    for (;;) {
        const core::acquire::action action = machine_.resume(event, now);
        switch (action.kind) {
            case kind::attempt:
                begin_attempt(now);
                break;
            case kind::raise:
                lease_->raise(machine_.fence(), now);
                break;
            case kind::give_back:
                give_back();
                break;
            case kind::wait:
                wait(action.time);
                return;
            case kind::granted:
                lease_->hold(machine_.sent(), action.time, now, machine_.fence());
                ++engine_->count().acquired;
                finish(acquire_result::granted);
                return;
            case kind::failed:
                finish(closing_ ? acquire_result::closed : result_for(action.outcome));
                return;
        }
        event = core::acquire::event::done();
    }
}

void acquire_operation::begin_attempt(core::time_point now) {
    if (lease_) {
        lease_->detach();
    }
    lease_ = std::allocate_shared<lease_state>(recycling_allocator<lease_state>(), engine_, spec_,
                                               *this);
    ++engine_->count().attempts;
    lease_->begin(now);
}

void acquire_operation::give_back() {
    count_failed_attempt();
    lease_->give_back();
    for (std::size_t i = 0; machine_.will_retry() && i != engine_->instance_count(); ++i) {
        if (machine_.asks_remaining(i)) {
            lease_->ask_remaining(i);
        }
    }
}

void acquire_operation::count_failed_attempt() {
    const core::round& votes = machine_.votes();
    if (votes.unreachable() || votes.won()) {
        ++engine_->count().unavailable;
    } else if (votes.denied() != 0) {
        ++engine_->count().contended;
    }
}

void acquire_operation::wait(core::time_point until) {
    engine_->wait(*this, until);
}

void acquire_operation::finish(acquire_result result) {
    result_ = result;
    if (result == acquire_result::cancelled) {
        ++engine_->count().cancelled;
    }
    if (result != acquire_result::granted) {
        explain(result);
        if (lease_) {
            lease_->detach();
            lease_.reset();
        }
    }
    engine_->stop_waiting(*this);
    unlink();
    --engine_->count().acquiring;
    engine_->deliver_later(std::move(self_));
}

/// Writes the story of an error; an empty optional and a cancellation need none.
void acquire_operation::explain(acquire_result result) {
    const bool is_error = result == acquire_result::no_quorum ||
                          result == acquire_result::too_slow ||
                          (result == acquire_result::contended && deadline_ == core::never);
    if (is_error) {
        details_ = describe(spec_->resource, machine_.votes(), engine_->instance_states());
    }
}

void acquire_operation::on_abandon() noexcept {
    engine_->stop_waiting(*this);
    if (lease_) {
        lease_->detach();
    }
    self_.reset();
}

}  // namespace colock::runtime
