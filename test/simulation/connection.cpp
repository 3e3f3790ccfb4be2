// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/connection.hpp"

#include "instance/redis/key_slot.hpp"
#include "instance/redis/promotion.hpp"
#include "kinds/coalescing.hpp"
#include "kinds/kind.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulation {

namespace {

/// How long a grant waits for its replicas.
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
                                     server_.paused_until()});  // The probe must get a reply.
    if (!server_.up() || !server_.is_master() || open > world_.now()) {
        world_.at(std::max(open, world_.now() + 5ms), [this] { connect(); });
        return;
    }
    auto made = std::make_unique<wire>();
    made->session = server_.open([this, &w = *made] { tell_changes(w); });
    if (made->session == nullptr) {  // The server must not vote.
        world_.after(20ms, [this] { connect(); });
        return;
    }
    wire_ = wires_.emplace_back(std::move(made)).get();
    shortest_refused_ = false;
    probe();
    owner_.on_accepting();
}

/// Probes the server, as `instance::redis` does.
void connection::probe() {
    const duration length = world_.faults().quarantine;
    if (length > duration::zero()) {
        // mutant: quarantine_off, quarantine_too_short
        quarantined_until_ = core::quarantine_end(clock_.at(world_.now()), length, server_.uptime(),
                                                  world_.profile().drift);
        quarantined_until_ = std::max(quarantined_until_, owner_.admit(server_));
    }
}

void connection::send(const request& r, std::optional<script_form> form, bool again) {
    if (!again && !to_resend_.empty()) {
        resend();
    }
    const script_form as = form.value_or(usual_form());
    const kinds::capabilities& server = wire_->session->probed().facts.capabilities;
    const sent_request one{r, ++last_number_};
    if (again) {
        to_resend_.sent(r.command.key, one.number);
    }
    auto& messages = wire_->messages[to_server];
    if (!messages.empty() && messages.back().sent == world_.now()) {
        message& last = messages.back();
        const auto together = [&](const request& other) {
            return other.command.kind->coalesces(other.command, server, as);
        };
        if (last.form == as && last.commands.size() != kinds::coalescing::most &&
            together(r) != nullptr && together(r) == together(last.commands.front().what)) {
            last.commands.push_back(one);
            return;
        }
    }
    message m;
    m.sent = world_.now();
    m.commands.push_back(one);
    m.form = as;
    put(*wire_, to_server, std::move(m));
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

/// Delivers the messages that have arrived.
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
        message m = std::move(messages.front());
        messages.pop_front();
        if (d == to_server) {
            server_.be_busy();
            execute(w, m);
        } else if (!m.changed_key.empty()) {
            owner_.on_key_changed(m.changed_key);
        } else {
            owner_.run_or_defer([this, m = std::move(m)] { on_reply(m); });
        }
    }
}

/// Handles a reply, as `instance::redis::node` does.
void connection::on_reply(const message& m) {
    const sent_request& r = m.commands.front();
    shortest_refused_ = shortest_refused_ || m.answer.is_refused_for_good;
    if (m.answer.again) {
        send_again(r, *m.answer.again);
    } else if (m.answer.elsewhere) {
        to_resend_.answered(r.what.command.key, r.number);
        owner_.on_redirected(r.what, *m.answer.elsewhere);
    } else {
        on_vote(r, m.answer.vote);
        if (m.answer.ends_connection) {
            reset();
        }
    }
}

/// Handles a vote. If a release of this client was overtaken, the blocking key may be its own. The command is
/// then sent again.
void connection::on_vote(const sent_request& r, const core::vote& v) {
    if (v.kind == core::vote_kind::denied &&
        to_resend_.has_overtaken(r.what.command.key, r.number)) {
        send_again(r, usual_form());
        return;
    }
    to_resend_.answered(r.what.command.key, r.number);
    owner_.on_answer(r.what, v);
}

