// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/node.hpp"

#include "core/stable_hash.hpp"
#include "instance/redis/promotion.hpp"
#include "platform/clock.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

namespace colock::instance::redis {
namespace asio = boost::asio;
namespace {

constexpr const char* restart_setting = "restart_quarantine";

}  // namespace

std::string grants_in(core::time_point end, std::string_view setting) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(end - platform::clock::now());
    return ", grants locks in " +
           std::to_string(std::max(left.count(), std::chrono::seconds::rep{0})) + " s (" +
           std::string(setting) + ")";
}

node::node(std::size_t index, address to, const node_settings& settings, std::uint64_t seed,
           const asio::any_io_executor& executor, node_observer& observer)
    : index_(index),
      to_(std::move(to)),
      settings_(settings),
      random_(seed),
      executor_(executor),
      observer_(&observer),
      backoff_timer_(executor),
      quarantine_timer_(executor),
      wait_timer_(executor),
      resolver_(executor, settings.connection.lookups),
      window_(new_window()),
      wait_(to_.replicas_acked, settings.replicas_timeout) {
    status_.address = to_.display;
}

// --- Lifetime ------------------------------------------------------------------------------------

void node::start() {
    asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->keep_connected(); }, asio::detached);
}

void node::stop() {
    if (std::exchange(stopped_, true)) {
        return;
    }
    change_state(state::closed, {});
    if (connection_) {
        connection_->close();
    }
    resolver_.cancel();
    backoff_timer_.cancel();
    quarantine_timer_.cancel();
    wait_timer_.cancel();
    for (const resend_queue::entry& one : to_resend_.take()) {
        to_resend_.drop(one.command.command.key);
        vote_on(one.command, core::vote::failed(core::failure::down), platform::clock::now());
    }
}

/// Drops the observer, because the instance is being destroyed.
void node::forget() noexcept {
    stopped_ = true;
    serving_ = ready_ = false;
    observer_ = nullptr;
    to_resend_.clear();
    connection_.reset();
}

