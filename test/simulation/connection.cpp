// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/connection.hpp"

#include "instance/redis/promotion.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulation {

namespace {

/// For how long a grant waits for its replicas.
constexpr duration replicas_timeout = 10ms;

}  // namespace

connection::connection(world& w, voter& v, std::size_t node, std::string client,
                       const local_clock& clock, std::uint64_t& last_executed,
                       connection_owner& owner)
    : world_(w),
      voter_(v),
      node_(node),
      server_(v.node(node)),
      client_(std::move(client)),
      clock_(clock),
      last_executed_(last_executed),
      owner_(owner) {}

void connection::connect() {
    if (abandoned_) {
        return;
    }
    const true_time open = std::max({blocked_until_[to_server], blocked_until_[to_client],
                                     server_.paused_until()});  // the probe is to be answered
    if (!server_.up() || !server_.is_master() || open > world_.now()) {
        world_.at(std::max(open, world_.now() + 5ms), [this] { connect(); });
        return;
    }
    wires_.push_back(std::make_unique<wire>());
    wire_ = wires_.back().get();
    probe();
    owner_.on_accepting();
}

/// As `instance::redis` does.
void connection::probe() {
    const duration length = world_.faults().quarantine;
    if (length > duration::zero()) {
        quarantined_until_ = core::quarantine_end(clock_.at(world_.now()), length, server_.uptime(),
                                                  world_.profile().drift);
        quarantined_until_ = std::max(quarantined_until_, owner_.admit(server_));
    }
}

void connection::send(const request& r) {
    put(*wire_, to_server, {{}, r, {}, {}, {}});
}

void connection::put(wire& w, direction d, message m) {
    m.arrival = std::max(w.last_arrival[d], world_.now() + world_.delay());
    w.last_arrival[d] = m.arrival;
    world_.at(m.arrival, [this, &w, d] { pump(w, d); });
    w.messages[d].push_back(std::move(m));
}

true_time connection::open_at(const wire& w, direction d) const {
    true_time open = w.broken ? true_time{} : blocked_until_[d];
    if (d == to_server) {
        open = std::max({open, server_.paused_until(), server_.busy_until()});
    }
    return open;
}

/// Delivers what has arrived.
void connection::pump(wire& w, direction d) {
    auto& messages = w.messages[d];
    while (!messages.empty() && messages.front().arrival <= world_.now() &&
           (d == to_client || !w.unreplicated)) {
        const true_time open = open_at(w, d);
        if (open > world_.now()) {
            if (!std::exchange(w.is_held_up[d], true)) {
                world_.at(open, [this, &w, d] {
                    w.is_held_up[d] = false;
                    pump(w, d);
                });
            }
            return;
        }
        const message m = std::move(messages.front());
        messages.pop_front();
        if (d == to_server) {
            server_.be_busy();
            execute(w, *m.what);
        } else if (!m.changed_key.empty()) {
            owner_.on_key_changed(m.changed_key);
        } else if (m.moved_to) {
            owner_.on_moved(*m.what, *m.moved_to);
        } else {
            owner_.on_answer(*m.what, m.answer);
        }
    }
}

void connection::execute(wire& w, const request& r) {
    if (!server_.up()) {
        return;
    }
    if (w.broken) {
        world_.count(fault::straggler);
    }
    if (r.order < last_executed_) {
        world_.count(fault::reordered);
    }
    last_executed_ = std::max(last_executed_, r.order);
    core::vote answer;
    const fault_model& f = world_.faults();
    if (voter_.kind().kind == topology::cluster) {
        const std::size_t owner = voter_.owner_of(server_.slot_of(r.key()));
        if (owner != node_) {
            world_.count(fault::moved);
            if (!w.broken) {
                put(w, to_client, {{}, r, {}, owner, {}});
            }
            return;
        }
    }
    if (world_.goes_wrong(r.command.step == core::step::confirm ? f.raise_errors
                                                                : f.error_replies)) {
        world_.count(fault::error_reply);
        answer = core::vote::failed(core::failure::server_error);
    } else {
        answer = server_.execute(r.command, &w);
        if (r.command.step == core::step::remaining) {
            track(w, r.key());
        }
    }
    if (w.broken) {
        return;
    }
    const bool waits = voter_.kind().replicas_acked != 0 && r.command.step == core::step::acquire &&
                       answer.kind == core::vote_kind::granted;
    if (waits) {
        w.unreplicated = message{{}, r, std::move(answer), {}, {}};
        wait_for_replicas(w, server_.written(), world_.now() + replicas_timeout);
    } else {
        put(w, to_client, {{}, r, std::move(answer), {}, {}});
    }
}

