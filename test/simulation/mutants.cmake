# The mutants: deliberately broken variants of the library. A checker of the simulation must catch each of
# them.

# --- Quorum and validity ------------------------------------------------------------------------------------

colock_mutant(
    NAME half_is_a_quorum
    WHAT "half of the instances count as a quorum"
    FILE src/core/round.hpp
    FIND [[return instances / 2 + 1;]]
    WITH [[return @MUTANT@ && instances > 1 ? instances / 2 : instances / 2 + 1;]]
)
colock_mutant(
    NAME silence_is_consent
    WHAT "an instance that does not answer in time counts as a grant"
    FILE src/core/round.cpp
    FIND [[record(i, vote::failed(reason));]]
    WITH [[record(i, @MUTANT@ ? vote::granted() : vote::failed(reason));]]
)
colock_mutant(
    NAME no_drift
    WHAT "the validity ignores clock drift"
    FILE src/core/validity.hpp
    FIND [[return sent + ttl - drift.of(ttl);]]
    WITH [[return sent + ttl - (@MUTANT@ ? duration{} : drift.of(ttl));]]
)
colock_mutant(
    NAME validity_from_the_reply
    WHAT "the validity of a grant starts when the votes arrive"
    FILE src/core/lease.cpp
    FIND [[return hold(core::valid_until(sent_,]]
    WITH [[return hold(core::valid_until(@MUTANT@ ? now : sent_,]]
)
colock_mutant(
    NAME renewal_from_the_reply
    WHAT "the validity of a renewal starts when the votes arrive"
    FILE src/core/renew.cpp
    FIND [[valid_until_ = core::valid_until(sent_, round_ttl_, settings_.drift);]]
    WITH [[valid_until_ = core::valid_until(@MUTANT@ ? now : sent_, round_ttl_, settings_.drift);]]
)
colock_mutant(
    NAME too_slow_is_believed
    WHAT "a quorum that granted after the end of the validity counts"
    FILE src/core/lease.cpp
    FIND [[if (now >= useful_until()) {  // it]]
    WITH [[if (now >= useful_until() && !@MUTANT@) {  // it]]
)

# --- The servers --------------------------------------------------------------------------------------------

colock_mutant(
    NAME extend_without_token_check
    WHAT "an extend prolongs the key of any holder"
    FILE src/kinds/extend.lua
    FIND [[if value == token then
    if redis]]
    WITH [[if type(value) == 'string' then
    if redis]]
)
colock_mutant(
    NAME release_without_token_check
    WHAT "a release deletes the key of any holder"
    FILE src/kinds/release.lua
    FIND [[if value == ARGV[1] then]]
    WITH [[if type(value) == 'string' then]]
)
colock_mutant(
    NAME acquire_overwrites
    WHAT "an acquire overwrites a key that is held"
    FILE src/kinds/holder_steps.cpp
    FIND [[    to.write(words<"SET">, command.key, command.token, words<"NX", "PX">,]]
    WITH [[    if (@MUTANT@) {
        to.write(words<"SET">, command.key, command.token, words<"PX">,
                 number(command.ttl.count()).text());
        return;
    }
    to.write(words<"SET">, command.key, command.token, words<"NX", "PX">,]]
)

# --- Rollback -----------------------------------------------------------------------------------------------

colock_mutant(
    NAME undo_only_where_granted
    WHAT "no release is sent to an instance that has not voted"
    FILE src/core/lease.cpp
    FIND [[if (keys_[i] != belief::no) {
            holding.add(i);]]
    WITH [[if (@MUTANT@ ? keys_[i] == belief::yes : keys_[i] != belief::no) {
            holding.add(i);]]
)
colock_mutant(
    NAME unknown_is_no
    WHAT "a broken connection counts as a denial"
    FILE src/core/lease.cpp
    FIND [[v.kind == vote_kind::denied || !outcome_unknown(v.reason)]]
    WITH [[v.kind == vote_kind::denied || @MUTANT@ || !outcome_unknown(v.reason)]]
)
colock_mutant(
    NAME late_grant_forgotten
    WHAT "a grant that arrives after its release was answered is not rolled back"
    FILE src/core/release.cpp
    FIND [[if (v.kind == vote_kind::granted) {]]
    WITH [[if (v.kind == vote_kind::granted && !@MUTANT@) {]]
)
colock_mutant(
    NAME heal_not_given_back
    WHAT "a restored key is not released"
    FILE src/core/lease.cpp
    FIND [[keys_[index] = belief::maybe;]]
    WITH [[keys_[index] = @MUTANT@ ? belief::no : belief::maybe;]]
)
colock_mutant(
    NAME release_not_tried_again
    WHAT "a failed release is not retried"
    FILE src/core/release.cpp
    FIND [[set(index, progress::to_retry);]]
    WITH [[set(index, @MUTANT@ ? progress::nobody : progress::to_retry);]]
)
colock_mutant(
    NAME attempt_without_undo
    WHAT "a failed or cancelled attempt is not rolled back"
    FILE src/core/lease.cpp
    FIND [[    status_ = status::releasing;]]
    WITH [[    if (@MUTANT@ && acquiring()) {
        keys_.assign(belief::no);
    }
    status_ = status::releasing;]]
)
colock_mutant(
    NAME longest_ttl_forgotten
    WHAT "a release is retried only for the first ttl although a longer one was sent"
    FILE src/core/lease.cpp
    FIND [[ttl_ = std::max(ttl_, watchdog().ttl());]]
    WITH [[ttl_ = @MUTANT@ ? ttl_ : std::max(ttl_, watchdog().ttl());]]
)
colock_mutant(
    NAME one_token_for_all
    WHAT "an attempt reuses the token of the previous one"
    FILE src/runtime/token.cpp
    FIND [[bits = bits >> 32U != 0 ? bits >> 32U : world.random();]]
    WITH [[bits = bits >> 32U != 0 ? bits >> 32U : @MUTANT@ ? 7 : world.random();]]
)

colock_mutant(
    NAME overtaken_release_is_believed
    WHAT "no second release is sent if a grant was pending when the first was denied"
    FILE src/core/release.cpp
    FIND [[if (overtaking_.contains(index)) {]]
    WITH [[if (overtaking_.contains(index) && !@MUTANT@) {]]
)

colock_mutant(
    NAME release_given_up_while_open
    WHAT "a release is given up after the ttl although the acquire may yet be executed"
    FILE src/core/release.cpp
    FIND [[return open_.empty() ?]]
    WITH [[return open_.empty() || @MUTANT@ ?]]
)

# --- Restarts -----------------------------------------------------------------------------------------------

colock_mutant(
    NAME quarantine_off
    WHAT "a restarted instance grants locks immediately"
    FILE test/simulation/connection.cpp
    FIND [[quarantined_until_ = core::quarantine_end(]]
    WITH [[quarantined_until_ = @MUTANT@ ? core::time_point::min() : core::quarantine_end(]]
)
colock_mutant(
    NAME fence_counted_in_quarantine
    WHAT "an instance that has lost its last writes grants fences immediately"
    FILE src/core/command.hpp
    FIND [[(c.step == step::confirm && c.value == 0)]]
    WITH [[(c.step == step::confirm && c.value == 0 && !@MUTANT@)]]
)
colock_mutant(
    NAME uptime_is_believed
    WHAT "the reported uptime of a server is not reduced by its rounding of one second"
    FILE src/core/validity.hpp
    FIND [[uptime - std::chrono::seconds(1)]]
    WITH [[uptime - std::chrono::seconds(@MUTANT@ ? 0 : 1)]]
)
colock_mutant(
    NAME quarantine_too_short
    WHAT "the quarantine is shorter than the ttls"
    FILE test/simulation/connection.cpp
    FIND [[length, server_.uptime()]]
    WITH [[@MUTANT@ ? length / 8 : length, server_.uptime()]]
)

# --- Failovers ----------------------------------------------------------------------------------------------

colock_mutant(
    NAME failover_quarantine_off
    WHAT "a promoted replica grants locks immediately"
    FILE test/simulation/route.cpp
    FIND [[return core::gone_at(since,]]
    WITH [[return @MUTANT@ ? core::time_point::min() : core::gone_at(since,]]
)
colock_mutant(
    NAME quarantine_after_moved_ignored
    WHAT "a redirected acquire ignores the quarantine of the next node"
    FILE test/simulation/client.cpp
    FIND [[core::relies_on_memory(r.command) && now()]]
    WITH [[core::relies_on_memory(r.command) && !(@MUTANT@ && r.hops != 0) && now()]]
)
colock_mutant(
    NAME another_cluster_is_believed
    WHAT "a map without a node in common with the last one is accepted as the same cluster"
    FILE src/instance/redis/map_selection.cpp
    FIND [[has_map_ && !can_be_one_cluster(ids_, map.ids)]]
    WITH [[has_map_ && !@MUTANT@ && !can_be_one_cluster(ids_, map.ids)]]
)
colock_mutant(
    NAME another_cluster_without_quarantine
    WHAT "another cluster is not quarantined when its map is followed"
    FILE test/simulation/route.cpp
    FIND [[barred_until_ = end_of_quarantine(client_.now());]]
    WITH [[barred_until_ = @MUTANT@ ? client_.now() : end_of_quarantine(client_.now());]]
)
colock_mutant(
    NAME replaced_server_is_trusted
    WHAT "a server that replaces another one grants before it has reported its map"
    FILE test/simulation/route.cpp
    FIND [[doubted_ = true;]]
    WITH [[doubted_ = !@MUTANT@;]]
)
colock_mutant(
    NAME all_notice_at_once
    WHAT "the quarantine assumes that all clients notice a failover immediately"
    FILE src/instance/redis/promotion.hpp
    FIND [[return named + noticed_within;]]
    WITH [[return named + (@MUTANT@ ? core::duration{} : noticed_within);]]
)
colock_mutant(
    NAME first_seen_long_ago
    WHAT "the quarantine of a promoted master starts before its promotion"
    FILE src/instance/redis/promotion.hpp
    FIND [[return terms_.try_emplace(term, now).first->second;]]
    WITH [[return terms_.try_emplace(term, @MUTANT@ ? now - length : now).first->second;]]
)
colock_mutant(
    NAME minority_of_the_sentinels
    WHAT "the report of an isolated Sentinel is trusted"
    FILE src/instance/redis/agreed_master.cpp
    FIND [[= opinions.size() / 2 + 1;]]
    WITH [[= @MUTANT@ ? 1 : opinions.size() / 2 + 1;]]
)
colock_mutant(
    NAME contradiction_is_ignored
    WHAT "the old master is used until a majority of the Sentinels is reachable"
    FILE src/instance/redis/agreed_master.cpp
    FIND [[return std::ranges::any_of(]]
    WITH [[return !@MUTANT@ && std::ranges::any_of(]]
)
colock_mutant(
    NAME wait_is_ignored
    WHAT "a grant counts even if too few replicas have acknowledged it"
    FILE src/instance/redis/promotion.hpp
    FIND [[return acked >= wanted ?]]
    WITH [[return acked >= wanted || @MUTANT@ ?]]
)

# --- After the end ------------------------------------------------------------------------------------------

colock_mutant(
    NAME extend_after_release
    WHAT "an unsent extend is sent after the release of its lease"
    FILE src/core/lease.cpp
    FIND [[return renewed();  // these stop]]
    WITH [[return renewed() || @MUTANT@;  // these stop]]
)
colock_mutant(
    NAME acquire_after_give_back
    WHAT "an unsent acquire is sent after its attempt was rolled back"
    FILE src/core/lease.cpp
    FIND [[return acquiring() || renewed();]]
    WITH [[return acquiring() || renewed() || @MUTANT@;]]
)
colock_mutant(
    NAME no_end_of_validity
    WHAT "a renewal that is won too late revives a lease"
    FILE src/core/renew.cpp
    FIND [[round_->votes.won() && now < valid_until_ && now < in_time) {]]
    WITH [[round_->votes.won() && ((now < valid_until_ && now < in_time) || @MUTANT@)) {]]
)

colock_mutant(
    NAME released_at_the_loss
    WHAT "a lost lease is released before its holder can stop"
    FILE src/core/lease.cpp
    FIND [[(e.kind == kind::timer && now >= watchdog().valid_until())]]
    WITH [[@MUTANT@ || (e.kind == kind::timer && now >= watchdog().valid_until())]]
)
colock_mutant(
    NAME max_hold_promises_too_much
    WHAT "the reported validity ignores max_hold"
    FILE src/core/renew.hpp
    FIND [[return std::min(valid_until_, max_hold_end());]]
    WITH [[return @MUTANT@ ? valid_until_ : std::min(valid_until_, max_hold_end());]]
)

# --- The watchdog -------------------------------------------------------------------------------------------

colock_mutant(
    NAME heals_before_quorum
    WHAT "a key is restored although the round is not won"
    FILE src/core/renew.cpp
    FIND [[if (!round_ || !round_->won) {]]
    WITH [[if (!round_ || (!round_->won && !@MUTANT@)) {]]
)
colock_mutant(
    NAME votes_of_any_round
    WHAT "a vote on an earlier renewal counts for the latest one"
    FILE src/core/renew.cpp
    FIND [[if (!round_ || e.round != round_number_) {]]
    WITH [[if (!round_ || (e.round != round_number_ && !@MUTANT@)) {]]
)
colock_mutant(
    NAME extend_shortens
    WHAT "a late extend shortens the life of a key"
    FILE src/kinds/extend.lua
    FIND [[    if redis.call('pttl', key) < ttl and ttl > 0 then
        redis.call('pexpire', key, ttl)
    end]]
    WITH [[    redis.call('pexpire', key, ttl)]]
)
colock_mutant(
    NAME extend_recreates
    WHAT "an extend creates a missing key"
    FILE src/kinds/extend.lua
    FIND [[local value = redis.pcall('get', key)]]
    WITH [[local value = redis.pcall('get', key)
if value == false then
    redis.call('set', key, token, 'px', ttl)
    return 1
end]]
)
colock_mutant(
    NAME loss_without_notice
    WHAT "a loss is reported only when the validity has ended"
    FILE src/core/validity.hpp
    FIND [[: std::min<duration>(ttl / 20, milliseconds(500));]]
    WITH [[: @MUTANT@ ? duration{} : std::min<duration>(ttl / 20, milliseconds(500));]]
)
colock_mutant(
    NAME never_renews
    WHAT "the watchdog never renews"
    FILE src/core/renew.cpp
    FIND [[if (now >= next_renewal_) {]]
    WITH [[if (now >= next_renewal_ && !@MUTANT@) {]]
)
colock_mutant(
    NAME one_denial_is_a_loss
    WHAT "one missing key loses the lease"
    FILE src/core/renew.cpp
    FIND [[if (round_->votes.denied() > spare_of(settings_.instances)) {
        return lose(loss::keys_gone);
    }
    if (round_->votes.impossible()]]
    WITH [[if (round_->votes.denied() > (@MUTANT@ ? 0 : spare_of(settings_.instances))) {
        return lose(loss::keys_gone);
    }
    if (round_->votes.impossible()]]
)
colock_mutant(
    NAME max_hold_ignored
    WHAT "max_hold is ignored"
    FILE src/core/renew.hpp
    FIND [[return settings_.max_hold > duration::zero() ?]]
    WITH [[return settings_.max_hold > duration::zero() && !@MUTANT@ ?]]
)

# --- Fences -------------------------------------------------------------------------------------------------

colock_mutant(
    NAME no_second_round
    WHAT "the largest fence of a quorum is not written back if the counters differ"
    FILE src/core/lease.cpp
    FIND [[if (agreed.reached) {]]
    WITH [[if (agreed.reached || @MUTANT@) {]]
)
colock_mutant(
    NAME majority_of_the_granted
    WHAT "a fence needs a majority of the instances that granted, not of all"
    FILE src/core/lease.cpp
    FIND [[if (votes_.won()) {]]
    WITH [[if (votes_.won() || (@MUTANT@ && status_ == status::raising &&
                             votes_.granted() >= quorum_of(quorum_of(settings_->instances)))) {]]
)
colock_mutant(
    NAME fence_of_the_first_grant
    WHAT "the fence is the first counter that was granted, not the largest"
    FILE src/core/agreement.cpp
    FIND [[result.value = std::max(result.value, value);]]
    WITH [[result.value = @MUTANT@ && result.value != 0 ? result.value : std::max(result.value, value);]]
)
colock_mutant(
    NAME raise_without_token_check
    WHAT "an instance acknowledges a fence although another holder has its key"
    FILE src/kinds/fenced/fence.lua
    FIND [[elseif not holds(key, token, value) then]]
    WITH [[elseif value == false then]]
)
colock_mutant(
    NAME counter_after_the_key
    WHAT "the key is created before the counter is checked"
    FILE src/kinds/fenced/fence.lua
    FIND [[local counter = move_on(]]
    WITH [[if ARGV[2] ~= '0' then
    redis.call('set', key, token, 'px', ARGV[2])
end
local counter = move_on(]]
)
colock_mutant(
    NAME counters_begin_at_one
    WHAT "a lost counter starts again at one instead of the time"
    FILE src/kinds/fenced/fence_counter.lua
    FIND [[counter = math.max(second + time[2], least)]]
    WITH [[counter = math.max(1, least)]]
)
colock_mutant(
    NAME reader_believes_an_old_counter
    WHAT "a reader uses a counter that may have been restored from older data"
    FILE src/kinds/fenced/fence_counter.lua
    FIND [[(is_counted and 1 or 0), second)]]
    WITH [[(is_counted and 1 or 0), is_counted and second or 0)]]
)
colock_mutant(
    NAME second_round_from_the_reply
    WHAT "the validity starts with the second round"
    FILE src/core/lease.cpp
    FIND [[    status_ = status::raising;]]
    WITH [[    status_ = status::raising;
    sent_ = @MUTANT@ ? now : sent_;]]
)

# --- Timeouts -----------------------------------------------------------------------------------------------

colock_mutant(
    NAME waits_for_the_silent
    WHAT "an attempt waits indefinitely for a silent instance"
    FILE src/core/lease.cpp
    FIND [[if (now >= asked_ + settings_->instance_timeout) {
                votes_.fail_silent(failure::timeout);
            } else]]
    WITH [[if (@MUTANT@) {
                return {};
            }
            if (now >= asked_ + settings_->instance_timeout) {
                votes_.fail_silent(failure::timeout);
            } else]]
)
colock_mutant(
    NAME deadline_ignored
    WHAT "an acquire makes attempts after the caller's deadline"
    FILE src/core/acquire.cpp
    FIND [[if (now >= settings_.deadline) {
        return fail(*last_outcome_);
    }
    if (now >= backoff_end_]]
    WITH [[if (now >= settings_.deadline && !@MUTANT@) {
        return fail(*last_outcome_);
    }
    if (now >= backoff_end_]]
)

colock_mutant(
    NAME silence_is_a_denial
    WHAT "an acquire reports contended at its deadline without a denial"
    FILE src/core/lease.cpp
    FIND [[votes_.denied() != 0 ? acquire_outcome::contended]]
    WITH [[votes_.denied() != 0 || @MUTANT@ ? acquire_outcome::contended]]
)
colock_mutant(
    NAME front_is_always_in_the_way
    WHAT "a reader behind another reader of its client reports contended"
    FILE src/runtime/operations/acquire_operation.cpp
    FIND [[return queue_->local().has_rival_before(*this) ?]]
    WITH [[return queue_->local().has_rival_before(*this) || @MUTANT@ ?]]
)

# --- Abandoned leases ---------------------------------------------------------------------------------------

colock_mutant(
    NAME abandoned_is_released
    WHAT "a lease that is abandoned is released"
    FILE src/core/lease.cpp
    FIND [[        case kind::abandon:
            return abandon();]]
    WITH [[        case kind::abandon:
            return @MUTANT@ ? begin_release(promised_until(), now) : abandon();]]
)
colock_mutant(
    NAME abandoned_is_renewed
    WHAT "a renewal is sent after its lease was abandoned"
    FILE src/core/lease.cpp
    FIND [[        case purpose::extend:
        case purpose::heal:
            break;
    }]]
    WITH [[        case purpose::extend:
        case purpose::heal:
            if (@MUTANT@ && abandoned()) {
                return true;
            }
            break;
    }]]
)
colock_mutant(
    NAME abandoned_without_successor
    WHAT "no waiter follows a lease that was abandoned"
    FILE src/core/lease.cpp
    FIND [[    step.let_go = true;
    step.ended = true;]]
    WITH [[    step.let_go = !@MUTANT@;
    step.ended = true;]]
)

# --- Owners -------------------------------------------------------------------------------------------------

colock_mutant(
    NAME another_owner_enters
    WHAT "another owner enters the lease of an owner"
    FILE src/runtime/key/lease_driver.hpp
    FIND [[return held_for_.is_same_owner(who) && machine_.held();]]
    WITH [[return (held_for_.is_same_owner(who) || @MUTANT@) && machine_.held();]]
)
colock_mutant(
    NAME owner_holds_anew_after_a_loss
    WHAT "an owner that has lost its lease acquires the lock again before it lets go"
    FILE src/runtime/key/key_queue.cpp
    FIND [[if (who.reenters && client_.owners.has_lost(who, lock->key)) {]]
    WITH [[if (who.reenters && client_.owners.has_lost(who, lock->key) && !@MUTANT@) {]]
)
colock_mutant(
    NAME owner_enters_when_it_is_over
    WHAT "an owner enters its lease after the end of the validity"
    FILE src/runtime/key/key_queue.cpp
    FIND [[} else if (lease.is_over(newcomer.arrived())) {]]
    WITH [[} else if (lease.is_over(newcomer.arrived()) && !@MUTANT@) {]]
)
colock_mutant(
    NAME owner_is_lost_for_ever
    WHAT "an owner that has let go of a lost lease is refused"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[        client_.owners.remove_lost(held_for_, *this);
]]
    WITH [[        if (!@MUTANT@) {
            client_.owners.remove_lost(held_for_, *this);
        }
]]
)
colock_mutant(
    NAME owner_releases_with_the_first
    WHAT "the first entry that is released releases the lock of its owner"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[    if (holders_.leaves_others(holder, was_lost())) {
        release_share(holder);
        return false;]]
    WITH [[    if (holders_.leaves_others(holder, was_lost()) && !(@MUTANT@ && held_for_.reenters)) {
        release_share(holder);
        return false;]]
)
colock_mutant(
    NAME inner_release_stops_the_watchdog
    WHAT "the release of an inner entry stops the watchdog"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[        return;  // it has let go before
    }]]
    WITH [[        return;  // it has let go before
    }
    if (@MUTANT@ && held_for_.reenters) {
        client_.alarms.stop_waiting(*this);
    }]]
)
colock_mutant(
    NAME inner_extension_shortens
    WHAT "an extension by one entry shortens the lease of the others"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[return admission().shares_lease() || held_for_.reenters
]]
    WITH [[return admission().shares_lease() || (held_for_.reenters && !@MUTANT@)
]]
)
colock_mutant(
    NAME entry_prolongs_max_hold
    WHAT "max_hold counts from the last entry"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[    holders_.add(now);
]]
    WITH [[    holders_.add(now);
    if (@MUTANT@ && held_for_.reenters && !policy().lease.value_per_holder) {
        static_cast<void>(
            machine_.resume(event::just(event::kind_type::next_holder), client_.turn.now()));
    }
]]
)
colock_mutant(
    NAME owner_not_handed_on
    WHAT "a lease that is handed off has no owner"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[    hold_for(next);]]
    WITH [[    hold_for(@MUTANT@ ? ownership() : next);]]
)
colock_mutant(
    NAME owner_left_behind
    WHAT "the other waiters of an owner stay in the queue when it gets the lock"
    FILE src/runtime/key/key_queue.cpp
    FIND [[    if (!client_.owners.has_waiters(who)) {]]
    WITH [[    if (!client_.owners.has_waiters(who) || @MUTANT@) {]]
)
colock_mutant(
    NAME would_deadlock_for_a_waiter
    WHAT "an acquire is refused although its owner only waits"
    FILE src/runtime/key/key_queue.cpp
    FIND [[    if (lease_driver* const own = held_for(newcomer.acts_for())) {]]
    WITH [[    if (@MUTANT@ && client_.owners.has_waiters({newcomer.acts_for().owner, true})) {
        newcomer.fail_as(core::acquire_outcome::would_deadlock, "only waits");
        return;
    }
    if (lease_driver* const own = held_for(newcomer.acts_for())) {]]
)
colock_mutant(
    NAME owner_waits_for_itself
    WHAT "a mutex waits for its own owner"
    FILE src/runtime/key/key_queue.cpp
    FIND [[        enter_again(newcomer, *own);
    } else if (]]
    WITH [[        if (!@MUTANT@ || newcomer.acts_for().reenters) {
            enter_again(newcomer, *own);
            return;
        }
    }
    if (]]
)
colock_mutant(
    NAME entered_with_other_fencing
    WHAT "a lock without fencing enters a lease with a fence"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[by.policy->lease.value_per_holder == policy().lease.value_per_holder;]]
    WITH [[(@MUTANT@ || by.policy->lease.value_per_holder == policy().lease.value_per_holder);]]
)

# --- Hand-off ----------------------------------------------------------------------------------------------

colock_mutant(
    NAME hand_off_the_rest
    WHAT "a lease is handed off even if little of its validity is left"
    FILE src/core/lease.cpp
    FIND [[watchdog().valid_until() - now >= settings_->ttl / 2 &&
           watchdog().loss_time() - now >= settings_->ttl / 4;]]
    WITH [[((watchdog().valid_until() - now >= settings_->ttl / 2 &&
             watchdog().loss_time() - now >= settings_->ttl / 4) || @MUTANT@);]]
)
colock_mutant(
    NAME max_hold_of_the_former
    WHAT "the next holder may hold a lease only for the rest of max_hold"
    FILE src/core/renew.hpp
    FIND [[{ granted_at_ = now; }]]
    WITH [[{ granted_at_ = @MUTANT@ ? granted_at_ : now; }]]
)
colock_mutant(
    NAME handed_off_without_asking
    WHAT "a fenced lease is handed off with the next number without a round"
    FILE src/core/lease.cpp
    FIND [[if (!votes_.won()) {]]
    WITH [[if (@MUTANT@) {
        ++value_;
        return hand_off(now);
    }
    if (!votes_.won()) {]]
)
colock_mutant(
    NAME one_fence_for_all
    WHAT "the next holder gets the fence of the former holder"
    FILE src/core/lease.cpp
    FIND [[value_ = next_value_;
    return hand_off(now);]]
    WITH [[value_ = @MUTANT@ ? value_ : next_value_;
    return hand_off(now);]]
)
colock_mutant(
    NAME handed_off_without_second_round
    WHAT "a fence for the next holder is not written back if the counters differ"
    FILE src/core/lease.cpp
    FIND [[if (status_ == status::counting && !take_next_value()) {]]
    WITH [[if (status_ == status::counting && !take_next_value() && !@MUTANT@) {]]
)
colock_mutant(
    NAME handed_off_when_it_is_over
    WHAT "a lease is handed off although its validity has ended during the round"
    FILE src/core/lease.cpp
    FIND [[votes_.impossible() || now >= watchdog().loss_time()) {]]
    WITH [[votes_.impossible() || (now >= watchdog().loss_time() && !@MUTANT@)) {]]
)

colock_mutant(
    NAME shared_without_asking
    WHAT "a share of a fenced lease gets the fence of the lease without a round"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[if (!spec().policy->lease.value_per_holder) {]]
    WITH [[if (!spec().policy->lease.value_per_holder || @MUTANT@) {]]
)
colock_mutant(
    NAME shared_with_an_old_fence
    WHAT "a reader shares a fenced lease that was confirmed before the reader arrived"
    FILE src/runtime/key/key_queue.cpp
    FIND [[newcomer.arrived() > confirmed_]]
    WITH [[newcomer.arrived() > confirmed_ && !@MUTANT@]]
)

# --- The engine and its queues ------------------------------------------------------------------------------

colock_mutant(
    NAME next_waiter_not_woken
    WHAT "the next waiter of a client is not woken by a release"
    FILE src/runtime/key/key_queue.cpp
    FIND [[        next_.push_back(std::move(next));
]]
    WITH [[        if (!@MUTANT@) {
            next_.push_back(std::move(next));
        }
]]
)
colock_mutant(
    NAME cancelled_without_successor
    WHAT "no waiter follows a waiter that is cancelled in its attempt"
    FILE src/runtime/key/key_queue.cpp
    FIND [[    leave(one, outcome);
    leave_place(one);
    client_.queues.advance(*this);]]
    WITH [[    leave(one, outcome);
    leave_place(one);
    if (@MUTANT@ && outcome == core::acquire_outcome::cancelled && !local_.empty()) {
        acquire_operation& forgotten = front();
        remove(forgotten);
        local_.enter(forgotten);
        forgotten.become_next();
    } else {
        client_.queues.advance(*this);
    }]]
)
colock_mutant(
    NAME served_out_of_order
    WHAT "the latest waiter is served first"
    FILE src/runtime/key/local_queue.hpp
    FIND [[waiters_.push_back(last);]]
    WITH [[waiters_.insert(@MUTANT@ ? waiters_.begin() : waiters_.end(), last);]]
)
colock_mutant(
    NAME handed_off_when_lost
    WHAT "a lost lease is handed off"
    FILE src/core/lease.cpp
    FIND [[return status_ == status::held && settings_->renew_interval]]
    WITH [[return (status_ == status::held || (@MUTANT@ && status_ == status::lost)) && settings_->renew_interval]]
)
colock_mutant(
    NAME handed_off_too_often
    WHAT "handoff_limit is ignored"
    FILE src/core/client_hold.hpp
    FIND [[return handoffs < bounds.limit &&]]
    WITH [[return (handoffs < bounds.limit || @MUTANT@) &&]]
)
colock_mutant(
    NAME handed_off_for_too_long
    WHAT "handoff_time is ignored"
    FILE src/core/client_hold.hpp
    FIND [[now - since_ < bounds.time;]]
    WITH [[(now - since_ < bounds.time || @MUTANT@);]]
)
colock_mutant(
    NAME handed_off_to_anybody
    WHAT "a lease is handed off to a waiter with another ttl"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[wanted.policy->lease == spec_->policy->lease]]
    WITH [[(wanted.policy->lease == spec_->policy->lease || @MUTANT@)]]
)
colock_mutant(
    NAME former_holder_releases
    WHAT "a former holder can release a lease that it has handed off"
    FILE src/runtime/key/holders.hpp
    FIND [[        if (!several_) {
            return holder != latest();]]
    WITH [[        if (!several_) {
            return holder != latest() && !@MUTANT@;]]
)
colock_mutant(
    NAME timer_not_moved_forward
    WHAT "an earlier timer does not move the next wake-up forward"
    FILE src/runtime/loop/timers.hpp
    FIND [[if (until < armed_for_) {]]
    WITH [[if (until < armed_for_ && (!@MUTANT@ || armed_for_ == core::never)) {]]
)
colock_mutant(
    NAME closed_before_the_releases
    WHAT "a client closes its connections immediately"
    FILE src/runtime/engine.cpp
    FIND [[if (parts_.closing && !closed_ && !any_lease(is_open)) {]]
    WITH [[if (parts_.closing && !closed_ && (@MUTANT@ || !any_lease(is_open))) {]]
)
colock_mutant(
    NAME queue_never_looks_again
    WHAT "a waiter in the remote queue relies only on notifications"
    FILE src/core/queue_ticket.cpp
    FIND [[    status_ = status::looking;
    return ask_position(true, now);]]
    WITH [[    if (@MUTANT@) {
        joined_ = now;
        return wait(advice::none);
    }
    status_ = status::looking;
    return ask_position(true, now);]]
)

colock_mutant(
    NAME waiter_asks_often
    WHAT "a long-waiting client rejoins the queue as often as at first"
    FILE src/core/queue_ticket.hpp
    FIND [[while (step * result <= std::min(waited, longest_refresh)) {]]
    WITH [[while (step * result <= std::min(waited, longest_refresh) && !@MUTANT@) {]]
)
colock_mutant(
    NAME told_by_one
    WHAT "a waiter still relies on notifications after one instance has sent one"
    FILE src/core/acquire.cpp
    FIND [[if (std::exchange(relying_, false)) {]]
    WITH [[if (std::exchange(relying_, false) && !@MUTANT@) {]]
)
colock_mutant(
    NAME ticket_is_left_behind
    WHAT "a client that cannot reach the queue server does not remove its ticket later"
    FILE src/runtime/key/ticket.cpp
    FIND [[} else if (now < machine_.ticket_end() && !client_.closing) {]]
    WITH [[} else if (now < machine_.ticket_end() && !client_.closing && !@MUTANT@) {]]
)

# --- Readers and writers ------------------------------------------------------------------------------------

colock_mutant(
    NAME mark_is_ignored
    WHAT "readers enter although a writer mark is set"
    FILE src/kinds/shared/share.lua
    FIND [[if is_marked(set) then]]
    WITH [[if false then]]
)
colock_mutant(
    NAME no_mark
    WHAT "a denied writer sets no writer mark"
    FILE src/kinds/shared/claim.lua
    FIND [[local life = tonumber(ARGV[1])]]
    WITH [[local life = 0]]
)
colock_mutant(
    NAME one_mark_for_all
    WHAT "a writer mark replaces those of other writers"
    FILE src/kinds/lock_key.lua
    FIND [[    redis.call('zadd', key, score, member)]]
    WITH [[    if score < 0 then
        redis.call('zremrangebyscore', key, '-inf', 0)
    end
    redis.call('zadd', key, score, member)]]
)
colock_mutant(
    NAME mark_of_another_taken
    WHAT "a writer that stops waiting removes the writer marks of others"
    FILE src/kinds/shared/unmark.lua
    FIND [[remove(KEYS[1], set, mark)]]
    WITH [[if set.readers > set.now then
    redis.call('zremrangebyscore', KEYS[1], '-inf', 0)
else
    redis.call('del', KEYS[1])
end]]
)
colock_mutant(
    NAME mark_before_its_turn
    WHAT "a writer sets its writer mark before it joins the remote queue"
    FILE src/runtime/operations/acquire_operation.cpp
    FIND [[machine_->attempts() == 1 && can_join_remote_queue(),]]
    WITH [[machine_->attempts() == 1 && can_join_remote_queue() && !@MUTANT@,]]
)
colock_mutant(
    NAME mark_of_a_guess
    WHAT "a writer sets its writer mark although others are ahead in the remote queue"
    FILE src/runtime/operations/acquire_operation.cpp
    FIND [[.is_first = ticket != nullptr && ticket->is_first(),]]
    WITH [[.is_first = ticket != nullptr && (ticket->is_first() || @MUTANT@),]]
)
colock_mutant(
    NAME first_writer_leaves_no_mark
    WHAT "a writer at the head of the remote queue attempts only after a notification"
    FILE src/runtime/key/ticket.cpp
    FIND [[settings.attempts_while_held = policy.kind().announces() || policy.admission().leaves_room();]]
    WITH [[settings.attempts_while_held =
        (policy.kind().announces() && !@MUTANT@) || policy.admission().leaves_room();]]
)
colock_mutant(
    NAME mark_is_left
    WHAT "a cancelled writer does not remove its writer mark"
    FILE src/runtime/operations/acquire_operation.cpp
    FIND [[queue_->withdraw(spec_, lease_->without_key(), loop_.turn.now());]]
    WITH [[queue_->withdraw(spec_, @MUTANT@ ? core::instance_set() : lease_->without_key(), loop_.turn.now());]]
)
colock_mutant(
    NAME mark_is_left_by_a_holder
    WHAT "a released writer does not remove its writer mark where a reader had kept it out"
    FILE src/runtime/key/key_queue.cpp
    FIND [[lease.shared_spec(), lease.without_key(), now);]]
    WITH [[lease.shared_spec(), @MUTANT@ ? core::instance_set() : lease.without_key(), now);]]
)
colock_mutant(
    NAME mark_from_before_a_jump
    WHAT "a writer mark lives longer if the clock is set back"
    FILE src/kinds/lock_key.lua
    FIND [[return mark_ends > set.now and mark_ends <= set.now + longest_mark]]
    WITH [[return mark_ends > set.now]]
)
colock_mutant(
    NAME reader_joins_a_writer
    WHAT "a reader enters while a writer holds the lock"
    FILE src/kinds/shared/share.lua
    FIND [[(not is_reader(value) or left < 0)]]
    WITH [[left < 0]]
)
colock_mutant(
    NAME claim_removes_readers
    WHAT "a writer removes live readers"
    FILE src/kinds/shared/claim.lua
    FIND [[if set.readers <= set.now then]]
    WITH [[if set then]]
)
colock_mutant(
    NAME share_takes_all
    WHAT "the release of one reader deletes the shares of the others"
    FILE src/kinds/lock_key.lua
    FIND [[    if readers == 0 and marks == 0 then]]
    WITH [[    if set then]]
)
colock_mutant(
    NAME released_with_the_first
    WHAT "a lease is released although other readers of the client hold it"
    FILE src/runtime/key/holders.hpp
    FIND [[return several_->count() != 0 ||]]
    WITH [[return (several_->count() != 0 && !@MUTANT@) ||]]
)
colock_mutant(
    NAME shared_for_ever
    WHAT "a lease is shared with new readers without a time limit"
    FILE src/runtime/key/key_queue.cpp
    FIND [[!latest.held_by_client().may_hand_off(0, wanted.policy->handoff, now)]]
    WITH [[(!@MUTANT@ && !latest.held_by_client().may_hand_off(0, wanted.policy->handoff, now))]]
)
colock_mutant(
    NAME reader_overtakes
    WHAT "a reader overtakes the waiters of its client"
    FILE src/runtime/key/local_queue.hpp
    FIND [[return waiters_.empty() && may_begin(newcomer);]]
    WITH [[return (waiters_.empty() || @MUTANT@) && may_begin(newcomer);]]
)
colock_mutant(
    NAME waiting_writer_sleeps
    WHAT "a waiting writer makes no attempt before its writer mark expires"
    FILE src/core/acquire.cpp
    FIND [[settings_.attempt_interval == duration::zero()]]
    WITH [[(settings_.attempt_interval == duration::zero() || @MUTANT@)]]
)
colock_mutant(
    NAME queued_reader_sleeps
    WHAT "a reader waits indefinitely for its turn in the remote queue"
    FILE src/runtime/operations/acquire_operation.cpp
    FIND [[return announces() || admission().is_unlimited();]]
    WITH [[return announces() || (admission().is_unlimited() && !@MUTANT@);]]
)
colock_mutant(
    NAME parked_reader_sleeps
    WHAT "a denied reader waits indefinitely for its turn in the remote queue"
    FILE src/core/acquire.cpp
    FIND [[settings_.longest_parking == duration::zero()]]
    WITH [[(settings_.longest_parking == duration::zero() || @MUTANT@)]]
)
colock_mutant(
    NAME downgrade_admits_at_once
    WHAT "readers of the client enter before a quorum has answered the downgrade"
    FILE src/runtime/key/key_queue.cpp
    FIND [[            hand_off(lease, now);
        } else if (]]
    WITH [[            hand_off(lease, now);
        } else if (@MUTANT@ && lease.is_downgraded()) {
            become_shared(lease, now);
        } else if (]]
)
colock_mutant(
    NAME downgrade_without_quorum
    WHAT "readers of the client enter although the downgrade has failed"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[(success && asker->is_downgrade());]]
    WITH [[((success || @MUTANT@) && asker->is_downgrade());]]
)
colock_mutant(
    NAME downgrade_is_an_extend
    WHAT "an instance handles a downgrade as a renewal of the writer's lease"
    FILE src/kinds/extend.lua
    FIND [[if is_former(value, token) then]]
    WITH [[if is_former(value, token) then
    redis.call('pexpire', key, math.max(ttl, redis.call('pttl', key)))
    return 1
end
if is_former(value, token) then]]
)
colock_mutant(
    NAME downgrade_as_a_writer
    WHAT "a downgrade is sent with the writer's token"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[return is_downgraded() ? token_]]
    WITH [[return is_downgraded() && !@MUTANT@ ? token_]]
)
colock_mutant(
    NAME downgraded_is_exclusive
    WHAT "the readers of the client wait behind a downgraded lease"
    FILE src/runtime/key/key_queue.cpp
    FIND [[    local_.hold_as(lease);
    lease.share_since(now);]]
    WITH [[    if (!@MUTANT@) {
        local_.hold_as(lease);
    }
    lease.share_since(now);]]
)
colock_mutant(
    NAME left_without_a_word
    WHAT "a downgraded writer does not leave the remote queue"
    FILE src/runtime/key/ticket.cpp
    FIND [[const core::time_point now = client_.turn.now();
    client_.contention.step_aside]]
    WITH [[if (@MUTANT@) {
        forget_if_over();
        return;
    }
    const core::time_point now = client_.turn.now();
    client_.contention.step_aside]]
)
colock_mutant(
    NAME downgrade_without_end
    WHAT "a downgrade of a lost lease never completes"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[    end_loss_waiters(lease_result::ended);
    end_operations();]]
    WITH [[    end_loss_waiters(lease_result::ended);
    if (!@MUTANT@) {
        end_operations();
    }]]
)
colock_mutant(
    NAME second_downgrade_forgotten
    WHAT "a downgrade that is requested during another never starts"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[if (step.extended && !rare_->extends.empty()) {]]
    WITH [[if (step.extended && !rare_->extends.empty() && !@MUTANT@) {]]
)
colock_mutant(
    NAME second_downgrade_admits_again
    WHAT "a second downgrade restarts the time in which readers share the lease"
    FILE src/runtime/key/key_queue.cpp
    FIND [[    if (local_.held_as().shares_lease()) {
        return;]]
    WITH [[    if (local_.held_as().shares_lease() && !(@MUTANT@ && ticket_ == nullptr)) {
        return;]]
)
colock_mutant(
    NAME shared_by_options_of_the_downgrade
    WHAT "a downgraded lease is shared with readers that have the downgrade's options"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[wanted.policy->lease == options &&]]
    WITH [[wanted.policy->lease == (@MUTANT@ ? spec().policy->lease : options) &&]]
)
colock_mutant(
    NAME released_as_a_writer
    WHAT "a downgraded lease is released with its writer's token"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[command.token = held_as();]]
    WITH [[command.token = @MUTANT@ && tag.purpose() == purpose::release ? token_.view() : held_as();]]
)
colock_mutant(
    NAME writer_shares
    WHAT "a writer's lease is shared with another holder"
    FILE src/runtime/operations/lease_operation.cpp
    FIND [[} else if (!lease().spec().admission().shares_lease()) {]]
    WITH [[} else if (!lease().spec().admission().shares_lease() && !@MUTANT@) {]]
)
colock_mutant(
    NAME downgraded_says_writer
    WHAT "a downgraded lease still reports that it is a writer's"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[first_reader_.store(asker.holder(), std::memory_order_release);]]
    WITH [[first_reader_.store(@MUTANT@ ? no_holder : asker.holder(), std::memory_order_release);]]
)
colock_mutant(
    NAME released_share_is_counted
    WHAT "a released share counts as held"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[    if (!lost) {
        ++client_.counts.released;
        --client_.counts.held;]]
    WITH [[    if (!lost && !@MUTANT@) {
        ++client_.counts.released;
        --client_.counts.held;]]
)
colock_mutant(
    NAME given_up_without_successor
    WHAT "readers still wait behind a writer that has given up in the local queue"
    FILE src/runtime/key/key_queue.cpp
    FIND [[client_.queues.advance(*this);  // readers behind a writer may enter now]]
    WITH [[if (!@MUTANT@) {
                client_.queues.advance(*this);
            }]]
)
colock_mutant(
    NAME renewal_for_all_readers
    WHAT "the renewal of one reader prolongs the shares of the others"
    FILE src/kinds/extend.lua
    FIND [[    redis.call('zadd', key, ends, token)
]]
    WITH [[    for _, one in ipairs(redis.call('zrange', key, 0, -1)) do
        if is_reader(one) then
            redis.call('zadd', key, ends, one)
        end
    end
]]
)
colock_mutant(
    NAME renewal_of_the_key_alone
    WHAT "the renewal of a reader prolongs the key, but not the share"
    FILE src/kinds/extend.lua
    FIND [[    redis.call('zadd', key, ends, token)
]]
    WITH [[]]
)
colock_mutant(
    NAME dead_reader_stays
    WHAT "an expired reader still counts as a holder of the key"
    FILE src/kinds/lock_key.lua
    FIND [[return ends and tonumber(ends) > set.now and tonumber(ends) or nil]]
    WITH [[return ends and tonumber(ends) or nil]]
)
colock_mutant(
    NAME key_outlives_its_readers
    WHAT "a key lives as long as the share of a reader that has left"
    FILE src/kinds/lock_key.lua
    FIND [[    end_at(key, set, math.max(readers, marks))
]]
    WITH [[]]
)
colock_mutant(
    NAME newcomer_shortens_the_others
    WHAT "the shares of a key expire no later than the newest one"
    FILE src/kinds/lock_key.lua
    FIND [[    redis.call('zadd', key, score, member)]]
    WITH [[    for _, one in ipairs(redis.call('zrange', key, 0, -1)) do
        if score > 0 and is_reader(one) then
            redis.call('zadd', key, math.min(score, redis.call('zscore', key, one)), one)
        end
    end
    redis.call('zadd', key, score, member)]]
)
colock_mutant(
    NAME key_lives_with_the_newest
    WHAT "a key expires with its newest share although others last longer"
    FILE src/kinds/lock_key.lua
    FIND [[end_at(key, set, math.max(readers, marks, ends))]]
    WITH [[end_at(key, set, ends)]]
)
colock_mutant(
    NAME late_extend_shortens_a_share
    WHAT "a late extend shortens the share of a reader"
    FILE src/kinds/extend.lua
    FIND [[if ends > held then]]
    WITH [[if held then]]
)
colock_mutant(
    NAME readers_enter_one_by_one
    WHAT "a reader does not enter while another reader holds the lock"
    FILE src/kinds/shared/shared.cpp
    FIND [[return command.contended || command.heals || is_fenced();]]
    WITH [[return (command.contended || command.heals || is_fenced()) && !@MUTANT@;]]
)
colock_mutant(
    NAME mark_keeps_one_out
    WHAT "a writer mark keeps only one reader out"
    FILE src/kinds/shared/share.lua
    FIND [[        return -2]]
    WITH [[        redis.call('zremrangebyscore', key, '-inf', 0)
        return -2]]
)
colock_mutant(
    NAME mark_renewed_by_readers
    WHAT "a denied reader prolongs the writer mark"
    FILE src/kinds/shared/share.lua
    FIND [[        return -2]]
    WITH [[        redis.call('pexpire', key, math.max(set.ends - set.now, longest_mark))
        redis.call('zadd', key, -(set.now + longest_mark), redis.call('zrange', key, 0, 0)[1])
        return -2]]
)

# --- Semaphores ---------------------------------------------------------------------------------------------

colock_mutant(
    NAME numbers_need_not_agree
    WHAT "a quorum of permits counts although their numbers differ"
    FILE src/core/agreement.cpp
    FIND [[        if (equal >= quorum) {
            return {.value = *first};]]
    WITH [[        if (equal >= quorum || @MUTANT@) {
            return {.value = *first};]]
)
colock_mutant(
    NAME raise_to_the_largest
    WHAT "another round for a permit asks for the largest number of the last one"
    FILE src/core/agreement.cpp
    FIND [[.value = values[quorum - 1],]]
    WITH [[.value = @MUTANT@ ? values.back() : values[quorum - 1],]]
)
colock_mutant(
    NAME lists_compared_by_the_first_number
    WHAT "grants of several permits agree if their first numbers do"
    FILE src/core/agreement.cpp
    FIND [[static_cast<std::size_t>(std::ranges::count(texts, text));]]
    WITH [[static_cast<std::size_t>(std::ranges::count_if(texts, [&](const std::string& other) {
            return other == text || (@MUTANT@ && list_in(other).front() == list_in(text).front());
        }));]]
)
colock_mutant(
    NAME vote_of_an_older_round_counts
    WHAT "a grant of an earlier round of an attempt counts for the latest one"
    FILE src/core/lease.cpp
    FIND [[if (e.tag != latest_ || !votes_.record(e.index, *e.vote)) {]]
    WITH [[if ((e.tag != latest_ && !(@MUTANT@ && e.vote->kind == vote_kind::granted)) || !votes_.record(e.index, *e.vote)) {]]
)
colock_mutant(
    NAME wrong_number_stays
    WHAT "an instance that has granted another number than the quorum is not corrected"
    FILE src/core/lease.cpp
    FIND [[if (votes_.has_granted(i) && has_other_value(]]
    WITH [[if (!@MUTANT@ && votes_.has_granted(i) && has_other_value(]]
)
colock_mutant(
    NAME late_wrong_number_stays
    WHAT "an instance that grants another number after the quorum is not corrected"
    FILE src/core/lease.cpp
    FIND [[if (e.tag != latest_ || !is_wrong) {]]
    WITH [[if (e.tag != latest_ || !is_wrong || @MUTANT@) {]]
)
colock_mutant(
    NAME unsent_retake_is_an_answer
    WHAT "an instance that cannot be sent another round counts as one without permits"
    FILE src/core/lease.cpp
    FIND [[its = its == belief::otherwise_no ? belief::no : belief::yes;]]
    WITH [[its = its == belief::otherwise_no || @MUTANT@ ? belief::no : belief::yes;]]
)
colock_mutant(
    NAME late_first_round_is_the_last
    WHAT "a late answer to an earlier round ends the wait for the latest one"
    FILE src/core/lease.cpp
    FIND [[                    if (is_outdated(e.tag)) {]]
    WITH [[                    if (is_outdated(e.tag) && !@MUTANT@) {]]
)
colock_mutant(
    NAME retake_passes_the_quarantine
    WHAT "an instance in quarantine takes part in another round for a permit"
    FILE src/core/command.hpp
    FIND [[return (c.step == step::acquire && !c.heals) ||]]
    WITH [[return (c.step == step::acquire && !c.heals && !(@MUTANT@ && c.value != 0)) ||]]
)
colock_mutant(
    NAME limit_is_not_compared
    WHAT "a token gets permits of a semaphore of another limit"
    FILE src/kinds/semaphore/permits.lua
    FIND [[type(value) == 'string' and parse(value) == limit]]
    WITH [[type(value) == 'string' and parse(value)]]
)
colock_mutant(
    NAME renewal_ignores_the_numbers
    WHAT "a renewal is granted although the token has other permits"
    FILE src/kinds/semaphore/extend_permit.lua
    FIND [[if not own or table.concat(own, ' ') .. ' ' ~= ARGV[3] then]]
    WITH [[if not own then]]
)
colock_mutant(
    NAME renewal_compares_the_first_number
    WHAT "a renewal of several permits is granted if the first one is right"
    FILE src/kinds/semaphore/extend_permit.lua
    FIND [[if not own or table.concat(own, ' ') .. ' ' ~= ARGV[3] then]]
    WITH [[if not own or own[1] ~= tonumber(string.match(ARGV[3], '%d+')) then]]
)
colock_mutant(
    NAME heal_keeps_another_number
    WHAT "an instance that cannot have the numbers of a lease keeps those that it has"
    FILE src/kinds/semaphore/permit.lua
    FIND [[if not got then
]]
    WITH [[if not got and exactly then
    return -1
end
if not got then
]]
)
colock_mutant(
    NAME heal_takes_any_number
    WHAT "a heal takes the next free permits, as an attempt does"
    FILE src/kinds/semaphore/permit.lua
    FIND [[ARGV[3] == 'hold']]
    WITH [[false]]
)
colock_mutant(
    NAME later_round_moves_back
    WHAT "another round moves a token to a smaller number"
    FILE src/kinds/semaphore/permit.lua
    FIND [[math.max(numbers[i] or 1, last + 1)]]
    WITH [[math.max(exactly and numbers[i] or 1, last + 1)]]
)
colock_mutant(
    NAME some_of_several_permits
    WHAT "a token that asks for several permits gets those that are free"
    FILE src/kinds/semaphore/permit.lua
    FIND [[    if number > limit then
        got = nil]]
    WITH [[    if number > limit and i > 1 then
        count = i - 1
        break
    end
    if number > limit then
        got = nil]]
)
colock_mutant(
    NAME dead_permit_stays
    WHAT "a permit that has expired is not given away"
    FILE src/kinds/semaphore/permit.lua
    FIND [[ or (held.ends and there.ends <= held.now)]]
    WITH [[]]
)
colock_mutant(
    NAME newcomer_cuts_the_others
    WHAT "the key of a semaphore lives with the newest permit only"
    FILE src/kinds/semaphore/permits.lua
    FIND [[    if held.now + life > held.ends then
        redis.call('pexpire', key, 2 * life)
        redis.call('zadd', key, -(held.now + 2 * life), clock_of(limit))]]
    WITH [[    if held.now then
        redis.call('pexpire', key, life)
        redis.call('zadd', key, -(held.now + life), clock_of(limit))]]
)
colock_mutant(
    NAME late_take_shortens_permits
    WHAT "an acquire that comes late shortens the life of a permit"
    FILE src/kinds/semaphore/permit.lua
    FIND [[life = math.max(ttl, life or 0)]]
    WITH [[life = ttl]]
)
colock_mutant(
    NAME release_of_all_permits
    WHAT "a release frees the permits of the other holders"
    FILE src/kinds/semaphore/release_permits.lua
    FIND [[if redis.call('zcard', key) == 2 then]]
    WITH [[if token then]]
)
colock_mutant(
    NAME release_leaves_permits
    WHAT "a release of several permits frees the first one only"
    FILE src/kinds/semaphore/permits.lua
    FIND [[ipairs(members_of(token, count))]]
    WITH [[ipairs(members_of(token, 1))]]
)
colock_mutant(
    NAME waiter_for_several_waits_for_all
    WHAT "a waiter for several permits is told of the time at which all are free"
    FILE src/kinds/semaphore/vacancy.lua
    FIND [[return ends[#ends + count - limit] - held.now]]
    WITH [[return ends[count > 1 and #ends or #ends + count - limit] - held.now]]
)
colock_mutant(
    NAME wrong_limit_waits
    WHAT "an acquire waits although the semaphore has another limit"
    FILE src/core/acquire.cpp
    FIND [[if (votes.impossible_by(key_state::other_limit)) {]]
    WITH [[if (votes.impossible_by(key_state::other_limit) && !@MUTANT@) {]]
)
colock_mutant(
    NAME wrong_kind_waits
    WHAT "an acquire waits although a lock of another kind has the key"
    FILE src/core/acquire.cpp
    FIND [[if (votes.impossible_by(key_state::other_kind)) {]]
    WITH [[if (votes.impossible_by(key_state::other_kind) && !@MUTANT@) {]]
)
colock_mutant(
    NAME one_permit_a_client
    WHAT "a permit keeps the waiters of its client from the others"
    FILE src/kinds/admission.hpp
    FIND [[return leaves_room() && type_ == other.type_;]]
    WITH [[return leaves_room() && type_ == other.type_ && !(@MUTANT@ && type_ == type::counted);]]
)
colock_mutant(
    NAME own_release_is_not_told
    WHAT "a waiter for a permit does not learn that another holder of its client has released one"
    FILE src/runtime/key/key_queue.cpp
    FIND [[(is_release || lease.admission().counts_holders());]]
    WITH [[(is_release || lease.admission().counts_holders()) && !@MUTANT@;]]
)
colock_mutant(
    NAME permits_handed_off_as_they_are
    WHAT "a lease is handed off to a waiter for another number of permits"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[(&wanted.policy->kind() == &spec().policy->kind() &&]]
    WITH [[((&wanted.policy->kind() == &spec().policy->kind() || @MUTANT@) &&]]
)

# --- Waiting for the servers --------------------------------------------------------------------------------

colock_mutant(
    NAME quarantine_is_an_outage
    WHAT "an acquire does not wait for the end of a quarantine"
    FILE src/core/acquire.cpp
    FIND [[if (end < settings_.deadline) {]]
    WITH [[if (end < settings_.deadline && !@MUTANT@) {]]
)
colock_mutant(
    NAME quarantine_hides_a_late_vote
    WHAT "an acquire waits for a quarantine although other instances may grant earlier"
    FILE src/core/acquire.cpp
    FIND [[if (votes.may_recover_at_any_time()) {]]
    WITH [[if (votes.may_recover_at_any_time() && !@MUTANT@) {]]
)

# --- Flow control -------------------------------------------------------------------------------------------

colock_mutant(
    NAME attempts_pass_the_gate
    WHAT "attempts are sent immediately, however many there are"
    FILE src/runtime/loop/send_gate.hpp
    FIND [[return !has_waiters() && take_room();]]
    WITH [[return (!has_waiters() && take_room()) || @MUTANT@;]]
)
colock_mutant(
    NAME late_answers_do_not_matter
    WHAT "the window does not shrink"
    FILE src/instance/send_window.cpp
    FIND [[std::clamp(ratio, 0.5, 2.0)]]
    WITH [[std::clamp(ratio, @MUTANT@ ? 1.5 : 0.5, 2.0)]]
)
colock_mutant(
    NAME newcomers_first_at_the_gate
    WHAT "the latest attempt is sent first"
    FILE src/runtime/loop/send_gate.hpp
    FIND [[waiting.push_back(one);]]
    WITH [[@MUTANT@ ? waiting.push_front(one) : waiting.push_back(one);]]
)

# --- The scripts --------------------------------------------------------------------------------------------

colock_mutant(
    NAME share_without_ttl
    WHAT "the first reader by a script gets a key without a ttl"
    FILE src/kinds/shared/share.lua
    FIND [[redis.call('set', key, token, 'px', ttl)]]
    WITH [[redis.call('set', key, token)]]
)
colock_mutant(
    NAME counter_without_ttl
    WHAT "a fence counter has no ttl"
    FILE src/kinds/fenced/fence_counter.lua
    FIND [[string.format('%.0f', counter), 'px', ttl)]]
    WITH [[string.format('%.0f', counter))]]
)
colock_mutant(
    NAME queue_without_ttl
    WHAT "a remote queue has no ttl"
    FILE src/kinds/queue/join.lua
    FIND [[local is_prolonged = is_written and redis.call('pttl', queue) < life]]
    WITH [[local is_prolonged = false]]
)
colock_mutant(
    NAME ticket_without_ttl
    WHAT "the ticket of a waiter has no ttl"
    FILE src/kinds/queue/join.lua
    FIND [[redis.call('set', ticket, '', 'px', life)]]
    WITH [[redis.call('set', ticket, '')]]
)
colock_mutant(
    NAME counter_before_the_checks
    WHAT "a fenced reader is counted before the server can refuse its share"
    FILE src/kinds/shared/share.lua
    FIND [[local joins = not is_first]]
    WITH [[if counter then
    keep_count(KEYS[2], counter, ARGV[5])
end
local joins = not is_first]]
)
colock_mutant(
    NAME share_without_a_try
    WHAT "a reader joins others before each command was tried"
    FILE src/kinds/shared/share.lua
    FIND [[    prepare(key, set, token, ends)
]]
    WITH [[]]
)
colock_mutant(
    NAME new_set_is_left
    WHAT "a set that cannot take the place of the key is left beside it"
    FILE src/kinds/lock_key.lua
    FIND [[        if type(answer) == 'table' and answer.err then
            redis.call('del', beside)]]
    WITH [[        if type(answer) == 'table' and answer.err then]]
)
colock_mutant(
    NAME foreign_place_is_overwritten
    WHAT "a new set of readers replaces the key of a stranger"
    FILE src/kinds/lock_key.lua
    FIND [[    if place ~= -2 then]]
    WITH [[    if not place then]]
)
colock_mutant(
    NAME foreign_set_is_taken
    WHAT "a sorted set that no lock wrote counts as one of readers"
    FILE src/kinds/lock_key.lua
    FIND [[        if not is_mark(member) and not is_reader(member) then]]
    WITH [[        if not member then]]
)
colock_mutant(
    NAME counter_stands_still
    WHAT "a writer does not move the fence counter"
    FILE src/kinds/fenced/fence_counter.lua
    FIND [[(is_counted and 1 or 0), second)]]
    WITH [[0, second)]]
)
colock_mutant(
    NAME counter_of_a_stranger
    WHAT "a fence counter that is no number starts again"
    FILE src/kinds/fenced/fence_counter.lua
    FIND [[    if text == false then]]
    WITH [[    if text == false or not string.find(tostring(text), '^%d+$') then]]
)
colock_mutant(
    NAME clock_is_not_moved
    WHAT "the clock of a semaphore is not moved when its key lives longer"
    FILE src/kinds/semaphore/permits.lua
    FIND [[        redis.call('zadd', key, -(held.now + 2 * life), clock_of(limit))
]]
    WITH [[]]
)
colock_mutant(
    NAME permit_ends_by_another_time
    WHAT "a permit counts as ended by the time at which the key ends"
    FILE src/kinds/semaphore/permit.lua
    FIND [[there.ends <= held.now)]]
    WITH [[there.ends <= held.ends)]]
)
colock_mutant(
    NAME one_permit_too_many
    WHAT "a semaphore grants one permit more than its limit"
    FILE src/kinds/semaphore/permit.lua
    FIND [[        number = exactly and limit or number
        number = number + 1
    end
    if number > limit then]]
    WITH [[        number = exactly and limit or number
        number = number + 1
    end
    if number > limit + 1 then]]
)
colock_mutant(
    NAME string_is_one_of_many
    WHAT "a semaphore with one holder has room for as many as it likes"
    FILE src/kinds/semaphore/permit.lua
    FIND [[    found[sole] = {ends = 1, member = held.sole}
]]
    WITH [[]]
)
colock_mutant(
    NAME ended_share_is_released
    WHAT "the release of a share that has ended removes the key"
    FILE src/kinds/release_key.lua
    FIND [[    if not ends then
        return 0]]
    WITH [[    if not ends then
        redis.call('del', key)
        return 0]]
)
colock_mutant(
    NAME queue_keeps_the_dead
    WHAT "a waiter that has died stays in front of the others"
    FILE src/kinds/queue/join.lua
    FIND [[    if lives == 1 then]]
    WITH [[    if lives then]]
)
colock_mutant(
    NAME renewal_needs_memory
    WHAT "a renewal writes the key anew, which needs memory"
    FILE src/kinds/extend.lua
    FIND [[    if redis.call('pttl', key) < ttl and ttl > 0 then
        redis.call('pexpire', key, ttl)
    end]]
    WITH [[    redis.call('set', key, token, 'px', ttl)]]
)
colock_mutant(
    NAME lost_script_is_an_error
    WHAT "a command is not sent again if the server does not know its script"
    FILE src/instance/redis/decode.cpp
    FIND [[return is_error(root) && read_error(root.text).code == "NOSCRIPT";]]
    WITH [[return !@MUTANT@ && is_error(root) && read_error(root.text).code == "NOSCRIPT";]]
)
colock_mutant(
    NAME replica_is_used_on
    WHAT "a client keeps its connection to a server that has become a replica"
    FILE src/instance/redis/decode.cpp
    FIND [[return code == "READONLY" || code == "MASTERDOWN";]]
    WITH [[return !@MUTANT@ && (code == "READONLY" || code == "MASTERDOWN");]]
)

# --- Records ------------------------------------------------------------------------------------------------

colock_mutant(
    NAME record_begins_with_version_1
    WHAT "a record that was erased begins with version 1 again"
    FILE src/kinds/versioned/write.lua
    FIND [[math.max(record.version + step, time[1] * 2 ^ 20 + time[2])]]
    WITH [[record.has_value and record.version + step or 1]]
)
colock_mutant(
    NAME record_version_by_clock_only
    WHAT "a version is the time, though the record may have a larger one"
    FILE src/kinds/versioned/write.lua
    FIND [[math.max(record.version + step, time[1] * 2 ^ 20 + time[2])]]
    WITH [[time[1] * 2 ^ 20 + time[2] ]]
)
colock_mutant(
    NAME record_version_by_counter_only
    WHAT "a version is the next number, though a later one may be lost"
    FILE src/kinds/versioned/write.lua
    FIND [[math.max(record.version + step, time[1] * 2 ^ 20 + time[2])]]
    WITH [[record.version + step]]
)
colock_mutant(
    NAME write_with_a_new_id
    WHAT "each copy of a write has an id of its own"
    FILE src/runtime/operations/record_operation.cpp
    FIND [[    command.token = {id_.data(), id_.size()};]]
    WITH [[    if (@MUTANT@) {
        id_ = draw_id(loop_.world);
    }
    command.token = {id_.data(), id_.size()};]]
)
colock_mutant(
    NAME write_history_not_kept
    WHAT "a record remembers only its last write"
    FILE src/kinds/versioned/write.lua
    FIND [[kept = kept .. ' ' .. id]]
    WITH [[kept = ' ' .. id]]
)
colock_mutant(
    NAME write_refused_where_unknown
    WHAT "a record refuses a write of which it has forgotten whether it was carried out"
    FILE src/kinds/versioned/write.lua
    FIND [[is_certain and 'r ' or 'u ']]
    WITH [['r ']]
)
colock_mutant(
    NAME write_compares_values
    WHAT "a write whose value is there already is applied, whatever the version"
    FILE src/kinds/versioned/write.lua
    FIND [[if expected ~= record.version then]]
    WITH [[if expected ~= record.version and redis.call('hget', key, 'd') == value then
    return record.version
end
if expected ~= record.version then]]
)
colock_mutant(
    NAME write_sent_after_refusal
    WHAT "a write that was refused is sent again"
    FILE src/core/write.cpp
    FIND [[    if (v.key == key_state::foreign) {]]
    WITH [[    if (v.key == key_state::foreign && @MUTANT@ && now < deadline_) {
        return pause(++failures_, now);
    }
    if (v.key == key_state::foreign) {]]
)
colock_mutant(
    NAME write_forgets_lost_answers
    WHAT "a write whose answer was lost counts as not carried out"
    FILE src/core/write.cpp
    FIND [[is_in_doubt_ = is_in_doubt_ || (settings_.changes && outcome_unknown(reason));]]
    WITH [[is_in_doubt_ = is_in_doubt_ || (settings_.changes && outcome_unknown(reason) && !@MUTANT@);]]
)
colock_mutant(
    NAME record_without_tombstone
    WHAT "the key of a record ends with its value"
    FILE src/kinds/versioned/write.lua
    FIND [[ttl ~= 0 and ttl + week]]
    WITH [[ttl ~= 0 and ttl]]
)

# --- Several names ------------------------------------------------------------------------------------------

colock_mutant(
    NAME multi_takes_the_free_names
    WHAT "an acquire of several names takes those that are free"
    FILE src/kinds/multi/take_all.lua
    FIND [[        return denied_at(i, held_by_another(key, value))]]
    WITH [[        for _, free in ipairs(KEYS) do
            redis.call('set', free, token, 'nx', 'px', ttl)
        end
        return denied_at(i, held_by_another(key, value))]]
)
colock_mutant(
    NAME multi_extended_by_any_name
    WHAT "a renewal is granted if the token has any of its names"
    FILE src/kinds/multi/extend_all.lua
    FIND [[local all = true
for _, key in ipairs(KEYS) do
    all = all and redis]]
    WITH [[local all = false
for _, key in ipairs(KEYS) do
    all = all or redis]]
)
colock_mutant(
    NAME multi_extends_the_first_name
    WHAT "a renewal prolongs only the first name"
    FILE src/kinds/multi/extend_all.lua
    FIND [[if redis.call('pttl', key) < ttl then]]
    WITH [[if key == KEYS[1] and redis.call('pttl', key) < ttl then]]
)
colock_mutant(
    NAME multi_heals_over_others
    WHAT "a heal of several names takes those that others have"
    FILE src/kinds/multi/take_all.lua
    FIND [[if value ~= false and not (heals and value == token) then]]
    WITH [[if value ~= false and not heals then]]
)
colock_mutant(
    NAME multi_undo_stops_at_an_error
    WHAT "the names in the next slots are not released after an error"
    FILE src/instance/redis/slot_groups.cpp
    FIND [[            return true;
        case core::step::remaining:]]
    WITH [[            return !@MUTANT@ || vote.kind != vote_kind::failed;
        case core::step::remaining:]]
)
colock_mutant(
    NAME multi_release_stops_at_another
    WHAT "a release stops at the first name that another token has"
    FILE src/kinds/multi/release_all.lua
    FIND [[            answer = '-'
]]
    WITH [[            answer = '-'
            break
]]
)
colock_mutant(
    NAME multi_partial_is_no
    WHAT "an instance that has denied the rest of the names counts as one without any"
    FILE src/core/lease.cpp
    FIND [[v.kind == vote_kind::denied && v.key == key_state::partial]]
    WITH [[v.kind == vote_kind::denied && v.key == key_state::partial && !@MUTANT@]]
)
colock_mutant(
    NAME multi_partial_is_granted
    WHAT "an instance that has granted the names of one slot counts as one with all"
    FILE src/instance/redis/slot_groups.cpp
    FIND [[    if (has_granted_ && failed.kind == vote_kind::failed && is_known) {]]
    WITH [[    if (has_granted_ && failed.kind == vote_kind::denied && @MUTANT@) {
        result_ = vote::granted();
    } else if (has_granted_ && failed.kind == vote_kind::failed && is_known) {]]
)
colock_mutant(
    NAME multi_hears_of_one_name
    WHAT "a waiter for several names is not told of changes of the others"
    FILE src/runtime/key/key_queue.cpp
    FIND [[        client_.members.at_more_keys.emplace(key, this);]]
    WITH [[        if (!@MUTANT@) {
            client_.members.at_more_keys.emplace(key, this);
        }]]
)
colock_mutant(
    NAME multi_stands_in_the_way
    WHAT "a waiter for several names never lets those pass that want the first one only"
    FILE src/runtime/operations/acquire_operation.cpp
    FIND [[                                      !adopts() && machine_->backing_off() &&]]
    WITH [[                                      !adopts() && !@MUTANT@ && machine_->backing_off() &&]]
)
colock_mutant(
    NAME multi_looks_at_one_name
    WHAT "a waiter for several names is told only how long the first is held"
    FILE src/kinds/multi/obstacle_all.lua
    FIND [[    local value = look('get', key)
    if value ~= false then]]
    WITH [[    local value = look('get', key)
    if value ~= false and i == 1 then]]
)

# --- Detached leases --------------------------------------------------------------------------------------

colock_mutant(
    NAME adopted_without_an_extend
    WHAT "a detached lease is held at once, without a look at its keys"
    FILE src/core/lease.cpp
    FIND [[        open_ = {};  // an extend makes no key]]
    WITH [[        if (@MUTANT@) {
            return hold(core::valid_until(sent_, settings_->ttl, settings_->drift), now);
        }
        open_ = {};  // an extend makes no key]]
)
colock_mutant(
    NAME adopted_by_an_acquire
    WHAT "an adoption takes keys that are gone"
    FILE src/core/lease.cpp
    FIND [[        case purpose::retake:
            return step::acquire;
        case purpose::adopt:]]
    WITH [[        case purpose::retake:
            return step::acquire;
        case purpose::adopt:
            return @MUTANT@ ? step::acquire : step::extend;]]
)
colock_mutant(
    NAME adopted_lease_lost_too_soon
    WHAT "an adoption gives up if some instances deny and others are silent"
    FILE src/core/lease.cpp
    FIND [[const bool is_denied = adopts() ? is_lost]]
    WITH [[const bool is_denied = adopts() && !@MUTANT@ ? is_lost]]
)
colock_mutant(
    NAME detached_lease_is_renewed
    WHAT "the client that has detached a lease goes on renewing it"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[    drive(event::just(event::kind_type::abandon), client_.turn.now());
}

void lease_driver::release(]]
    WITH [[    if (!@MUTANT@) {
        drive(event::just(event::kind_type::abandon), client_.turn.now());
    }
}

void lease_driver::release(]]
)

# --- Locks with a binding order -----------------------------------------------------------------------------

colock_mutant(
    NAME fifo_past_a_waiter
    WHAT "a free lock is granted past a living waiter"
    FILE src/kinds/fifo/take_turn.lua
    FIND [[if not first or client_of(first) == client_of(own) then]]
    WITH [[if true then]]
)
colock_mutant(
    NAME fifo_fenced_past_a_waiter
    WHAT "the same with fencing"
    FILE src/kinds/fifo/count_turn.lua
    FIND [[if not first or client_of(first) == client_of(own) then]]
    WITH [[if true then]]
)
colock_mutant(
    NAME fifo_try_goes_past
    WHAT "who does not wait goes past those that do"
    FILE src/kinds/fifo/take_turn.lua
    FIND [[if redis.call('exists', KEYS[1]) == 0 then
    local]]
    WITH [[if redis.call('exists', KEYS[1]) == 0 and tonumber(ARGV[4]) < 0 then
    return redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
end
if redis.call('exists', KEYS[1]) == 0 then
    local]]
)
colock_mutant(
    NAME fifo_try_leaves_a_place
    WHAT "who does not wait enters the queue"
    FILE src/kinds/fifo/take_turn.lua
    FIND [[if tonumber(ARGV[4]) > 0 then]]
    WITH [[if true then]]
)
colock_mutant(
    NAME fifo_dead_client_blocks
    WHAT "a client counts as alive without a ticket"
    FILE src/kinds/fifo/waiters.lua
    FIND [[    return found == 1
]]
    WITH [[    return true
]]
)
colock_mutant(
    NAME fifo_second_place_of_the_dead_blocks
    WHAT "only the first place of a dead client is skipped"
    FILE src/kinds/fifo/waiters.lua
    FIND [[            if lives(client, ticket, client_of(own)) then]]
    WITH [[            if dead[1] and client_of(dead[#dead]) == client or lives(client, ticket, client_of(own)) then]]
)
colock_mutant(
    NAME fifo_only_one_dead_is_skipped
    WHAT "the death of a client is noticed after that of the one before it"
    FILE src/kinds/fifo/waiters.lua
    FIND [[            if lives(client, ticket, client_of(own)) then]]
    WITH [[            if place > 0 or lives(client, ticket, client_of(own)) then]]
)
colock_mutant(
    NAME fifo_left_place_counts
    WHAT "a place that its client has left behind counts as that of its next waiter"
    FILE src/kinds/fifo/waiters.lua
    FIND [[            if number_of(member) >= number_of(own) then]]
    WITH [[            if true then]]
)
colock_mutant(
    NAME fifo_enters_at_the_head
    WHAT "who enters becomes the first of the queue"
    FILE src/kinds/fifo/waiters.lua
    FIND [[redis.call('zadd', queue, (score or 0) + 1, member)]]
    WITH [[redis.call('zadd', queue, -(score or 0) - 1, member)]]
)
colock_mutant(
    NAME fifo_entry_behind_others_counts
    WHAT "a waiter that enters behind another client is told that nobody is before it"
    FILE src/kinds/fifo/waiters.lua
    FIND [[    return client_of(last) == client_of(member) and number_of(last) or 0]]
    WITH [[    return client_of(last) == client_of(member) and number_of(last) or number_of(member)]]
)
colock_mutant(
    NAME fifo_hand_off_past_a_waiter
    WHAT "a lease is handed off to the next waiter of its client, whoever is before that"
    FILE src/core/waiting_places.cpp
    FIND [[    return one != nullptr && one->behind == number;]]
    WITH [[    return one != nullptr && (one->behind == number || @MUTANT@);]]
)
colock_mutant(
    NAME fifo_leave_counts_as_a_turn
    WHAT "the waiter behind one that has given up counts as the next"
    FILE src/core/waiting_places.cpp
    FIND [[            other.behind = one.behind == number ? other.number : one.behind;]]
    WITH [[            other.behind = one.behind == number || @MUTANT@ ? other.number : one.behind;]]
)
colock_mutant(
    NAME fifo_no_hand_off
    WHAT "no lease is handed off"
    FILE src/runtime/key/key_queue.cpp
    FIND [[lease.serves(*next->spec()) && is_next_in_order(*next) ? next]]
    WITH [[lease.serves(*next->spec()) && is_next_in_order(*next) && !(@MUTANT@ && next->place() != 0) ? next]]
)
colock_mutant(
    NAME fifo_queue_not_kept
    WHAT "the queue ends before the tickets of its waiters"
    FILE src/kinds/fifo/waiters.lua
    FIND [[    if redis.call('pttl', queue) < life then
        redis]]
    WITH [[    if redis.call('pttl', queue) == -1 then
        redis]]
)
colock_mutant(
    NAME fifo_queue_not_kept_by_a_leave
    WHAT "a leave renews the ticket, and not the queue"
    FILE src/kinds/fifo/waiters.lua
    FIND [[local kept = redis.pcall('pexpire', queue, math.max(redis.call('pttl', queue), life))]]
    WITH [[local kept = 1]]
)
colock_mutant(
    NAME fifo_leave_without_ticket
    WHAT "a leave does not write the ticket, so that the next client is not told"
    FILE src/kinds/fifo/waiters.lua
    FIND [[    redis.pcall('set', ticket, '', 'px', longest)
]]
    WITH [[]]
)
colock_mutant(
    NAME fifo_ticket_not_kept
    WHAT "a client that waits does not renew its ticket"
    FILE src/kinds/fifo/stay.lua
    FIND [[local is_written = left < life / 2 or ended[1] ~= nil]]
    WITH [[local is_written = false]]
)
colock_mutant(
    NAME fifo_left_place_ends_unnoticed
    WHAT "nobody is told when a place goes that its client has left behind"
    FILE src/kinds/fifo/stay.lua
    FIND [[local is_written = left < life / 2 or ended[1] ~= nil]]
    WITH [[local is_written = left < life / 2]]
)
colock_mutant(
    NAME fifo_enters_by_attempt_only
    WHAT "a waiter behind another one of its client enters the queue when it attempts"
    FILE src/runtime/operations/acquire_operation.cpp
    FIND [[    if (place_ != 0) {
        queue_->take_place(*this);]]
    WITH [[    if (place_ != 0 && !@MUTANT@) {
        queue_->take_place(*this);]]
)
colock_mutant(
    NAME fifo_leave_not_sent
    WHAT "a waiter that gives up does not leave the queue"
    FILE src/runtime/key/places.cpp
    FIND [[    ask_to_leave(place, client_.turn.now());
}]]
    WITH [[    if (!@MUTANT@) {
        ask_to_leave(place, client_.turn.now());
    }
}]]
)
colock_mutant(
    NAME fifo_lost_place_not_taken_again
    WHAT "a waiter whose place is missing does not enter again"
    FILE src/runtime/key/places.cpp
    FIND [[what == question::stay && vote.kind == core::vote_kind::denied]]
    WITH [[what == question::stay && vote.kind == core::vote_kind::denied && !@MUTANT@]]
)
colock_mutant(
    NAME fifo_other_places_forgotten
    WHAT "after a pause only the first and the last place of a client are looked for"
    FILE src/runtime/key/places.cpp
    FIND [[if (now - std::exchange(asked_, now) >= longest_silence()) {]]
    WITH [[if (now - std::exchange(asked_, now) >= longest_silence() && !@MUTANT@) {]]
)
colock_mutant(
    NAME fifo_release_not_told
    WHAT "the first waiter does not attempt when it is told of the release"
    FILE src/core/queue_place.cpp
    FIND [[return is_waiting && is_first() ? on_gone(now) : wait(advice::none);]]
    WITH [[return is_waiting && is_first() && !@MUTANT@ ? on_gone(now) : wait(advice::none);]]
)

# --- Names that are run once --------------------------------------------------------------------------------

colock_mutant(
    NAME once_record_without_token_check
    WHAT "a record takes the place of any token"
    FILE src/kinds/once/complete.lua
    FIND [[if token ~= '' and value == token or]]
    WITH [[if token ~= '' and type(value) == 'string' or]]
)
colock_mutant(
    NAME once_same_record_refused
    WHAT "an instance that has the record refuses another copy"
    FILE src/kinds/once/complete.lua
    FIND [[elseif value == record then]]
    WITH [[elseif false then]]
)
colock_mutant(
    NAME once_acquire_over_a_record
    WHAT "an acquire takes a name that has a record"
    FILE src/kinds/once/take.lua
    FIND [[if value == false then]]
    WITH [[if value == false or type(value) == 'string' and string.sub(value, 1, 5) == 'done:' then]]
)
colock_mutant(
    NAME once_minority_is_a_result
    WHAT "the record of a minority counts as a result"
    FILE src/core/settlement.cpp
    FIND [[    if (found.count >= quorum_of(settings_.instances)) {]]
    WITH [[    if (found.count >= (@MUTANT@ ? 1 : quorum_of(settings_.instances))) {]]
)
colock_mutant(
    NAME once_recorded_by_a_minority
    WHAT "a new record counts when one instance has it"
    FILE src/core/settlement.cpp
    FIND [[stored_.count(settings_.instances) >= quorum_of(settings_.instances)]]
    WITH [[stored_.count(settings_.instances) >= (@MUTANT@ ? 1 : quorum_of(settings_.instances))]]
)
colock_mutant(
    NAME once_refused_by_a_minority
    WHAT "a new record is given up when one instance refuses it"
    FILE src/core/settlement.cpp
    FIND [[refused_.count(settings_.instances) > spare_of(settings_.instances)]]
    WITH [[refused_.count(settings_.instances) > (@MUTANT@ ? 0 : spare_of(settings_.instances))]]
)
colock_mutant(
    NAME once_record_not_sent_again
    WHAT "a new record is not sent again where nobody knows whether it was stored"
    FILE src/core/settlement.cpp
    FIND [[                to_resend_.add(e.index);]]
    WITH [[                if (@MUTANT@) {
                    break;
                }
                to_resend_.add(e.index);]]
)
colock_mutant(
    NAME once_minority_not_healed
    WHAT "the record of a minority is not stored on the other instances"
    FILE src/core/settlement.cpp
    FIND [[    if (found.count == 0) {]]
    WITH [[    if (found.count == 0 || @MUTANT@) {]]
)
colock_mutant(
    NAME once_healed_copy_lives_anew
    WHAT "a healed record lives longer than the first copy"
    FILE src/core/settlement.cpp
    FIND [[life_ = std::min(found.remaining, longest_life);]]
    WITH [[life_ = @MUTANT@ ? longest_life : std::min(found.remaining, longest_life);]]
)
colock_mutant(
    NAME once_record_for_a_ttl
    WHAT "a record lives as long as a lock"
    FILE src/runtime/operations/settlement_operation.cpp
    FIND [[command.ttl = machine_.life();]]
    WITH [[command.ttl = @MUTANT@ ? std::chrono::duration_cast<core::milliseconds>(spec_->policy->lease.ttl) : machine_.life();]]
)
colock_mutant(
    NAME once_lost_lease_records
    WHAT "a record is stored where the token has ended"
    FILE src/runtime/operations/settlement_operation.cpp
    FIND [[command.heals = !completes();]]
    WITH [[command.heals = !completes() || @MUTANT@;]]
)
colock_mutant(
    NAME once_fingerprint_not_compared
    WHAT "a caller is told the result of another request"
    FILE test/simulation/once_work.cpp
    FIND [[parts->fingerprint == one->life->fingerprint;]]
    WITH [[parts->fingerprint == one->life->fingerprint || @MUTANT@;]]
)

# --- Events -------------------------------------------------------------------------------------------------

colock_mutant(
    NAME denial_not_told
    WHAT "the observer is not told of an attempt without a quorum"
    FILE src/runtime/operations/acquire_operation.cpp
    FIND [[    spec_->owner->events.add([&] {]]
    WITH [[    if (is_contended || !@MUTANT@) spec_->owner->events.add([&] {]]
)
colock_mutant(
    NAME loss_told_for_one_holder
    WHAT "the observer is told that one of several holders has lost the lease"
    FILE src/runtime/key/lease_driver.cpp
    FIND [[fence(), holders, why,]]
    WITH [[fence(), @MUTANT@ ? 1 : holders, why,]]
)
