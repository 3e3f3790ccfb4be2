// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/sentinel.hpp"

#include "core/backoff.hpp"
#include "core/validity.hpp"
#include "instance/redis/promotion.hpp"

#include <algorithm>
#include <utility>

namespace colock::instance::redis {
namespace {

/// Maximum delay between a majority of the Sentinels and a client that leaves the former master. Clients
/// query every second, and immediately after a failover message.
constexpr core::duration noticed_within = 3 * sentinel_watch::usual_interval / 2;

std::vector<std::string> ports_of(const std::vector<address>& hosts) {
    std::vector<std::string> result;
    result.reserve(hosts.size());
    for (const address& one : hosts) {
        result.push_back(one.port);
    }
    return result;
}

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
      known_(ports_of(to.sentinels)),
      unresolved_(to.sentinels.size()) {
    settings_.connection.deployment = deployment::sentinel;
    for (std::size_t i = 0; i != to.sentinels.size(); ++i) {
        names_.push_back(std::make_shared<name_watch>(
            i, to.sentinels[i].host, settings_.connection.connect_timeout, settings_.reconnect,
            core::next_random(random_), executor_, settings_.connection.lookups,
            static_cast<name_observer&>(*this)));
    }
}

sentinel::~sentinel() {
    for (const auto& one : names_) {
        one->forget();
    }
    for (const member& one : members_) {
        one.watch->forget();
    }
    retired_.forget();
    if (master_) {
        settings_.connected->leave(index_, master_->where());
        master_->forget();
    }
}

void sentinel::start() {
    for (const auto& one : names_) {
        one->start();
    }
}

void sentinel::stop() {
    if (stopped_.exchange(true)) {
        return;
    }
    for (const auto& one : names_) {
        one->stop();
    }
    for (const member& one : members_) {
        one.watch->stop();
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
            one.receiver->on_vote(index_, one.tag, core::vote::failed(core::failure::down), now);
        }
    }
}

bool sentinel::starting() const noexcept {
    return master_ ? master_->starting() : starting_;
}

// --- Which server is the master ------------------------------------------------------------------

void sentinel::on_resolved(std::size_t index, const resolver::result& found) {
    if (stopped_) {
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        unresolved_[index] = found.failure;
    }
    known_.resolved(index, found.addresses);
    ask_all_known();
    end_start();
}

void sentinel::on_identity(const sentinel_watch& from, const std::string& address,
                           const std::string& id) {
    if (const member* const one = member_of(from)) {
        known_.identified(one->host, address, id);
        ask_all_known();
    }
}

/// Returns null if the Sentinel is no longer queried.
sentinel::member* sentinel::member_of(const sentinel_watch& from) {
    const auto found =
        std::ranges::find_if(members_, [&](const member& one) { return one.watch.get() == &from; });
    return stopped_ || found == members_.end() ? nullptr : &*found;
}

/// Watches every known Sentinel that is not a duplicate, and no others.
void sentinel::ask_all_known() {
    std::vector<member> now;
    for (const known_sentinel& one : known_.all()) {
        if (one.is_duplicate || one.addresses.empty()) {
            continue;
        }
        member* const before = asked_as(one);
        if (before != nullptr &&
            std::ranges::find(now, before->watch, &member::watch) == now.end()) {
            before->watch->look_at(one.addresses);
            now.push_back(*before);
            continue;
        }
        const address& host = to_.sentinels[one.host];
        address display = host;
        if (known_.is_several(one.host)) {
            display.display = host.at(one.addresses.front(), host.port).display;
        }
        now.push_back({one.host, std::make_shared<sentinel_watch>(
                                     display, one.addresses, to_.master_name, settings_.connection,
                                     settings_.reconnect, core::next_random(random_), executor_,
                                     static_cast<sentinel_observer&>(*this))});
        now.back().watch->start();
    }
    {
        const std::lock_guard lock(mutex_);
        std::swap(members_, now);
    }
    for (const member& former : now) {
        if (std::ranges::find(members_, former.watch, &member::watch) == members_.end()) {
            former.watch->stop();
            former.watch->forget();
        }
    }
    follow();
}

/// Returns the member that watches an address of this Sentinel. Null if there is none.
sentinel::member* sentinel::asked_as(const known_sentinel& one) {
    const auto found = std::ranges::find_if(members_, [&](const member& other) {
        return other.host == one.host &&
               std::ranges::any_of(other.watch->addresses(), [&](auto& a) { return one.has(a); });
    });
    return found == members_.end() ? nullptr : &*found;
}

/// Returns the opinions of all known Sentinels. A Sentinel that is a duplicate or unreachable has none.
std::vector<std::optional<named_master>> sentinel::opinions() {
    std::vector<std::optional<named_master>> result;
    for (const known_sentinel& one : known_.all()) {
        const member* const asked = one.is_duplicate ? nullptr : asked_as(one);
        result.push_back(asked == nullptr ? std::nullopt : asked->opinion);
    }
    return result;
}

void sentinel::on_opinion(const sentinel_watch& from, const std::optional<named_master>& opinion) {
    if (member* const one = member_of(from)) {
        one->opinion = opinion;
        one->heard = true;
        follow();
        end_start();
    }
}

/// Looks up the name again, because its addresses may have changed.
void sentinel::on_unreachable(const sentinel_watch& from) {
    if (const member* const one = member_of(from)) {
        names_[one->host]->refresh();
    }
}

/// Ends the start when there is a master, or every Sentinel has replied or failed.
void sentinel::end_start() {
    const bool all_heard =
        std::ranges::all_of(unresolved_, [](const auto& one) { return one.has_value(); }) &&
        std::ranges::all_of(members_, &member::heard);
    if (starting_ && (master_ || all_heard)) {
        starting_ = false;
        observer_.on_state_change(index_);
    }
}

void sentinel::on_failover_message() {
    ask_sentinels();
}

void sentinel::follow() {
    const auto all = opinions();
    if (const auto agreed = agreed_master(all)) {
        use(agreed);
    } else if (named_ && is_contradicted(*named_, all)) {
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
        const std::lock_guard lock(mutex_);
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
    for (const member& one : members_) {
        one.watch->ask_now();
    }
}

void sentinel::update_urgency() {
    const bool is_urgent = !master_ || !master_->serving();
    for (const member& one : members_) {
        one.watch->set_urgent(is_urgent);
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
                                 ? "it was a replica and may lack locks of the former master"
                                 : "it is a different server than the former master",
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

// --- Status --------------------------------------------------------------------------------------

status sentinel::snapshot() const {
    std::shared_ptr<node> master;
    std::size_t still_in_flight = 0;
    std::vector<node_info> asked;
    {
        const std::lock_guard lock(mutex_);
        master = master_;
        still_in_flight = retired_.in_flight();
        for (std::size_t host = 0; host != unresolved_.size(); ++host) {
            const std::size_t before = asked.size();
            for (const member& one : members_) {
                if (one.host == host) {
                    asked.push_back(one.watch->snapshot());
                }
            }
            if (asked.size() == before) {
                asked.push_back(not_asked(host));
            }
        }
    }
    status result;
    if (master) {
        result = master->snapshot();
    }
    result.address = to_.display;
    result.in_flight += still_in_flight;
    bool any_asked = false;
    std::string answers;
    for (const node_info& one : asked) {
        any_asked = any_asked || one.state != state::connecting;
        answers += (answers.empty() ? "" : ", ") + one.address + " " +
                   (one.state == state::connecting ? "not connected yet"
                    : one.state == state::down     ? one.reason
                                                   : "names another master or none");
        result.nodes.push_back(one);
    }
    if (!master && stopped_) {
        result.state = state::closed;
    } else if (!master && any_asked) {
        result.state = state::down;
        result.reason =
            "no majority of its Sentinels names one master '" + to_.master_name + "': " + answers;
    }
    return result;
}

/// Returns the status of a host whose Sentinels are not queried. The mutex must be locked.
node_info sentinel::not_asked(std::size_t host) const {
    node_info result{
        to_.sentinels[host].display, "sentinel", stopped_ ? state::closed : state::connecting, {}};
    if (!stopped_ && unresolved_[host]) {
        result.state = state::down;
        result.reason =
            unresolved_[host]->empty()
                ? "is also behind another host of the URI, and counts once"
                : "cannot resolve " + to_.sentinels[host].host + ": " + *unresolved_[host];
    }
    return result;
}

}  // namespace colock::instance::redis
