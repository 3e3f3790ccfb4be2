// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/cluster.hpp"

#include "core/validity.hpp"
#include "instance/redis/slot_groups.hpp"
#include "kinds/auxiliary_key.hpp"
#include "kinds/kind.hpp"
#include "platform/clock.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <set>
#include <tuple>
#include <utility>

namespace colock::instance::redis {
namespace {

using kind_type = redirection::kind_type;

/// Maximum redirections of a command before it fails. Nodes that redirect it back and forth do not agree.
constexpr unsigned most_hops = 16;

/// Delay before a command that was put off is sent again. The same delay applies to probes of slots that
/// cannot be used.
constexpr core::backoff between_tries{core::milliseconds(2), core::milliseconds(50)};

/// Maximum number of detours that are sent or ended in one turn. More would block the event loop.
constexpr std::size_t most_detours_in_a_turn = 256;

/// Maximum number of nodes that are known only from redirections and not listed in the map. A hostile node
/// could name any number.
constexpr std::size_t most_targets = 16;

/// Time after which an unused node without slots is removed.
constexpr core::milliseconds kept_unused{5000};

constexpr std::string_view slot_was_taken_over =
    "its slot was taken over from a master that was down or quarantined";
constexpr std::string_view cluster_was_replaced =
    "the nodes report a different cluster or an older state of it";
constexpr std::string_view server_was_replaced = "a different server is at the address of its node "
                                                 "and has not reported yet that it belongs to this "
                                                 "cluster";
constexpr std::string_view failover_setting = "failover_quarantine";

/// Returns whether a command needs auxiliary keys that are in another slot than its key.
bool spans_keys(const kinds::command& command) noexcept {
    return command.kind->has_auxiliary_key(command) && !kinds::has_auxiliary_keys(command.key);
}

}  // namespace

/// A command that a node has redirected or put off. It stands between the node and the sender, and records
/// the redirections and the tries.
///
/// Some commands work on two keys. While their slot is migrated, the keys may be on different nodes, and both
/// nodes refuse the command. The two keys are then handled one after the other. A lock with several names is
/// handled slot by slot: see `slot_groups`.
class cluster::detour final : public vote_receiver, public detour_queue::entry {
public:
    detour(cluster& whose, const submission& of, core::time_point until, std::string reason)
        : owner(whose), original(of), command(of.command), why(std::move(reason)) {
        key = command.key;
        give_up_at = until;
    }

    void on_vote(std::size_t /*index*/, command_tag /*tag*/, const core::vote& vote,
                 core::time_point now) override {
        owner.waiting_.ended(*this, core::answered(vote), now);
        const bool goes_on =
            groups ? groups->add(command.step, vote) : vote.kind == core::vote_kind::granted;
        if (next.empty() || !goes_on) {
            owner.end_detour(*this, groups ? groups->result() : vote, now);
        } else if (owner.stopped_) {
            partly_done = true;
            owner.end_detour(*this, core::vote::failed(core::failure::down), now);
        } else {
            take_next();
            partly_done = true;
            asks.clear();
            not_before = core::time_point::min();
            owner.wait_to_be_sent(*this);
        }
    }

    bool wanted(std::size_t index, command_tag /*tag*/) const override {
        return original.receiver->wanted(index, original.tag);
    }

    void take_next() {
        command = next.front();
        key = command.key;
        next.erase(next.begin());
        is_divided = is_divided && !groups;
    }

    /// Splits the command by slot. The parts are sent one after the other.
    void divide_names() {
        next = divide_by_slot(original.command, names);
        groups.emplace();
        take_next();
    }