/// As CLIENT TRACKING does, with NOLOOP: the client is told once.
void connection::track(wire& w, const std::string& key) {
    if (!w.broken && voter_.kind().tells_changes) {
        server_.track(key, &w, [this, &w, key] {
            if (!w.broken) {
                put(w, to_client, {{}, {}, {}, {}, key});
            }
        });
    }
}

/// As WAIT does, which comes behind each acquire.
void connection::wait_for_replicas(wire& w, std::uint64_t written, true_time until) {
    if (!w.unreplicated) {
        return;  // the connection is over
    }
    const std::size_t acked = voter_.replicas_of(node_, written);
    const auto wanted = static_cast<unsigned>(voter_.kind().replicas_acked);
    if (acked < wanted && world_.now() < until) {
        world_.after(1ms, [this, &w, written, until] { wait_for_replicas(w, written, until); });
        return;
    }
    message m = *std::exchange(w.unreplicated, std::nullopt);
    const core::failure failure =
        instance::redis::failure_to_replicate(static_cast<unsigned>(acked), wanted);
    if (failure != core::failure::none) {
        world_.count(fault::not_replicated);
        m.answer = core::vote::failed(failure);
    }
    put(w, to_client, std::move(m));
    pump(w, to_server);
}

void connection::block(direction d, true_time until) {
    blocked_until_[d] = std::max(blocked_until_[d], until);
}

void connection::reset(std::optional<duration> deliver_after) {
    if (wire_ == nullptr) {
        return;
    }
    wire& w = *wire_;
    wire_ = nullptr;
    w.broken = true;
    auto unanswered = std::move(w.messages[to_client]);
    std::erase_if(unanswered, [](const message& m) { return !m.what; });
    world_.count(fault::reset_after, unanswered.size());
    w.messages[to_client].clear();
    auto& unsent = w.messages[to_server];
    if (w.unreplicated) {
        unanswered.push_back(*std::exchange(w.unreplicated, std::nullopt));
    }
    unanswered.insert(unanswered.end(), unsent.begin(), unsent.end());
    if (!server_.up() || !(deliver_after || world_.goes_wrong(world_.faults().stragglers))) {
        world_.count(fault::reset_before, unsent.size());
        unsent.clear();
    } else if (!unsent.empty()) {
        const duration later = deliver_after ? *deliver_after : world_.random.up_to(80ms);
        for (message& m : unsent) {
            m.arrival = std::max(m.arrival, world_.now()) + later;
        }
        world_.at(unsent.back().arrival, [this, &w] { pump(w, to_server); });
        world_.at(unsent.front().arrival, [this, &w] { pump(w, to_server); });
    }
    if (world_.tracing()) {
        world_.tell(client_, "connection to " + server_.who() + " breaks, " +
                                 std::to_string(unanswered.size()) + " commands unanswered");
    }
    world_.after(world_.random.up_to(1ms), [this, lost = std::move(unanswered)] {
        for (const message& m : lost) {
            owner_.on_answer(*m.what, core::vote::failed(core::failure::connection_lost));
        }
    });
    owner_.on_broken();
    world_.after(world_.random.between(1ms, 20ms), [this] { connect(); });
}

void connection::close() {
    abandoned_ = true;
    reset();
}

void connection::abandon() {
    abandoned_ = true;
    wire_ = nullptr;
}

}  // namespace colock::simulation
