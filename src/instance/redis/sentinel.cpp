#include "instance/redis/sentinel.hpp"

#include "core/backoff.hpp"
#include "core/validity.hpp"
#include "instance/redis/promotion.hpp"

#include <algorithm>
#include <utility>

namespace colock::instance::redis {
namespace {

/// Clients leave the old master so much later, at most, than a majority of the Sentinels: they ask every second, and at
/// once when they are told of a failover.
constexpr core::duration noticed_within = 3 * sentinel_watch::usual_interval / 2;

}  // namespace

sentinel::sentinel(std::size_t index, const sentinel_address& to, const redis_settings& settings,
                   std::uint64_t seed, const boost::asio::any_io_executor& executor,
                   instance_observer& observer)
    : index_(index),
      to_(to),
      settings_(settings),
      random_(seed),
      executor_(executor),
      observer_(observer),
      opinions_(to.sentinels.size()),
      heard_(to.sentinels.size()) {
    settings_.connection.deployment = deployment::sentinel;
    for (std::size_t i = 0; i != to.sentinels.size(); ++i) {
        sentinels_.push_back(std::make_shared<sentinel_watch>(
            i, to.sentinels[i], to.master_name, settings_.connection, settings_.reconnect,
            core::next_random(random_), executor_, static_cast<sentinel_observer&>(*this)));
    }
}

sentinel::~sentinel() {
    for (const auto& one : sentinels_) {
        one->forget();
    }
    retired_.forget();
    if (master_) {
        settings_.connected->leave(index_, master_->where());
        master_->forget();
    }
}

void sentinel::start() {
    for (const auto& one : sentinels_) {
        one->start();
    }
}

void sentinel::stop() {
    if (std::exchange(stopped_, true)) {
        return;
    }
    for (const auto& one : sentinels_) {
        one->stop();
    }
    if (master_) {
        master_->stop();
    }
}

void sentinel::send(const std::shared_ptr<const batch>& commands, core::time_point now) {
    if (master_) {
        master_->send(commands, now);
        return;
    }
    for (const submission& one : commands->submissions()) {
        if (one.is_for(index_)) {
            one.receiver->on_vote(index_, one.tag, core::vote::failed(core::failure::down));
        }
    }
}

bool sentinel::starting() const noexcept {
    return master_ ? master_->starting() : starting_;
}

// --- Which server is the master ------------------------------------------------------------------

void sentinel::on_opinion(std::size_t index, const std::optional<named_master>& opinion) {
    if (stopped_) {
        return;
    }
    opinions_[index] = opinion;
    heard_[index] = true;
    follow();
    const bool all_heard = std::ranges::all_of(heard_, [](bool heard) { return heard; });
    if (starting_ && (master_ || all_heard)) {
        starting_ = false;
        observer_.on_state_change(index_);
    }
}

void sentinel::on_failover_message() {
    ask_sentinels();
}

void sentinel::follow() {
    if (const auto agreed = agreed_master(opinions_)) {
        use(agreed);
    } else if (named_ && is_contradicted(*named_, opinions_)) {
        use(std::nullopt);
    }
    update_urgency();
}

void sentinel::use(const std::optional<named_master>& next) {
    if (next && named_ && next->same_place(*named_)) {
        named_ = next;
        return;
    }
    named_ = next;
    std::shared_ptr<node> node_of_next;
    if (next) {
        node_of_next = std::make_shared<node>(index_, to_.master.at(next->host, next->port),
                                              settings_, core::next_random(random_), executor_,
                                              static_cast<node_observer&>(*this));
        node_of_next->was_missed();
    }
    std::shared_ptr<node> former;
    {
        const std::lock_guard lock(master_mutex_);
        former = std::exchange(master_, node_of_next);
        if (former) {
            retired_.add(former);
        }
    }
    if (former) {
        former->stop();
        observer_.on_state_change(index_);
    }
    if (node_of_next) {
        node_of_next->start();
    }
}

void sentinel::ask_sentinels() {
    for (const auto& one : sentinels_) {
        one->ask_now();
    }
}

void sentinel::update_urgency() {
    const bool is_urgent = !master_ || !master_->serving();
    for (const auto& one : sentinels_) {
        one->set_urgent(is_urgent);
    }
}

// --- The master ----------------------------------------------------------------------------------

admission sentinel::admit(const node& from, const server_facts& facts) {
    if (&from != master_.get()) {
        return {"the Sentinels name another master"};
    }
    admission result{settings_.connected->join(index_, facts.run_id, from.where())};
    const core::duration length = settings_.failover_quarantine;
    const bool is_another = last_run_id_ && *last_run_id_ != facts.run_id;
    last_run_id_ = facts.run_id;
    if ((facts.may_be_promoted || is_another) && length != core::duration::zero()) {
        const core::time_point left = left_by_all(named_->since, noticed_within);
        result.quarantine = {core::gone_at(left, length, settings_.quarantine.drift),
                             facts.may_be_promoted
                                 ? "it was a replica, and may lack locks of the former master"
                                 : "it is another server than the former master",
                             "failover_quarantine"};
    }
    return result;
}

void sentinel::on_disconnected(const node& from) {
    settings_.connected->leave(index_, from.where());
    if (&from == master_.get()) {
        update_urgency();
        ask_sentinels();
    }
}

void sentinel::on_state_change(const node& from) {
    if (&from == master_.get()) {
        update_urgency();
        observer_.on_state_change(index_);
    }
}

// --- For people ----------------------------------------------------------------------------------

status sentinel::snapshot() const {
    std::shared_ptr<node> master;
    std::size_t still_in_flight = 0;
    {
        const std::lock_guard lock(master_mutex_);
        master = master_;
        still_in_flight = retired_.in_flight();
    }
    status result;
    if (master) {
        result = master->snapshot();
    }
    result.address = to_.display;
    result.in_flight += still_in_flight;
    bool any_asked = false;
    bool all_closed = true;
    std::string answers;
    for (const auto& one : sentinels_) {
        const node_status& asked = result.nodes.emplace_back(one->snapshot());
        any_asked = any_asked || asked.state != state::connecting;
        all_closed = all_closed && asked.state == state::closed;
        answers += (answers.empty() ? "" : "; ") + asked.address + " " +
                   (asked.state == state::connecting ? "not connected yet"
                    : asked.state == state::down     ? asked.reason
                                                     : "names another, or none");
    }
    if (!master && all_closed) {
        result.state = state::closed;
    } else if (!master && any_asked) {
        result.state = state::down;
        result.reason =
            "no majority of its Sentinels names one master '" + to_.master_name + "': " + answers;
    }
    return result;
}

}  // namespace colock::instance::redis