    cluster& owner;
    submission original;
    kinds::command command;                 // The part that is being executed.
    std::vector<kinds::command> next;       // The parts that follow, each after a grant.
    std::optional<group_votes> groups{};    // For a lock with several names.
    std::vector<std::string_view> names{};  // The names in the commands in `next`.
    // `command` is only the part that one node can execute, if the command can be divided.
    bool is_divided = false;
    bool partly_done = false;
    unsigned hops = 0;
    unsigned tries = 0;
    // Endpoint of the node that imports the slot, if the command goes there next.
    std::string asks{};
    std::string why;                      // The reply of the node that caused the detour.
    std::list<detour>::iterator place{};  // Position in `detours_`.
};

cluster::cluster(std::size_t index, const cluster_address& to, const redis_settings& settings,
                 std::uint64_t seed, const boost::asio::any_io_executor& executor,
                 instance_observer& observer)
    : index_(index),
      to_(to),
      settings_(settings),
      random_(seed),
      executor_(executor),
      observer_(observer),
      detour_timer_(executor),
      waiting_(between_tries, core::next_random(random_)) {
    settings_.connection.deployment = deployment::cluster;
    watch_ = std::make_shared<cluster_watch>(settings_.connection, settings_.reconnect,
                                             core::next_random(random_), executor_,
                                             static_cast<map_observer&>(*this));
}

cluster::~cluster() {
    watch_->forget();
    retired_.forget();
    for (const auto& [endpoint, one] : nodes_) {
        settings_.connected->leave(index_, one.where->where());
        one.where->forget();
    }
}

void cluster::start() {
    watch_->start();
}

void cluster::stop() {
    if (stopped_.exchange(true)) {
        return;
    }
    watch_->stop();
    detour_timer_.cancel();
    for (const auto& [endpoint, one] : nodes_) {
        one.where->stop();
    }
    while (detour_queue::entry* const one = waiting_.any()) {
        end_detour(static_cast<detour&>(*one), core::vote::failed(core::failure::down),
                   platform::clock::now());
    }
}

bool cluster::ready() const noexcept {
    return !stopped_ &&
           std::ranges::any_of(nodes_, [](const auto& one) { return one.second.where->ready(); });
}

bool cluster::starting() const noexcept {
    if (!has_map_) {
        return starting_;
    }
    return !ready() && std::ranges::any_of(
                           nodes_, [](const auto& one) { return one.second.where->starting(); });
}

/// The master of the first slot, because all clients agree on it.
std::uint64_t cluster::keeper_id() const noexcept {
    return owners_.front() == nullptr ? 0 : owners_.front()->keeper_id();
}

// --- The map -------------------------------------------------------------------------------------

std::vector<map_source> cluster::begin_sweep() {
    selection_.begin();
    ++sweep_;
    std::vector<map_source> result;
    if (informed_) {
        result.push_back({*informed_});
    }
    for (const bool serving : {true, false}) {
        for (const auto& [endpoint, one] : nodes_) {
            if (one.where->serving() == serving) {
                result.push_back({one.where->where(), one.doubted_since.has_value()});
            }
        }
    }
    for (const address& seed : to_.seeds) {
        result.push_back({seed});
    }
    return result;
}

bool cluster::on_map(const address& from, cluster_map map) {
    const auto relation = selection_.add(from.display, std::move(map));
    if (member* const one = member_of(from)) {
        if (relation == map_selection::relation::foreign) {
            doubt(*one);
        } else if (relation == map_selection::relation::ours && one->doubted_since &&
                   *one->doubted_since < sweep_) {
            one->doubted_since.reset();
            --doubted_;
        }
    }
    return selection_.is_enough();
}

void cluster::on_no_map(const address& from, const std::string& reason) {
    selection_.add_failure(from.display, reason);
}

void cluster::end_sweep() {
    if (stopped_) {
        return;
    }
    informed_.reset();
    map_decision decided = selection_.decide(platform::clock::now());
    is_undecided_ = decided.is_undecided;
    {
        const std::lock_guard lock(nodes_mutex_);
        map_reason_ = std::move(decided.reason);
    }
    if (decided.map) {
        use(decided);
    } else if (has_map_) {
        retire_those_without_slots({});
    } else if (std::exchange(starting_, false)) {
        observer_.on_state_change(index_);
    }
    look_after_slots();
}

void cluster::use(const map_decision& decided) {
    const core::time_point now = platform::clock::now();
    const std::vector<node*> former(owners_.begin(), owners_.end());
    const auto former_holes = holes_;
    const bool was_ready = ready();
    if (decided.is_another) {
        owners_.fill(nullptr);
        for (auto& [endpoint, one] : nodes_) {
            one.doubted_since.reset();
        }
        doubted_ = 0;
        bar_all(now);
    }
    holes_.set();
    for (auto& [endpoint, one] : nodes_) {
        one.is_listed = false;
    }
    for (const slot_range& range : decided.map->ranges) {
        node& owner = node_at(range.host, range.port);
        member_of(owner.where())->is_listed = true;
        for (std::size_t slot = range.first; slot <= range.last; ++slot) {
            set_owner(slot, owner, decided.changed[slot] && !decided.is_another, now);
        }
    }
    const auto filled = former_holes & ~holes_;
    for (std::size_t slot = 0; filled.any() && slot != slot_count; ++slot) {
        if (filled[slot]) {
            waiting_.open(slot);
        }
    }
    const bool is_first = !std::exchange(has_map_, true);
    retire_those_without_slots({former.begin(), former.end()});
    const bool is_new = !std::ranges::equal(former, owners_);
    if (is_first || is_new || ready() != was_ready) {  // Notifies all waiters of the client.
        observer_.on_state_change(index_);
    }
    if (!is_first && is_new) {
        // A command that one node refused may go to another node now.
        observer_.on_accepting(index_);
    }
    look_after_detours(now);
}

/// Returns the node at that endpoint. Creates it if it does not exist.
node& cluster::node_at(const std::string& host, const std::string& port) {
    const std::string endpoint = endpoint_text(host, port);
    const core::time_point now = platform::clock::now();
    if (const auto known = nodes_.find(endpoint);
        known != nodes_.end() && !known->second.has_left) {
        known->second.last_used = now;
        return *known->second.where;
    }
    retire(endpoint);
    const auto made = std::make_shared<node>(index_, to_.seeds.front().at(host, port), settings_,
                                             core::next_random(random_), executor_,
                                             static_cast<node_observer&>(*this));
    made->was_missed();  // Votes may have failed while the former master was down.
    {
        const std::lock_guard lock(nodes_mutex_);
        nodes_.emplace(endpoint, member{made, now});
    }
    made->start();
    return *made;
}

/// Returns the target of a redirection. Returns null if there are too many nodes that the map does not list.
node* cluster::target_at(const std::string& host, const std::string& port, const node& named_by) {
    const auto known = nodes_.find(endpoint_text(host, port));
    const bool is_known = known != nodes_.end() && !known->second.has_left;
    return is_known || make_room_for_target(named_by) ? &node_at(host, port) : nullptr;
}

/// If there are too many targets, retires idle ones. Those without slots go first, in the order of their last
/// use. Returns whether there is room for another one.
bool cluster::make_room_for_target(const node& named_by) {
    const auto is_target = [](const auto& entry) { return !entry.second.is_listed; };
    auto count = static_cast<std::size_t>(std::ranges::count_if(nodes_, is_target));
    if (count < most_targets) {
        return true;
    }
    std::set<const node*> owners;
    for (const node* last = nullptr; const node* const owner : owners_) {
        if (owner != last) {
            owners.insert(last = owner);
        }
    }
    std::vector<std::tuple<bool, core::time_point, std::string>> idle;
    for (const auto& [endpoint, one] : nodes_) {
        if (!one.is_listed && one.where->in_flight() == 0 && one.where.get() != &named_by) {
            idle.emplace_back(owners.contains(one.where.get()), one.last_used, endpoint);
        }
    }
    std::ranges::sort(idle);
    for (auto it = idle.begin(); it != idle.end() && count >= most_targets; ++it, --count) {
        const node* const former = nodes_.at(std::get<std::string>(*it)).where.get();
        for (std::size_t slot = 0; slot != slot_count; ++slot) {
            if (owners_[slot] == former) {
                owners_[slot] = nullptr;
                holes_.set(slot);
            }
        }
        retire(std::get<std::string>(*it));
    }
    return count < most_targets;
}

/// Retires idle nodes that have lost all their slots or have not been used for `kept_unused`.
void cluster::retire_those_without_slots(const std::set<const node*>& former_owners) {
    const std::set<const node*> owners(owners_.begin(), owners_.end());
    const core::time_point now = platform::clock::now();
    std::vector<std::string> unused;
    for (auto& [endpoint, one] : nodes_) {
        const node* const where = one.where.get();
        if (owners.contains(where)) {
            one.last_used = now;
            continue;
        }
        one.has_left = one.has_left || former_owners.contains(where);
        if (where->in_flight() == 0 && (one.has_left || now - one.last_used >= kept_unused)) {
            unused.push_back(endpoint);
        }
    }
    for (const std::string& endpoint : unused) {
        retire(endpoint);
    }
}

void cluster::retire(const std::string& endpoint) {
    const auto found = nodes_.find(endpoint);
    if (found == nodes_.end()) {
        return;
    }
    const std::shared_ptr<node> former = found->second.where;
    doubted_ -= found->second.doubted_since ? 1 : 0;
    {
        const std::lock_guard lock(nodes_mutex_);
        retired_.add(former);
        nodes_.erase(found);
    }
    former->stop();
}

/// Sets the owner of a slot. If the slot changes hands without a ready former owner to migrate it, it is
/// quarantined.
void cluster::set_owner(std::size_t slot, node& owner, bool is_another, core::time_point now) {
    const node* const former = std::exchange(owners_[slot], &owner);
    holes_.reset(slot);
    if (former != &owner) {
        waiting_.open(slot);
    }
    if (is_another && (former == nullptr || former == &owner || !former->ready())) {
        bar(slot, now);
    }
}

/// Quarantines a slot, because its locks may not have moved with it. A promoted replica may lack the latest
/// locks. A master that was assigned the slot by hand has none of them.
void cluster::bar(std::size_t slot, core::time_point now) {
    const core::duration length = settings_.failover_quarantine;
    if (length == core::duration::zero()) {
        return;
    }
    barred_until_.resize(slot_count, core::time_point::min());
    any_barred_until_ = core::gone_at(now, length, settings_.quarantine.drift);
    barred_until_[slot] = any_barred_until_;
}

/// Quarantines all slots: their current owners do not have the latest locks.
void cluster::bar_all(core::time_point now) {
    const core::duration length = settings_.failover_quarantine;
    if (length == core::duration::zero()) {
        return;
    }
    const std::lock_guard lock(nodes_mutex_);
    all_barred_until_ = core::gone_at(now, length, settings_.quarantine.drift);
}

core::vote cluster::bar_reason::vote() const {
    return core::vote::quarantined(
        until, std::make_shared<const std::string>(
                   until == core::never ? std::string(why)
                                        : std::string(why) + grants_in(until, failover_setting)));
}

/// Returns why the node must not receive the command now.
cluster::bar_reason cluster::why_barred(const kinds::command& command, const node* to,
                                        core::time_point now) const {
    if (!core::relies_on_memory(command)) {
        return {};
    }
    if (now < all_barred_until_) {
        return {cluster_was_replaced, all_barred_until_};
    }
    if (now < any_barred_until_) {
        const core::time_point until = barred_until_[key_slot(command.key)];
        if (now < until) {
            return {slot_was_taken_over, until};
        }
    }
    return to != nullptr && is_doubted(*to) ? bar_reason{server_was_replaced} : bar_reason{};
}

/// Marks the node: its server may belong to another cluster. It grants nothing until it has reported the map
/// of this cluster.
void cluster::doubt(member& one) {
    doubted_ += one.doubted_since ? 0 : 1;
    one.doubted_since = sweep_;
}

cluster::member* cluster::member_of(const address& where) {
    const auto found = nodes_.find(endpoint_text(where.host, where.port));
    return found == nodes_.end() ? nullptr : &found->second;
}

bool cluster::is_doubted(const node& one) const {
    return doubted_ != 0 && std::ranges::any_of(nodes_, [&](const auto& other) {
               return other.second.where.get() == &one && other.second.doubted_since;
           });
}

/// If some slots have no serving owner, or it is undecided which map to use, the watch requests maps
/// urgently.
void cluster::look_after_slots() {
    watch_->set_urgent(
        is_undecided_ || doubted_ != 0 || holes_.any() ||
        !std::ranges::all_of(owners_, [](const node* owner) { return owner && owner->serving(); }));
}

// --- From the nodes ------------------------------------------------------------------------------

admission cluster::admit(const node& from, const server_facts& facts) {
    admission result{settings_.connected->join(index_, facts.run_id, from.where())};
    if (member* const one = member_of(from.where()); one != nullptr && one->where.get() == &from) {
        const std::string former = std::exchange(one->run_id, facts.run_id);
        if (one->was_away && (facts.run_id.empty() || former != facts.run_id)) {
            doubt(*one);
            watch_->refresh();
        }
    }
    const core::duration length = settings_.failover_quarantine;
    if (facts.may_be_promoted && length != core::duration::zero()) {
        const core::time_point since = promotions_.first_seen(
            facts.replication_id, platform::clock::now(), length, slot_count);
        result.quarantine = {core::gone_at(since, length, settings_.quarantine.drift),
                             "it was a replica and may lack locks of the former master",
                             std::string(failover_setting)};
    }
    return result;
}

void cluster::on_disconnected(const node& from) {
    settings_.connected->leave(index_, from.where());
    if (member* const one = member_of(from.where()); one != nullptr && one->where.get() == &from) {
        one->was_away = true;
    }
    if (!stopped_) {
        look_after_slots();
        watch_->refresh();
    }
}

void cluster::on_state_change(const node& from) {
    if (stopped_) {
        observer_.on_state_change(index_);
        return;
    }
    look_after_slots();
    observer_.on_state_change(index_);
    if (from.serving() && std::exchange(missed_, false)) {
        observer_.on_accepting(index_);
    }
    if (from.serving() && !waiting_.empty()) {
        waiting_.hurry(platform::clock::now());
        observer_.on_pending(index_);
    }
}

void cluster::on_redirected(const node& from, const submission& command, const resp::value& error) {
    const core::time_point now = platform::clock::now();
    auto* of = dynamic_cast<detour*>(command.receiver);
    if (of != nullptr) {
        of->why = error.text;
    } else {
        of = begin_detour(command, now, std::string(error.text));
    }
    if (of != nullptr && stopped_) {
        end_detour(*of, core::vote::failed(core::failure::down), now);
    } else if (of != nullptr) {
        follow(*of, from, now);
    }
}

/// Decides where and when a command is sent next, or ends it. A node that redirects it, or that has one of
/// its keys, serves the slot.
void cluster::follow(detour& of, const node& from, core::time_point now) {
    redirection to = read_redirection(of.why);
    if (to.host.empty()) {
        to.host = from.where().host;
    }
    if (is_doubted(from)) {
        to.kind = kind_type::down;  // Its redirection may refer to another cluster.
    }
    const std::size_t slot = key_slot(of.command.key);
    bool put_off = true;
    of.asks.clear();
    if (to.kind == kind_type::ask || to.kind == kind_type::again) {
        waiting_.ended(of, true, now);
    }
    switch (to.kind) {
        case kind_type::moved:
            watch_->refresh();
            if (node* const owner = target_at(to.host, to.port, from)) {
                set_owner(to.slot, *owner, selection_.move(to.slot, to.host, to.port), now);
                informed_ = owner->where();
                put_off = owner == &from || ++of.hops > 2;
            }
            break;
        case kind_type::ask:
            if (target_at(to.host, to.port, from) != nullptr) {
                of.asks = endpoint_text(to.host, to.port);
                put_off = ++of.hops > 2;
            }
            break;
        case kind_type::again:
            if (!std::exchange(of.is_divided, true)) {
                const auto parts = of.command.kind->apart(of.command);
                put_off = parts.empty();
                of.next.insert(of.next.begin(), parts.begin(), parts.end());
                if (!of.command.more_keys.empty() && !of.groups) {
                    of.groups.emplace();
                }
            }
            if (!put_off) {
                of.take_next();
            } else if (of.command.kind->has_auxiliary_key(of.command) &&
                       !core::takes_key(of.command)) {
                of.hops = most_hops;  // Only hints and optional steps get here. The command fails.
            }
            break;
        case kind_type::down:
            if (!holes_[slot]) {  // Otherwise a map is requested urgently anyway.
                watch_->refresh();
            }
            break;
    }
    if (of.hops >= most_hops) {
        end_detour(of,
                   core::vote::failed(core::failure::server_error,
                                      std::make_shared<const std::string>(of.why)),
                   now);
        return;
    }
    const bool is_of_slot = to.kind == kind_type::moved || to.kind == kind_type::down;
    of.not_before = put_off && !is_of_slot
                        ? now + between_tries.delay(of.tries, core::next_random(random_))
                        : core::time_point::min();
    of.tries += put_off ? 1 : 0;
    if (put_off && is_of_slot) {
        shut(slot);
    }
    wait_to_be_sent(of);
}

// --- Commands ------------------------------------------------------------------------------------

void cluster::send(const std::shared_ptr<const batch>& commands, core::time_point now) {
    if (!waiting_.empty()) {
        send_detours(now);
    }
    if (node* const owner = owner_of_all(*commands, now)) {
        owner->send(commands, now);
    } else {
        send_split(*commands, now);
    }
    static const auto& nothing =  // Outlives all static objects.
        *new std::shared_ptr<const batch>(std::make_shared<const batch>());
    for (const auto& [endpoint, one] : nodes_) {
        if (one.where->wants_to_send()) {
            one.where->send(nothing, now);
        }
    }
}

/// Returns the node for all commands of a batch. Returns null if there is none, or if a command needs a
/// closer check.
node* cluster::owner_of_all(const batch& commands, core::time_point now) const {
    node* result = nullptr;
    if (now < any_barred_until_ || now < all_barred_until_ || doubted_ != 0) {
        return nullptr;
    }
    for (const submission& one : commands.submissions()) {
        if (!one.is_for(index_)) {
            continue;
        }
        const std::size_t slot = key_slot(one.command.key);
        node* const owner = node_for(slot, 0);
        if (owner == nullptr || (result != nullptr && owner != result) ||
            waiting_.holds_up(slot, one.command.key) || spans_slots(one.command) ||
            spans_keys(one.command)) {
            return nullptr;
        }
        result = owner;
    }
    return result;
}

/// Returns the owner of the slot. While the slot has none, returns some serving node, a different one on each
/// try. That node redirects the command.
node* cluster::node_for(std::size_t slot, std::size_t tries) const {
    node* const owner = owners_[slot];
    if (!holes_[slot] || (tries == 0 && owner != nullptr && owner->serving())) {
        return owner;
    }
    std::vector<node*> serving;
    for (const auto& [endpoint, one] : nodes_) {
        if (one.where->serving() && !one.doubted_since) {
            serving.push_back(one.where.get());
        }
    }
    return serving.empty() ? owner : serving[(slot + tries) % serving.size()];
}

void cluster::send_split(const batch& commands, core::time_point now) {
    std::vector<std::pair<node*, std::shared_ptr<batch>>> parts;
    for (const submission& one : commands.submissions()) {
        if (!one.is_for(index_)) {
            continue;
        }
        const std::size_t slot = key_slot(one.command.key);
        node* const owner = node_for(slot, 0);
        if (!has_map_ || stopped_) {
            missed_ = true;
            vote_on(one, core::failure::down, now);
            continue;
        }
        if (spans_keys(one.command)) {
            vote_on(one, core::failure::server_error, now,
                    "a cluster cannot have the keys of this lock in one slot: its name has a } but "
                    "no {hash tag}");
            continue;
        }
        if (const auto barred = why_barred(one.command, owner, now); !barred.why.empty()) {
            one.receiver->on_vote(index_, one.tag, barred.vote(), now);
            continue;
        }
        if (spans_slots(one.command)) {
            if (detour* const made = begin_detour(one, now, "its names are in several slots")) {
                divide_names(*made);
            }
            continue;
        }
        if (owner == nullptr || waiting_.holds_up(slot, one.command.key)) {
            if (owner == nullptr) {
                shut(slot);
            }
            if (detour* const made =
                    begin_detour(one, now, "no node serves slot " + std::to_string(slot))) {
                wait_to_be_sent(*made);
            }
            continue;
        }
        auto part = std::ranges::find(parts, owner, &decltype(parts)::value_type::first);
        if (part == parts.end()) {
            part = parts.insert(parts.end(), {owner, std::make_shared<batch>()});
        }
        part->second->submit(one);
        part->second->reconsider();
    }
    for (const auto& [owner, part] : parts) {
        owner->send(part, now);
    }
}

void cluster::vote_on(const submission& one, core::failure reason, core::time_point now,
                      std::string detail) {
    one.receiver->on_vote(
        index_, one.tag,
        core::vote::failed(reason, detail.empty()
                                       ? nullptr
                                       : std::make_shared<const std::string>(std::move(detail))),
        now);
}

// --- Detours -------------------------------------------------------------------------------------

/// If there is no memory, votes `overloaded` and returns null.
cluster::detour* cluster::begin_detour(const submission& command, core::time_point now,
                                       std::string why) {
    try {
        const core::time_point until =
            std::min(command.command.deadline, now + settings_.stall_timeout);
        detour& result = detours_.emplace_back(*this, command, until, std::move(why));
        result.place = std::prev(detours_.end());
        detour_count_.store(detours_.size(), std::memory_order_relaxed);
        return &result;
    } catch (const std::bad_alloc&) {
        vote_on(command, core::failure::overloaded, now);
        return nullptr;
    }
}

/// Sends the command slot by slot. Ends it if there is no memory for that.
void cluster::divide_names(detour& of) {
    try {
        of.divide_names();
    } catch (const std::bad_alloc&) {
        end_detour(of, core::vote::failed(core::failure::overloaded), platform::clock::now());
        return;
    }
    wait_to_be_sent(of);
}

/// Queues a detour that is not in flight until it can be sent. Ends it if there is no memory for that.
void cluster::wait_to_be_sent(detour& of) {
    try {
        waiting_.add(of);
    } catch (const std::bad_alloc&) {
        end_detour(of, core::vote::failed(core::failure::overloaded), platform::clock::now());
        return;
    }
    look_after_detours(platform::clock::now());
}

/// Marks the slot as unusable: it has no owner, or its owner refuses all commands.
void cluster::shut(std::size_t slot) {
    try {
        waiting_.shut(slot, holes_[slot] || owners_[slot] == nullptr
                                ? detour_queue::reason::hole
                                : detour_queue::reason::refused);
    } catch (const std::bad_alloc&) {  // Without memory for the mark, more commands are sent.
    }
}

/// Sends the detours that are due, in order.
void cluster::send_detours(core::time_point now) {
    struct part {
        node* to;
        bool asking;
        std::shared_ptr<batch> commands;
    };
    std::vector<part> parts;
    std::size_t count = 0;
    for (; count != most_detours_in_a_turn; ++count) {
        if (auto* const over = static_cast<detour*>(waiting_.next_over(now))) {
            end_detour(*over,
                       over->wanted(index_, over->original.tag)
                           ? core::vote::failed(core::failure::server_error,
                                                std::make_shared<const std::string>(over->why))
                           : core::vote::failed(core::failure::withdrawn),
                       now);
            continue;
        }
        auto* const next = static_cast<detour*>(waiting_.next(now));
        if (next == nullptr) {
            break;
        }
        if (!is_to_be_sent(*next, now)) {
            continue;
        }
        node* const to = target_of(*next);
        const bool asking = !next->asks.empty();
        if (parts.empty() || parts.back().to != to || parts.back().asking != asking) {
            parts.push_back({to, asking, std::make_shared<batch>()});
        }
        parts.back().commands->submit({next, 0, core::instance_set::only(index_), next->command});
        parts.back().commands->reconsider();
    }
    for (const part& one : parts) {
        one.to->send(one.commands, now,
                     one.asking ? std::optional(script_form::asking) : std::nullopt);
    }
    look_after_detours(now);
}

/// Returns whether the detour can be sent now. If not, it has ended or waits again.
bool cluster::is_to_be_sent(detour& of, core::time_point now) {
    if (!of.wanted(index_, of.original.tag)) {
        waiting_.skip(of);
        end_detour(of, core::vote::failed(core::failure::withdrawn), now);
        return false;
    }
    node* const to = target_of(of);
    if (const auto barred = why_barred(of.command, to, now); !barred.why.empty()) {
        waiting_.skip(of);
        end_detour(of, barred.vote(), now);
        return false;
    }
    if (to != nullptr && to->serving()) {
        return true;
    }
    if (of.asks.empty()) {
        shut(key_slot(of.command.key));
    } else {
        of.not_before = now + between_tries.delay(of.tries++, core::next_random(random_));
    }
    wait_to_be_sent(of);
    return false;
}

/// Makes sure that detours are sent or ended in time.
void cluster::look_after_detours(core::time_point now) {
    const core::time_point next = waiting_.next_time(now);
    if (next <= now) {
        observer_.on_pending(index_);
    }
    // Many detours that start or end one by one do not cost a turn each.
    const core::time_point soon = now + between_tries.initial;
    if (const core::time_point time = std::min(next, waiting_.next_end()); time != core::never) {
        wake_at(std::max(time, soon));
    }
}

node* cluster::target_of(detour& of) {
    if (const auto found = nodes_.find(of.asks); found != nodes_.end()) {
        return found->second.where.get();
    }
    of.asks.clear();  // The node was retired in the meantime.
    return node_for(key_slot(of.command.key), of.tries);
}

/// Passes the vote to the sender.
void cluster::end_detour(detour& of, core::vote vote, core::time_point now) {
    if (of.groups && vote.kind == core::vote_kind::failed) {
        of.groups->end(vote);
        vote = of.groups->result();
    } else if (!of.groups && of.partly_done && vote.kind != core::vote_kind::granted &&
               !core::outcome_unknown(vote.reason)) {
        // One part was granted, so the key exists.
        vote = core::vote::failed(core::failure::unclear_error, vote.detail);
    }
    const submission original = of.original;
    waiting_.ended(of, false, now);
    detours_.erase(of.place);
    detour_count_.store(detours_.size(), std::memory_order_relaxed);
    original.receiver->on_vote(index_, original.tag, vote, now);
}

/// Checks the detours again at that time, unless an earlier check is scheduled.
void cluster::wake_at(core::time_point time) {
    if (time >= wake_at_) {
        return;
    }
    wake_at_ = time;
    detour_timer_.expires_after(time - platform::clock::now());
    detour_timer_.async_wait(
        [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& cancelled) {
            if (!cancelled && !alive.expired()) {
                wake_at_ = core::never;
                observer_.on_pending(index_);
            }
        });
}

/// Returns the sum over all nodes. Only when an attempt is sent is it known which node it goes to.
std::size_t cluster::room() const noexcept {
    std::size_t result = 0;
    bool any_ready = false;
    for (const auto& [endpoint, one] : nodes_) {
        if (one.where->ready()) {
            any_ready = true;
            result += one.where->room();
        }
    }
    return any_ready ? result : unlimited;
}

// --- Status --------------------------------------------------------------------------------------

status cluster::snapshot() const {
    status result;
    result.address = to_.display;
    result.is_cluster = true;
    result.in_flight = detour_count_.load(std::memory_order_relaxed);
    const std::lock_guard lock(nodes_mutex_);
    result.in_flight += retired_.in_flight();
    bool any_closed = false;
    for (const auto& [endpoint, one] : nodes_) {
        const status of_node = one.where->snapshot();
        result.nodes.insert(result.nodes.end(), of_node.nodes.begin(), of_node.nodes.end());
        result.in_flight += of_node.in_flight;
        result.window += of_node.window;
        result.delay = std::max(result.delay, of_node.delay);
        any_closed = any_closed || of_node.state == state::closed;
        // The best state of a node is the state of the instance.
        constexpr auto rank = [](state s) {
            return s == state::ready ? 2 : s == state::quarantined;
        };
        if (&one == &nodes_.begin()->second || rank(of_node.state) > rank(result.state)) {
            result.state = of_node.state;
            result.version = of_node.version;
            result.run_id = of_node.run_id;
            result.uptime = of_node.uptime;
        }
        if (of_node.state == state::quarantined) {
            result.why_quarantined = of_node.address + ": " + of_node.why_quarantined;
        }
        result.quarantined_until = std::max(result.quarantined_until, of_node.quarantined_until);
        if (!of_node.reason.empty()) {
            result.reason = of_node.address + ": " + of_node.reason;
        }
    }
    if (nodes_.empty() && !map_reason_.empty()) {
        result.state = state::down;
    }
    if (platform::clock::now() < all_barred_until_ && result.state == state::ready) {
        result.state = state::quarantined;
        result.why_quarantined =
            std::string(cluster_was_replaced) + grants_in(all_barred_until_, failover_setting);
    }
    result.quarantined_until = std::max(result.quarantined_until, all_barred_until_);
    if (!map_reason_.empty()) {
        result.reason += (result.reason.empty() ? "" : ". ") + map_reason_;
    }
    if (any_closed || stopped_) {
        result.state = state::closed;
    }
    return result;
}

}  // namespace colock::instance::redis