void connection::send_again(const sent_request& r, script_form form) {
    world_.count(fault::sent_again);
    instance::submission one;
    one.receiver = r.what.receiver;
    one.tag = r.what.tag;
    one.command = r.what.command;
    const bool is_first = to_resend_.empty();
    to_resend_.add(one, form, r.number);
    resent_.push_back(r.what);
    if (is_first) {
        world_.after(10us, [this] { owner_.run_or_defer([this] { resend(); }); });
    }
}

void connection::resend() {
    const std::vector<resend_queue::entry> all = to_resend_.take();
    const std::vector<request> requests = std::exchange(resent_, {});
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (!owner_.send_again(*this, requests[i], all[i].form)) {
            to_resend_.drop(requests[i].command.key);
        }
    }
}

void connection::answer(wire& w, const message& m, std::size_t which, outcome with) {
    message reply;
    reply.commands.push_back(m.commands[which]);
    reply.answer = std::move(with);
    put(w, to_client, std::move(reply));
}

void connection::execute(wire& w, const message& m) {
    if (!server_.up()) {
        return;
    }
    const request& first = m.commands.front().what;
    if (w.broken) {
        world_.count(fault::straggler);
    }
    if (first.order < last_executed_) {
        world_.count(fault::reordered);
    }
    last_executed_ = std::max(last_executed_, m.commands.back().what.order);
    const fault_model& f = world_.faults();
    if (voter_.kind().kind == topology::cluster) {
        const std::size_t owner = voter_.owner_of(server_.slot_of(first.command.key));
        const bool is_asked =
            m.form == script_form::asking && voter_.is_importing(node_, first.command.key);
        if (owner != node_ && !is_asked) {
            world_.count(fault::moved);
            outcome moved;
            moved.elsewhere = instance::redis::redirection{
                instance::redis::redirection::kind_type::moved,
                instance::redis::key_slot(first.command.key), "node", std::to_string(owner)};
            if (!w.broken) {
                answer(w, m, 0, std::move(moved));
            }
            return;
        }
    }
    std::vector<outcome> outcomes(m.commands.size());
    const bool is_refused = world_.goes_wrong(
        first.command.step == core::step::confirm ? f.raise_errors : f.error_replies);
    if (is_refused) {
        world_.count(fault::error_reply);
        for (outcome& one : outcomes) {
            one.vote = core::vote::failed(core::failure::server_error);
            if (outcomes.size() > 1) {
                one.again = script_form::digest;
            }
        }
    } else {
        const auto executed = server_.execute(m.commands, m.form, *w.session);
        outcomes.assign(executed.begin(), executed.end());
    }
    if (w.broken) {
        return;
    }
    const bool waits =
        voter_.kind().replicas_acked != 0 &&
        (first.command.step == core::step::acquire || core::must_last(first.command)) &&
        outcomes.front().vote.kind == core::vote_kind::granted;
    if (waits) {
        w.unreplicated = message{{}, {}, m.commands, m.form, outcomes.front(), {}};
        wait_for_replicas(w, server_.written(), world_.now() + replicas_timeout);
        return;
    }
    for (std::size_t i = 0; i != outcomes.size(); ++i) {
        answer(w, m, i, std::move(outcomes[i]));
    }
    tell_changes(w);
}

/// Reports changed keys, as CLIENT TRACKING does.
void connection::tell_changes(wire& w) {
    for (const std::string& key : w.session->take_changes()) {
        if (!w.broken) {
            message m;
            m.changed_key = key;
            put(w, to_client, std::move(m));
        }
    }
}

/// Waits for replicas, as the WAIT after each acquire does.
void connection::wait_for_replicas(wire& w, std::uint64_t written, true_time until) {
    if (!w.unreplicated) {
        return;  // The connection has ended.
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
        m.answer.vote = core::vote::failed(failure);
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
    w.session->end();
    auto unanswered = std::move(w.messages[to_client]);
    std::erase_if(unanswered, [](const message& m) { return m.commands.empty(); });
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
        owner_.run_or_defer([this, lost] {
            for (const message& m : lost) {
                for (const sent_request& one : m.commands) {
                    on_vote(one, core::vote::failed(core::failure::connection_lost));
                }
            }
        });
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