asio::awaitable<void> node::keep_connected() {
    const auto self = shared_from_this();
    while (!stopped_) {
        change_state(state::connecting, {});
        const std::string reason = co_await connect_and_serve();
        connection_.reset();
        if (observer_ != nullptr) {
            observer_->on_disconnected(*this);
        }
        if (stopped_ || process_.is_inherited()) {
            break;
        }
        change_state(state::down, reason);
        backoff_timer_.expires_after(
            settings_.reconnect.delay(tries_++, core::next_random(random_)));
        co_await backoff_timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

/// Returns the reason why it has ended.
asio::awaitable<std::string> node::connect_and_serve() {
    if (!to_.unix_path.empty()) {
        co_return co_await serve_at(std::string());
    }
    auto found = co_await resolver_.resolve(to_.host, settings_.connection.connect_timeout);
    std::vector<std::string>& hosts = found.addresses;
    if (hosts.empty()) {
        co_return "cannot resolve " + to_.host + ": " + found.failure;
    }
    first_addresses& first = *settings_.connection.first_addresses;
    const std::string endpoint = endpoint_text(to_.host, to_.port);
    first.order(endpoint, hosts);
    std::string reason;
    answered_ = was_accepted_ = false;
    for (std::size_t i = 0; i != hosts.size() && !answered_ && !stopped_; ++i) {
        reason = co_await serve_at(hosts[i]);
        if (answered_ && hosts.size() > 1) {
            // If a server answers but is rejected, the other addresses are tried before it next time.
            first.prefer(endpoint, hosts[was_accepted_ ? i : (i + 1) % hosts.size()]);
        }
    }
    co_return reason;
}

asio::awaitable<std::string> node::serve_at(std::string host) {
    try {
        connection_ = connection::make(executor_, to_, settings_.connection);
        std::string reason = co_await connection_->serve(std::move(host), shared_from_this());
        wait_.on_ended();
        vote_on_replicated(core::failure::connection_lost, platform::clock::now());
        co_return reason;
    } catch (const std::exception& failure) {
        co_return failure.what();
    }
}

void node::on_probing() {
    answered_ = true;
    change_state(state::probing, {});
}

std::string node::on_ready(const server_facts& facts) {
    if (stopped_ || observer_ == nullptr) {
        return {};
    }
    admission admitted = observer_->admit(*this, facts);
    if (!admitted.objection.empty()) {
        return std::move(admitted.objection);
    }
    was_accepted_ = true;
    facts_ = facts;
    window_ = new_window();
    shortest_refused_ = false;
    const bool keeps_queues = facts.capabilities.tells_changes && facts.allows_undeclared_keys;
    keeper_id_ = keeps_queues && !facts.run_id.empty() ? core::stable_hash(facts.run_id) : 0;
    tries_ = 0;
    {
        const std::lock_guard lock(status_mutex_);
        status_.version = facts.version;
        status_.run_id = facts.run_id;
        status_.uptime = facts.uptime.value_or(std::chrono::seconds(0));
    }
    const core::time_point now = platform::clock::now();
    probed_at_ = now;
    note_server(now);
    const quarantine_reason longest =
        std::max({changed_, young(now), admitted.quarantine},
                 [](const auto& a, const auto& b) { return a.until < b.until; });
    if (longest.until > now) {
        quarantine(longest);
    } else {
        change_state(state::ready, {});
    }
    if (std::exchange(was_missed_, false) && observer_ != nullptr) {
        observer_->on_accepting();
    }
    return {};
}

void node::on_ended(const std::string& reason) {
    if (serving_) {
        quarantine_timer_.cancel();
        change_state(state::down, reason);
    }
}

void node::change_state(state now, const std::string& reason) {
    const bool was_ready = ready_;
    ready_ = now == state::ready;
    serving_ = ready_ || now == state::quarantined;
    {
        const std::lock_guard lock(status_mutex_);
        if (status_.state == state::closed) {
            return;
        }
        status_.state = now;
        if (now == state::down) {
            status_.reason = reason;
        }
    }
    const bool was_starting = starting_;
    if (now != state::connecting && now != state::probing) {
        starting_ = false;
    }
    if (observer_ != nullptr && (was_ready != ready_ || was_starting != starting_)) {
        observer_->on_state_change(*this);
    }
}

status node::snapshot() const {
    const std::lock_guard lock(status_mutex_);
    status result = status_;
    result.in_flight = in_flight_.load(std::memory_order_relaxed);
    result.window = window_size_.load(std::memory_order_relaxed);
    result.delay = delay_.load(std::memory_order_relaxed);
    const bool is_quarantined = result.state == state::quarantined;
    if (is_quarantined) {
        result.why_quarantined += grants_in(result.quarantined_until, quarantine_setting_);
    }
    result.nodes.push_back({result.address, "master", result.state,
                            is_quarantined ? result.why_quarantined : result.reason});
    return result;
}

// --- Quarantine ----------------------------------------------------------------------------------

/// Compares the server with the last one at this address. A different server does not have the locks that the
/// last one granted, regardless of its uptime.
void node::note_server(core::time_point now) {
    const std::optional<std::string> last = std::exchange(last_run_id_, facts_.run_id);
    const auto& [length, drift] = settings_.quarantine;
    if (!last || length == core::duration::zero()) {
        return;
    }
    if (facts_.run_id.empty()) {
        changed_ = {core::gone_at(now, length, drift),
                    "it reports no run_id and may be a different server", restart_setting};
    } else if (facts_.run_id != *last) {
        changed_ = {core::gone_at(now, length, drift),
                    "it is a different server, its run_id is " + facts_.run_id +
                        (last->empty() ? " and was not reported before" : " and was " + *last),
                    restart_setting};
    }
}

/// Returns the quarantine of a server with a short uptime.
quarantine_reason node::young(core::time_point now) const {
    const auto& [length, drift] = settings_.quarantine;
    if (length == core::duration::zero()) {
        return {};
    }
    const auto uptime = facts_.uptime.value_or(std::chrono::seconds(0));
    return {core::quarantine_end(now, length, uptime, drift),
            facts_.uptime
                ? "restarted " + std::to_string(uptime.count()) + " s before this client connected"
                : "it does not report its uptime",
            restart_setting};
}

void node::quarantine(const quarantine_reason& r) {
    {
        const std::lock_guard lock(status_mutex_);
        status_.quarantined_until = r.until;
        status_.why_quarantined = r.why;
        quarantine_setting_ = r.setting;
    }
    change_state(state::quarantined, {});
    quarantine_timer_.expires_after(r.until - platform::clock::now());
    quarantine_timer_.async_wait(
        [self = shared_from_this()](const boost::system::error_code& cancelled) {
            if (!cancelled && self->serving_ && !self->ready_) {
                self->change_state(state::ready, {});
            }
        });
}

// --- Commands out --------------------------------------------------------------------------------

void node::send(const std::shared_ptr<const batch>& commands, core::time_point now,
                std::optional<script_form> form) {
    if (!to_resend_.empty()) {
        resend(now);
    }
    const std::vector<submission>& all = commands->submissions();
    if (commands->unquestioned(index_, now) && ready_ && !refuses_some() && !stalled(now) &&
        sent_ + all.size() <= settings_.max_in_flight) {
        if (!all.empty()) {
            count_in_flight(all.size());
            sent_ += all.size();
            execute(commands, form.value_or(usual_form()), now, [&](script_form as) {
                return settings_.encoder->encode_shared(commands, facts_, as);
            });
        }
    } else {
        count_in_flight(static_cast<std::size_t>(std::ranges::count_if(
            all, [this](const submission& one) { return one.is_for(index_); })));
        send_some(all, form.value_or(usual_form()), now);
    }
}

script_form node::usual_form() const noexcept {
    return shortest_refused_ ? script_form::digest : script_form::shortest;
}

/// Sends again the commands that were answered without being executed, in order.
void node::resend(core::time_point now) {
    const std::vector<resend_queue::entry> all = to_resend_.take();
    std::vector<submission> run;
    for (std::size_t i = 0; i != all.size(); ++i) {
        run.push_back(all[i].command);
        if (i + 1 == all.size() || all[i + 1].form != all[i].form) {
            send_some(std::exchange(run, {}), all[i].form, now, true);
        }
    }
}

/// Sends the commands that target this instance, unless there is a reason not to. `again` if they come from
/// `to_resend_`.
void node::send_some(const std::vector<submission>& commands, script_form form,
                     core::time_point now, bool again) {
    std::shared_ptr<batch> admitted;
    bool some_refused = false;
    for (const submission& one : commands) {
        if (!one.is_for(index_)) {
            continue;
        }
        const core::failure refusal = refuse(one, now);
        if (refusal != core::failure::none) {
            if (again) {
                to_resend_.drop(one.command.key);
            }
            some_refused = some_refused || refusal == core::failure::server_error;
            vote_on(one, refused(one, refusal), now);
            continue;
        }
        try {
            if (!admitted) {
                admitted = std::make_shared<batch>();
            }
            admitted->submit(one);
            if (again) {
                to_resend_.sent(one.command.key, next_answer_ + sent_);
            }
            ++sent_;
        } catch (const std::bad_alloc&) {
            if (again) {
                to_resend_.drop(one.command.key);
            }
            vote_on(one, core::vote::failed(core::failure::overloaded), now);
        }
    }
    if (admitted) {
        execute(admitted, form, now,
                [&](script_form as) { return settings_.encoder->encode(*admitted, facts_, as); });
    } else if (some_refused) {
        ask_again(now);
    }
}

/// Closes the connection, because the user may have received the missing permissions since the probe. Only a
/// new connection probes them again. It is closed only while no command is in flight, so that no vote is
/// lost.
void node::ask_again(core::time_point now) {
    if (sent_ == 0 && now - probed_at_ >= settings_.connection.silence_timeout) {
        connection_->close("it is asked again for the commands that it refused inside scripts");
    }
}

/// Sends a batch whose commands already count as sent. If there is no memory for it, the commands fail, and
/// it is unknown whether they were sent.
template <typename Encode>
void node::execute(const std::shared_ptr<const batch>& commands, script_form form,
                   core::time_point now, const Encode& encode) {
    try {
        sent_batch sent(commands, form);
        std::string_view text = encode(form);
        if (wait_.follows_acquires() &&
            std::ranges::any_of(commands->submissions(),
                                [](const auto& one) { return core::must_last(one.command); })) {
            sent.waits_for_replicas = true;
            text_with_wait_ = text;
            text = text_with_wait_ += wait_.text();
        }
        send_batch(std::move(sent), text, now);
    } catch (const std::bad_alloc&) {
        for (const submission& one : commands->submissions()) {
            on_vote(one, core::vote::failed(core::failure::connection_lost), now);
        }
    }
}

void node::send_batch(sent_batch sent, std::string_view text, core::time_point now) {
    const bool waits = sent.waits_for_replicas;
    window_.on_sent(sent_, sent.unanswered().size(), now);
    connection_->execute(std::move(sent), text, now);
    if (waits) {
        wait_.on_sent(now);
        if (!wakes_later_) {
            wake_server_later();
        }
    }
}

core::vote node::refused(const submission& one, core::failure why) const {
    switch (why) {
        case core::failure::quarantined:
            return core::vote::quarantined(status_.quarantined_until);
        case core::failure::server_error:
            return core::vote::failed(why, why_not(one));
        default:
            return core::vote::failed(why);
    }
}

/// Returns why a command must not be sent, or `none`.
core::failure node::refuse(const submission& one, core::time_point now) const {
    if (!one.receiver->wanted(index_, one.tag)) {
        return core::failure::withdrawn;
    }
    if (!serving_) {
        return core::failure::down;
    }
    if (!ready_ && core::relies_on_memory(one.command)) {
        return core::failure::quarantined;
    }
    if (why_not(one)) {
        return core::failure::server_error;
    }
    if (sent_ >= settings_.max_in_flight) {
        return core::failure::overloaded;
    }
    // Other commands acquire nothing that would have to be released.
    if (core::has_deadline(one.command.step) && stalled(now)) {
        return core::failure::stalled;
    }
    return now > one.command.deadline ? core::failure::too_late : core::failure::none;
}

/// Returns why the server must not grant such a lock: it could not release or renew it. Null if it may.
std::shared_ptr<const std::string> node::why_not(const submission& one) const noexcept {
    const kinds::kind_traits& kind = one.command.kind->traits();
    if (core::is_of_record(one.command.step)) {
        return facts_.refused_to_records;
    }
    if (!core::takes_key(one.command)) {
        return nullptr;
    }
    if (kind.admission.counts_holders()) {
        return facts_.refused_to_semaphores;
    }
    if (kind.orders_waiters && facts_.refused_to_orders) {
        return facts_.refused_to_orders;
    }
    return kind.admission.shares_lease() && facts_.refused_to_readers ? facts_.refused_to_readers
           : kind.value_per_holder                                    ? facts_.refused_to_fenced
                                                                      : nullptr;
}

/// Returns whether there is a kind of lock that the server must not grant.
bool node::refuses_some() const noexcept {
    return facts_.refused_to_readers || facts_.refused_to_semaphores || facts_.refused_to_fenced ||
           facts_.refused_to_records || facts_.refused_to_orders;
}

/// Returns whether the server has stopped answering. More commands would only queue up, with locks to be
/// released later. After a blocked event loop, the answers may be there and unread.
bool node::stalled(core::time_point now) const {
    const core::time_point since = connection_->waiting_since();
    return since != core::never && now - since > settings_.stall_timeout &&
           !connection_->has_unread();
}

/// Queues a command that will be sent again in the next turn.
void node::send_again(const submission& command, script_form form) {
    const bool is_first = to_resend_.empty();
    const resend_queue::number sent_as = next_answer_++;
    --sent_;
    try {
        to_resend_.add(command, form, sent_as);
    } catch (const std::bad_alloc&) {
        vote_on(command, core::vote::failed(core::failure::overloaded), platform::clock::now());
        return;
    }
    if (is_first && observer_ != nullptr) {
        observer_->on_pending();
    }
}

// --- Replicas ------------------------------------------------------------------------------------

/// Keeps the vote until enough replicas have acknowledged the lock.
void node::replicate(const submission& command, const core::vote& granted, core::time_point now) {
    try {
        unreplicated_.emplace_back(command, granted);
    } catch (const std::bad_alloc&) {
        vote_on(command, core::vote::failed(core::failure::not_replicated), now);
    }
}

/// Sends a WAIT for the grants since the last WAIT was answered.
void node::wait_for_replicas() {
    const core::time_point now = platform::clock::now();
    try {
        sent_batch nothing_but_wait;
        nothing_but_wait.waits_for_replicas = true;
        send_batch(std::move(nothing_but_wait), wait_.text(), now);
    } catch (const std::bad_alloc&) {
        vote_on_replicated(core::failure::not_replicated, now);
    }
}

/// Starts the timer. It is not reset for each WAIT, because that WAIT has usually been answered when it
/// expires.
void node::wake_server_later() {
    wakes_later_ = serving_ && wait_.wake_at() != core::never;
    if (!wakes_later_) {
        return;
    }
    try {
        wait_timer_.expires_after(wait_.wake_at() - platform::clock::now());
        wait_timer_.async_wait(
            [self = shared_from_this()](const boost::system::error_code& /*cancelled*/) {
                const core::time_point now = platform::clock::now();
                if (self->serving_ && self->wait_.wake_at() <= now) {
                    self->connection_->ping(now);
                    self->wait_.on_woken(now);
                }
                self->wake_server_later();
            });
    } catch (const std::bad_alloc&) {  // Without the timer, the server ends the WAIT later.
        wakes_later_ = false;
    }
}

/// Handles the reply to WAIT: the number of replicas that have acknowledged every command before it. This
/// covers all pending grants, because the server replies in order.
void node::on_replicated(const resp::value& reply, core::time_point now) {
    unsigned acked = 0;
    std::from_chars(reply.text.data(), reply.text.data() + reply.text.size(), acked);
    const core::failure failure =
        failure_to_replicate(is_error(reply) ? 0 : acked, to_.replicas_acked);
    wait_.on_answered(failure == core::failure::none);
    if (failure == core::failure::none) {
        vote_on_replicated(failure, now);
    } else {
        vote_on_replicated(failure, now,
                           std::make_shared<const std::string>(
                               is_error(reply) ? std::string(reply.text)
                                               : std::to_string(acked) + " of " +
                                                     std::to_string(to_.replicas_acked) +
                                                     " acknowledged it in time (replicas_acked)"));
    }
}

/// Votes on all grants that wait for replicas. They stand or fail together.
void node::vote_on_replicated(core::failure reason, core::time_point now,
                              const std::shared_ptr<const std::string>& why) {
    for (const auto& [command, granted] : std::exchange(unreplicated_, {})) {
        vote_on(command, reason == core::failure::none ? granted : core::vote::failed(reason, why),
                now);
    }
}

// --- Answers in ----------------------------------------------------------------------------------

void node::on_vote(const submission& command, const core::vote& vote, core::time_point now) {
    if (!to_resend_.idle()) {
        // The existing key may be the target of this client's own release, which this acquire has overtaken.
        if (vote.kind == core::vote_kind::denied &&
            to_resend_.has_overtaken(command.command.key, next_answer_)) {
            send_again(command, usual_form());
            return;
        }
        to_resend_.answered(command.command.key, next_answer_);
    }
    ++next_answer_;
    --sent_;
    if (wait_.needed() && vote.kind == core::vote_kind::granted &&
        core::must_last(command.command)) {
        replicate(command, vote, now);
    } else {
        vote_on(command, vote, now);
    }
}

void node::on_redirected(const submission& command, const resp::value& error) {
    if (!to_resend_.idle()) {
        to_resend_.answered(command.command.key, next_answer_);
    }
    ++next_answer_;
    --sent_;
    count_in_flight(std::size_t{0} - 1);
    if (observer_ != nullptr) {
        observer_->on_redirected(*this, command, error);
    }
}

void node::on_refused(const submission& command, bool for_good) {
    shortest_refused_ = shortest_refused_ || for_good;
    send_again(command, script_form::digest);
}

void node::on_unknown_script(const submission& command, bool of_many) {
    send_again(command, of_many ? script_form::many_in_full : script_form::in_full);
}

void node::on_key_changed(std::string_view key) {
    if (observer_ != nullptr) {
        observer_->on_key_changed(key);
    }
}

void node::on_all_keys_changed() {
    if (observer_ != nullptr) {
        observer_->on_all_keys_changed();
    }
}

/// A reply may take half of `instance_timeout`, which is a quarter of `stall_timeout`. The rest is for the
/// network and for delays in this program.
send_window node::new_window() const noexcept {
    return {settings_.max_in_flight, settings_.stall_timeout / 4};
}

void node::on_answered(std::optional<core::time_point> first, std::optional<core::time_point> all) {
    // Votes open the client's gate, but the votes on these grants come late. There is room for other commands
    // now.
    if (!unreplicated_.empty() && sent_ + unreplicated_.size() >= window_.size() &&
        observer_ != nullptr) {
        observer_->on_pending();
    }
    if (was_missed_ && serving_ && observer_ != nullptr && !stalled(platform::clock::now())) {
        was_missed_ = false;
        observer_->on_accepting();
    }
    if (first || all) {
        const core::time_point now = platform::clock::now();
        if (first) {
            window_.on_first_answer(*first, now);
        }
        if (all) {
            window_.on_answered(*all, now);
        }
        window_size_.store(window_.size(), std::memory_order_relaxed);
        delay_.store(window_.delay(), std::memory_order_relaxed);
    }
    if (!unreplicated_.empty() && serving_ && wait_.follows_grants()) {
        wait_for_replicas();
    }
}

void node::vote_on(const submission& one, const core::vote& vote, core::time_point now) {
    count_in_flight(std::size_t{0} - 1);
    was_missed_ =
        was_missed_ || vote.reason == core::failure::down || vote.reason == core::failure::stalled;
    if (observer_ != nullptr) {
        one.receiver->on_vote(index_, one.tag, vote, now);
    }
}

void node::count_in_flight(std::size_t more) noexcept {
    in_flight_.store(in_flight_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace colock::instance::redis
