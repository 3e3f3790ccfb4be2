# The mutants: deliberately broken variants of the library. A checker of the simulation must catch each of them.
# Comments in the sources say where they are. cmake/mutants.cmake describes the operations.
#
# 27 mutants name something of the code, because they do what it does not do there. `silence_is_consent` is one. All others
# stay as they are when the code is renamed.
#
# If a statement has several mutants, each alters the result of those before.

colock_find_mutants()

# --- Quorum and validity ------------------------------------------------------------------------------------

colock_mutant(half_is_a_quorum "half of the instances count as a quorum"
    FIND [[return $1 / 2 + 1;]] WITH [[return $1 / 2 + (MUTANT && $1 > 1 ? 0 : 1);]]
)
colock_mutant(silence_is_consent "an instance that does not answer in time counts as a grant"
    FIND [[, $1);]] WITH [[, MUTANT ? vote::granted() : $1);]]
)
colock_mutant(no_drift "the validity ignores clock drift"
    FIND [[- $1;]] WITH [[- $1 * !MUTANT;]]
)
colock_mutant(validity_from_the_reply "the validity of a grant starts when the votes arrive"
    FIND [[($1($2, $3, $4), $5);]] WITH [[($1(MUTANT ? $5 : $2, $3, $4), $5);]]
)
colock_mutant(renewal_from_the_reply "the validity of a renewal starts when the votes arrive"
    FIND [[= $1($2, $3, $4);]] WITH [[= $1(MUTANT ? now : $2, $3, $4);]]
)
colock_mutant(too_slow_is_believed "a quorum that granted after the end of the validity counts" NEVER)

# --- The servers --------------------------------------------------------------------------------------------

colock_mutant(extend_without_token_check "an extend prolongs the key of any holder"
    FIND [[if $1 == $2 then]] WITH [[if type($1) == 'string' then]]
)
colock_mutant(release_without_token_check "a release deletes the key of any holder"
    FIND [[if $1 == $2 then]] WITH [[if type($1) == 'string' then]]
)
colock_mutant(acquire_overwrites "an acquire overwrites a key that is held"
    FIND [[$1"NX", $2]] WITH [[if (MUTANT) { $1$2 } else { $1"NX", $2 }]]
)

# --- Rollback -----------------------------------------------------------------------------------------------

colock_mutant(undo_only_where_granted "no release is sent to an instance that has not voted"
    FIND [[($1 != $2) {]] WITH [[(MUTANT ? $1 == belief::yes : $1 != $2) {]]
)
colock_mutant(unknown_is_no "a broken connection counts as a denial"
    FIND [[|| $1)) {]] WITH [[|| MUTANT || $1)) {]]
)
colock_mutant(late_grant_forgotten "a grant that arrives after its release was answered is not rolled back" NEVER)
colock_mutant(heal_not_given_back "a restored key is not released"
    FIND [[= $1;]] WITH [[= MUTANT ? decltype($1){} : $1;]]
)
colock_mutant(restored_by_the_next_renewal "an instance that takes commands again waits for the next renewal to get a missing key"
    BEFORE [[return {};]]
)
colock_mutant(release_not_tried_again "a failed release is not retried"
    FIND [[, $1);]] WITH [[, MUTANT ? decltype($1){} : $1);]]
)
colock_mutant(attempt_without_undo "a failed or cancelled attempt is not rolled back"
    BEFORE [[if (acquiring()) { keys_.assign(belief::no); }]]
)
colock_mutant(longest_ttl_forgotten "a release is retried only for the first ttl although a longer one was sent" SKIP)
colock_mutant(one_token_for_all "an attempt reuses the token of the previous one"
    FIND [[: $1;]] WITH [[: MUTANT ? 7 : $1;]]
)
colock_mutant(overtaken_release_is_believed "no second release is sent if a grant was pending when the first was denied"
    NEVER
)
colock_mutant(release_given_up_while_open "a release is given up after the ttl although the acquire may yet be executed"
    ALWAYS
)

colock_mutant(released_by_one "a release is reported as done when one instance has deleted the key"
    FIND [[>= $1) {]] WITH [[>= (MUTANT ? 1 : $1)) {]]
)
colock_mutant(lost_by_one_denial "a release that one instance denies reports a loss"
    FIND [[< $1) {]] WITH [[< $1 || (MUTANT && gone != 0)) {]]
)
colock_mutant(answers_are_no_quorum "a release with a quorum of answers reports that it has none" NEVER)

# --- Restarts -----------------------------------------------------------------------------------------------

colock_mutant(fence_counted_in_quarantine "an instance that has lost its last writes grants fences immediately"
    FIND [[== 0)]] WITH [[== 0 && !MUTANT)]]
)
colock_mutant(uptime_is_believed "the reported uptime of a server is not reduced by its rounding of one second"
    FIND [[(1)]] WITH [[(MUTANT ? 0 : 1)]]
)
colock_mutant(quarantine_too_short "the quarantine is shorter than the ttls"
    FIND [[), $1, $2, $3);]] WITH [[), MUTANT ? $1 / 8 : $1, $2, $3);]]
)
colock_mutant(quarantine_off "a restarted instance grants locks immediately"
    FIND [[= $1;]] WITH [[= MUTANT ? decltype($1)::min() : $1;]]
)

# --- Failovers ----------------------------------------------------------------------------------------------

colock_mutant(failover_quarantine_off "a promoted replica grants locks immediately"
    FIND [[return $1;]] WITH [[return MUTANT ? decltype($1)::min() : $1;]]
)
colock_mutant(quarantine_after_moved_ignored "a redirected acquire ignores the quarantine of the next node"
    FIND [[($1 && ]] WITH [[($1 && !(MUTANT && r.hops != 0) && ]]
)
colock_mutant(another_cluster_is_believed
    "a map without a node in common with the last one is accepted as the same cluster"
    NEVER
)
colock_mutant(another_cluster_without_quarantine "another cluster is not quarantined when its map is followed"
    FIND [[= $1($2());]] WITH [[= MUTANT ? $2() : $1($2());]]
)
colock_mutant(replaced_server_is_trusted "a server that replaces another one grants before it has reported its map"
    NEVER
)
colock_mutant(all_notice_at_once "the quarantine assumes that all clients notice a failover immediately"
    FIND [[+ $1;]] WITH [[+ $1 * !MUTANT;]]
)
colock_mutant(first_seen_long_ago "the quarantine of a promoted master starts before its promotion"
    FIND [[, $1).]] WITH [[, MUTANT ? $1 - std::chrono::hours(1) : $1).]]
)
colock_mutant(minority_of_the_sentinels "the report of an isolated Sentinel is trusted"
    FIND [[= $1;]] WITH [[= MUTANT ? 1 : $1;]]
)
colock_mutant(contradiction_is_ignored "the old master is used until a majority of the Sentinels is reachable" NEVER)
colock_mutant(wait_is_ignored "a grant counts even if too few replicas have acknowledged it" ALWAYS)

# --- After the end ------------------------------------------------------------------------------------------

colock_mutant(extend_after_release "an unsent extend is sent after the release of its lease" ALWAYS)
colock_mutant(acquire_after_give_back "an unsent acquire is sent after its attempt was rolled back" ALWAYS)
colock_mutant(no_end_of_validity "a renewal that is won too late revives a lease"
    FIND [[&& $1) {]] WITH [[&& (($1) || MUTANT)) {]]
)
colock_mutant(released_at_the_loss "a lost lease is released before its holder can stop" ALWAYS)
colock_mutant(max_hold_promises_too_much "the reported validity ignores max_hold"
    FIND [[std::min($1, $2);]] WITH [[MUTANT ? $1 : std::min($1, $2);]]
)

# --- The watchdog -------------------------------------------------------------------------------------------

colock_mutant(heals_before_quorum "a key is restored although the round is not won"
    FIND [[|| $1) {]] WITH [[|| ($1 && !MUTANT)) {]]
)
colock_mutant(votes_of_any_round "a vote on an earlier renewal counts for the latest one"
    FIND [[|| $1) {]] WITH [[|| ($1 && !MUTANT)) {]]
)
colock_mutant(extend_shortens "a late extend shortens the life of a key" ALWAYS)
colock_mutant(extend_recreates "an extend creates a missing key"
    FIND [[local $1 = $2('get', $3)]]
    WITH [[local $1 = $2('get', $3) if $1 == false then redis.call('set', $3, ARGV[1], 'px', ARGV[2]) return 1 end]]
)
colock_mutant(loss_without_notice "a loss is reported only when the validity has ended"
    FIND [[: $1;]] WITH [[: $1 * !MUTANT;]]
)
colock_mutant(never_renews "the watchdog never renews" NEVER)
colock_mutant(one_denial_is_a_loss "one missing key loses the lease"
    FIND [[> $1) {]] WITH [[> (MUTANT ? 0 : $1)) {]]
)
colock_mutant(max_hold_ignored "max_hold is ignored" NEVER)

# --- Fences -------------------------------------------------------------------------------------------------

colock_mutant(no_second_round "the largest fence of a quorum is not written back if the counters differ" ALWAYS)
colock_mutant(majority_of_the_granted "a fence needs a majority of the instances that granted, not of all"
    FIND [[($1) {]]
    WITH [[($1 || (MUTANT && status_ == status::raising && votes_.granted() >=
        quorum_of(quorum_of(settings_->instances)))) {]]
)
colock_mutant(fence_of_the_first_grant "the fence is the first counter that was granted, not the largest"
    FIND [[$1 = $2;]] WITH [[$1 = MUTANT && $1 != 0 ? $1 : $2;]]
)
colock_mutant(raise_without_token_check "an instance acknowledges a fence although another holder has its key"
    FIND [[not $1($2, $3, $4) then]] WITH [[$4 == false then]]
)
colock_mutant(counter_after_the_key "the key is created before the counter is checked"
    BEFORE [[if ARGV[2] ~= '0' then redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) end]]
)
colock_mutant(counters_begin_at_one "a lost counter starts again at one instead of the time"
    FIND [[math.max($1, ]] WITH [[math.max(1, ]]
)
colock_mutant(reader_believes_an_old_counter "a reader uses a counter that may have been restored from older data"
    FIND [[+ ($1 and 1 or 0), $2)]] WITH [[+ ($1 and 1 or 0), $1 and $2 or 0)]]
)
colock_mutant(second_round_from_the_reply "the validity starts with the second round"
    BEFORE [[sent_ = now;]]
)

# --- Timeouts -----------------------------------------------------------------------------------------------

colock_mutant(waits_for_the_silent "an attempt waits indefinitely for a silent instance"
    BEFORE [[return {};]]
)
colock_mutant(deadline_ignored "an acquire makes attempts after the caller's deadline" NEVER)
colock_mutant(silence_is_a_denial "an acquire reports contended at its deadline without a denial"
    FIND [[fail($1 ?]] WITH [[fail(($1) || MUTANT ?]]
)
colock_mutant(contended_in_spite_of_a_quorum "an attempt that a quorum has granted fails if another instance denies"
    BEFORE [[if (votes_.won() && votes_.denied() != 0 && !adopts()) { return fail(acquire_outcome::contended, now); }]]
)
colock_mutant(front_is_always_in_the_way "a reader behind another reader of its client reports contended" ALWAYS)

# --- Abandoned leases ---------------------------------------------------------------------------------------

colock_mutant(abandoned_is_released "a lease that is abandoned is released"
    BEFORE [[return begin_release(promised_until(), now);]]
)
colock_mutant(abandoned_is_renewed "a renewal is sent after its lease was abandoned"
    BEFORE [[if (abandoned()) { return true; }]]
)
colock_mutant(abandoned_without_successor "no waiter follows a lease that was abandoned" NEVER)

# --- Owners -------------------------------------------------------------------------------------------------

colock_mutant(another_owner_enters "another owner enters the lease of an owner"
    FIND [[return $1 && ]] WITH [[return ($1 || MUTANT) && ]]
)
colock_mutant(owner_holds_anew_after_a_loss "an owner that has lost its lease acquires the lock again before it lets go"
    NEVER
)
colock_mutant(owner_enters_when_it_is_over "an owner enters its lease after the end of the validity" NEVER)
colock_mutant(owner_is_lost_for_ever "an owner that has let go of a lost lease is refused" SKIP)
colock_mutant(owner_releases_with_the_first "the first entry that is released releases the lock of its owner"
    FIND [[($1) {]] WITH [[($1 && !(MUTANT && held_for_.reenters)) {]]
)
colock_mutant(inner_extension_shortens "an extension by one entry shortens the lease of the others"
    FIND [[|| $1 ?]] WITH [[|| ($1 && !MUTANT) ?]]
)
colock_mutant(entry_prolongs_max_hold "max_hold counts from the last entry"
    BEFORE [[if (held_for_.reenters && !policy().lease.value_per_holder) {
        static_cast<void>(machine_.resume(event::just(event::kind_type::next_holder), client_.turn.now())); }]]
)
colock_mutant(owner_not_handed_on "a lease that is handed off has no owner"
    FIND [[($1);]] WITH [[(MUTANT ? std::decay_t<decltype($1)>{} : $1);]]
)
colock_mutant(owner_left_behind "the other waiters of an owner stay in the queue when it gets the lock" ALWAYS)
colock_mutant(owner_waits_for_itself "a mutex waits for its own owner"
    FIND [[if ($1 const $2 = $3($4())) {]]
    WITH [[if ($1 const $2 = $3($4()); $2 != nullptr && !(MUTANT && !$4().reenters)) {]]
)
colock_mutant(would_deadlock_for_a_waiter "an acquire is refused although its owner only waits"
    BEFORE [[if (client_.owners.has_waiters({newcomer.acts_for().owner, true})) {
        newcomer.fail_as(core::acquire_outcome::would_deadlock, "only waits"); return; }]]
)
colock_mutant(entered_with_other_fencing "a lock without fencing enters a lease with a fence"
    FIND [[$1 && $2;]] WITH [[$1 && (MUTANT || $2);]]
)

# --- Hand-off -----------------------------------------------------------------------------------------------

colock_mutant(hand_off_the_rest "a lease is handed off even if little of its validity is left"
    FIND [[$1 && $2 && $3;]] WITH [[$1 && (($2 && $3) || MUTANT);]]
)
colock_mutant(max_hold_of_the_former "the next holder may hold a lease only for the rest of max_hold"
    FIND [[{ $1 = $2; }]] WITH [[{ $1 = MUTANT ? $1 : $2; }]]
)
colock_mutant(handed_off_without_asking "a fenced lease is handed off with the next number without a round"
    BEFORE [[++value_; return hand_off(now);]]
)
colock_mutant(one_fence_for_all "the next holder gets the fence of the former holder" SKIP)
colock_mutant(handed_off_without_second_round "a fence for the next holder is not written back if the counters differ"
    NEVER
)
colock_mutant(handed_off_when_it_is_over "a lease is handed off although its validity has ended during the round"
    FIND [[|| $1) {]] WITH [[|| ($1 && !MUTANT)) {]]
)
colock_mutant(shared_without_asking "a share of a fenced lease gets the fence of the lease without a round" ALWAYS)
colock_mutant(shared_with_an_old_fence "a reader shares a fenced lease that was confirmed before the reader arrived"
    FIND [[&& $1)) {]] WITH [[&& $1 && !MUTANT)) {]]
)

# --- The engine and its queues ------------------------------------------------------------------------------

colock_mutant(next_waiter_not_woken "the next waiter of a client is not woken by a release" SKIP)
colock_mutant(cancelled_without_successor "no waiter follows a waiter that is cancelled in its attempt"
    BEFORE [[if (outcome == core::acquire_outcome::cancelled && !local_.empty()) { acquire_operation& forgotten =
        front(); remove(forgotten); local_.enter(forgotten); forgotten.become_next(); return; }]]
)
colock_mutant(served_out_of_order "the latest waiter is served first"
    FIND [[{ $1.push_back($2); }]] WITH [[{ $1.insert(MUTANT ? $1.begin() : $1.end(), $2); }]]
)
colock_mutant(handed_off_when_lost "a lost lease is handed off"
    FIND [[return $1 && $2 > ]] WITH [[return ($1 || MUTANT) && $2 > ]]
)
colock_mutant(handed_off_too_often "handoff_limit is ignored"
    FIND [[return $1 && ]] WITH [[return ($1 || MUTANT) && ]]
)
colock_mutant(handed_off_for_too_long "handoff_time is ignored"
    FIND [[&& $1;]] WITH [[&& ($1 || MUTANT);]]
)
colock_mutant(handed_off_to_anybody "a lease is handed off to a waiter with another ttl"
    FIND [[&& $1);]] WITH [[&& ($1 || MUTANT));]]
)
colock_mutant(former_holder_releases "a former holder can release a lease that it has handed off" NEVER)
colock_mutant(timer_not_moved_forward "an earlier timer does not move the next wake-up forward"
    FIND [[$1 < $2) {]] WITH [[$1 < $2 && (!MUTANT || $2 == decltype($2)::max())) {]]
)
colock_mutant(closed_before_the_releases "a client closes its connections immediately"
    FIND [[$1 && $2) {]] WITH [[$1 && (MUTANT || $2)) {]]
)
colock_mutant(queue_never_looks_again "a waiter in the remote queue relies only on notifications"
    BEFORE [[return {};]]
)
colock_mutant(waiter_asks_often "a long-waiting client rejoins the queue as often as at first" NEVER)
colock_mutant(told_by_one "a waiter still relies on notifications after one instance has sent one" NEVER)
colock_mutant(ticket_is_left_behind "a client that cannot reach the queue server does not remove its ticket later"
    NEVER
)

# --- Readers and writers ------------------------------------------------------------------------------------

colock_mutant(mark_is_ignored "readers enter although a writer mark is set" NEVER)
colock_mutant(no_mark "a denied writer sets no writer mark"
    FIND [[= $1]] WITH [[= 0]]
)
colock_mutant(one_mark_for_all "a writer mark replaces those of other writers"
    FIND [[redis.call('zadd', $1, $2, $3)]]
    WITH [[if $2 < 0 then redis.call('zremrangebyscore', $1, '-inf', 0) end redis.call('zadd', $1, $2, $3)]]
)
colock_mutant(mark_of_another_taken "a writer that stops waiting removes the writer marks of others"
    BEFORE [[do redis.call('zremrangebyscore', KEYS[1], '-inf', 0) return 1 end]]
)
colock_mutant(mark_before_its_turn "a writer sets its writer mark before it joins the remote queue"
    FIND [[== 1 && ]] WITH [[== 1 && !MUTANT && ]]
)
colock_mutant(mark_of_a_guess "a writer sets its writer mark although others are ahead in the remote queue"
    FIND [[!= nullptr && $1, ]] WITH [[!= nullptr && ($1 || MUTANT), ]]
)
colock_mutant(first_writer_leaves_no_mark "a writer at the head of the remote queue attempts only after a notification"
    FIND [[= $1 || ]] WITH [[= ($1 && !MUTANT) || ]]
)
colock_mutant(mark_is_left "a cancelled writer does not remove its writer mark"
    FIND [[($1, $2, $3);]] WITH [[($1, MUTANT ? decltype($2){} : $2, $3);]]
)
colock_mutant(mark_is_left_by_a_holder
    "a released writer does not remove its writer mark where a reader had kept it out"
    FIND [[($1, $2, $3);]] WITH [[($1, MUTANT ? decltype($2){} : $2, $3);]]
)
colock_mutant(mark_from_before_a_jump "a writer mark lives longer if the clock is set back"
    FIND [[ and $1]] WITH [[]]
)
colock_mutant(reader_joins_a_writer "a reader enters while a writer holds the lock"
    FIND [[(not $1 or $2) then]] WITH [[$2 then]]
)
colock_mutant(claim_removes_readers "a writer removes live readers" ALWAYS)
colock_mutant(share_takes_all "the release of one reader deletes the shares of the others" ALWAYS)
colock_mutant(released_with_the_first "a lease is released although other readers of the client hold it"
    FIND [[return $1 || ]] WITH [[return ($1 && !MUTANT) || ]]
)
colock_mutant(shared_for_ever "a lease is shared with new readers without a time limit"
    FIND [[if ($1 || (]] WITH [[if (($1 && !MUTANT) || (]]
)
colock_mutant(reader_overtakes "a reader overtakes the waiters of its client"
    FIND [[return $1 && ]] WITH [[return ($1 || MUTANT) && ]]
)
colock_mutant(waiting_writer_sleeps "a waiting writer makes no attempt before its writer mark expires" ALWAYS)
colock_mutant(queued_reader_sleeps "a reader waits indefinitely for its turn in the remote queue"
    FIND [[|| $1;]] WITH [[|| ($1 && !MUTANT);]]
)
colock_mutant(parked_reader_sleeps "a denied reader waits indefinitely for its turn in the remote queue" ALWAYS)
colock_mutant(downgrade_admits_at_once "readers of the client enter before a quorum has answered the downgrade"
    FIND [[($1) {]] WITH [[(($1) || (MUTANT && lease.is_downgraded())) {]]
)
colock_mutant(downgrade_without_quorum "readers of the client enter although the downgrade has failed"
    FIND [[($1 && ]] WITH [[(($1 || MUTANT) && ]]
)
colock_mutant(downgrade_is_an_extend "an instance handles a downgrade as a renewal of the writer's lease"
    FIND [[if $1 then]]
    WITH [[if $1 then redis.call('pexpire', KEYS[1], math.max(ARGV[2], redis.call('pttl', KEYS[1]))) return 1 end if
        $1 then]]
)
colock_mutant(downgrade_as_a_writer "a downgrade is sent with the writer's token" NEVER)
colock_mutant(downgraded_is_exclusive "the readers of the client wait behind a downgraded lease" SKIP)
colock_mutant(left_without_a_word "a downgraded writer does not leave the remote queue" ALWAYS)
colock_mutant(downgrade_without_end "a downgrade of a lost lease never completes" SKIP)
colock_mutant(second_downgrade_forgotten "a downgrade that is requested during another never starts" NEVER)
colock_mutant(second_downgrade_admits_again "a second downgrade restarts the time in which readers share the lease"
    NEVER
)
colock_mutant(shared_by_options_of_the_downgrade
    "a downgraded lease is shared with readers that have the downgrade's options"
    FIND [[$1 == &$2->$3() && $4->$5 == $6 && $7 == ]]
    WITH [[$1 == &$2->$3() && $4->$5 == (MUTANT ? $2->$5 : $6) && $7 == ]]
)
colock_mutant(released_as_a_writer "a downgraded lease is released with its writer's token"
    FIND [[= $1;]] WITH [[= MUTANT && tag.purpose() == purpose::release ? token_.view() : $1;]]
)
colock_mutant(writer_shares "a writer's lease is shared with another holder" NEVER)
colock_mutant(downgraded_says_writer "a downgraded lease still reports that it is a writer's" SKIP)
colock_mutant(released_share_is_counted "a released share counts as held" NEVER)
colock_mutant(inner_release_stops_the_watchdog "the release of an inner entry stops the watchdog"
    BEFORE [[if (held_for_.reenters) { client_.alarms.stop_waiting(*this); }]]
)
colock_mutant(given_up_without_successor "readers still wait behind a writer that has given up in the local queue" SKIP)
colock_mutant(renewal_for_all_readers "the renewal of one reader prolongs the shares of the others"
    FIND [[redis.call('zadd', $1, $2, $3)]]
    WITH [[for _, one in ipairs(redis.call('zrangebyscore', $1, 0, '+inf')) do redis.call('zadd', $1, $2, one) end]]
)
colock_mutant(renewal_of_the_key_alone "the renewal of a reader prolongs the key, but not the share" SKIP)
colock_mutant(dead_reader_stays "an expired reader still counts as a holder of the key"
    FIND [[ and $1 and ]] WITH [[ and ]]
)
colock_mutant(key_outlives_its_readers "a key lives as long as the share of a reader that has left" SKIP)
colock_mutant(newcomer_shortens_the_others "the shares of a key expire no later than the newest one"
    FIND [[redis.call('zadd', $1, $2, $3)]]
    WITH [[for _, one in ipairs(redis.call('zrangebyscore', $1, $2, '+inf')) do if $2 > 0 then redis.call('zadd',
        $1, $2, one) end end redis.call('zadd', $1, $2, $3)]]
)
colock_mutant(key_lives_with_the_newest "a key expires with its newest share although others last longer"
    FIND [[math.max($1, $2, $3))]] WITH [[$3)]]
)
colock_mutant(late_extend_shortens_a_share "a late extend shortens the share of a reader" ALWAYS)
colock_mutant(readers_enter_one_by_one "a reader does not enter while another reader holds the lock" NEVER)
colock_mutant(mark_keeps_one_out "a writer mark keeps only one reader out"
    BEFORE [[redis.call('zremrangebyscore', KEYS[1], '-inf', 0)]]
)
colock_mutant(mark_renewed_by_readers "a denied reader prolongs the writer mark"
    BEFORE [[redis.call('pexpire', key, math.max(set.ends - set.now, longest_mark)) redis.call('zadd', key,
        -(set.now + longest_mark), redis.call('zrange', key, 0, 0)[1])]]
)

# --- Semaphores ---------------------------------------------------------------------------------------------

colock_mutant(numbers_need_not_agree "a quorum of permits counts although their numbers differ" ALWAYS)
colock_mutant(raise_to_the_largest "another round for a permit asks for the largest number of the last one"
    FIND [[= $1[$2 - 1], ]] WITH [[= MUTANT ? $1.back() : $1[$2 - 1], ]]
)
colock_mutant(lists_compared_by_the_first_number "grants of several permits agree if their first numbers do"
    FIND [[std::ranges::count($1, $2))]]
    WITH [[std::ranges::count_if($1, [&](const std::string& other) { return other == $2 || (MUTANT &&
        other.substr(0, other.find(' ')) == $2.substr(0, $2.find(' '))); }))]]
)
colock_mutant(vote_of_an_older_round_counts "a grant of an earlier round of an attempt counts for the latest one"
    FIND [[if ($1 || ]] WITH [[if (($1 && !(MUTANT && e.vote->kind == vote_kind::granted)) || ]]
)
colock_mutant(wrong_number_stays "an instance that has granted another number than the quorum is not corrected" NEVER)
colock_mutant(late_wrong_number_stays "an instance that grants another number after the quorum is not corrected" ALWAYS)
colock_mutant(unsent_retake_is_an_answer "an instance that cannot be sent another round counts as one without permits"
    ALWAYS
)
colock_mutant(late_first_round_is_the_last "a late answer to an earlier round ends the wait for the latest one" NEVER)
colock_mutant(retake_passes_the_quarantine "an instance in quarantine takes part in another round for a permit"
    FIND [[$1) || ($2 && $3 == 0]] WITH [[$1 && !(MUTANT && $3 != 0)) || ($2 && $3 == 0]]
)
colock_mutant(limit_is_not_compared "a token gets permits of a semaphore of another limit"
    FIND [[ and $1 == $2 then]] WITH [[ and $1 then]]
)
colock_mutant(renewal_ignores_the_numbers "a renewal is granted although the token has other permits"
    FIND [[ or $1 then]] WITH [[ then]]
)
colock_mutant(renewal_compares_the_first_number "a renewal of several permits is granted if the first one is right"
    FIND [[not $1 or $2 then]] WITH [[not $1 or $1[1] ~= tonumber(string.match(ARGV[3], '%d+')) then]]
)
colock_mutant(heal_keeps_another_number "an instance that cannot have the numbers of a lease keeps those that it has"
    FIND [[if not $1 then]] WITH [[if not $1 and ARGV[3] == 'hold' then return -1 end if not $1 then]]
)
colock_mutant(heal_takes_any_number "a heal takes the next free permits, as an attempt does"
    FIND [[ARGV[3] == 'hold']] WITH [[false]]
)
colock_mutant(later_round_moves_back "another round moves a token to a smaller number"
    FIND [[math.max($1 or ]] WITH [[math.max(ARGV[3] == 'hold' and $1 or ]]
)
colock_mutant(some_of_several_permits "a token that asks for several permits gets those that are free"
    BEFORE [[if number > limit and i > 1 then count = i - 1 break end]]
)
colock_mutant(dead_permit_stays "a permit that has expired is not given away"
    FIND [[ or ($1)]] WITH [[]]
)
colock_mutant(newcomer_cuts_the_others "the key of a semaphore lives with the newest permit only"
    FIND [[if $1 + $2 > $3 then]] WITH [[if true then local $2 = $2 / 2]]
)
colock_mutant(late_take_shortens_permits "an acquire that comes late shortens the life of a permit"
    FIND [[math.max($1, $2 or 0)]] WITH [[$1]]
)
colock_mutant(release_of_all_permits "a release frees the permits of the other holders" ALWAYS)
colock_mutant(release_leaves_permits "a release of several permits frees the first one only"
    FIND [[($1, $2)) do]] WITH [[($1, 1)) do]]
)
colock_mutant(waiter_for_several_waits_for_all "a waiter for several permits is told of the time at which all are free"
    FIND [=[[#$1 + $2 - $3]]=] WITH [=[[$2 > 1 and #$1 or #$1 + $2 - $3]]=]
)
colock_mutant(wrong_limit_waits "an acquire waits although the semaphore has another limit" NEVER)
colock_mutant(wrong_kind_waits "an acquire waits although a lock of another kind has the key" NEVER)
colock_mutant(one_permit_a_client "a permit keeps the waiters of its client from the others" NEVER)
colock_mutant(own_release_is_not_told
    "a waiter for a permit does not learn that another holder of its client has released one"
    NEVER
)
colock_mutant(permits_handed_off_as_they_are "a lease is handed off to a waiter for another number of permits"
    FIND [[|| ($1 && ]] WITH [[|| (($1 || MUTANT) && ]]
)

# --- Waiting for the servers --------------------------------------------------------------------------------

colock_mutant(quarantine_is_an_outage "an acquire does not wait for the end of a quarantine" NEVER)
colock_mutant(quarantine_hides_a_late_vote
    "an acquire waits for a quarantine although other instances may grant earlier"
    NEVER
)

# --- Flow control -------------------------------------------------------------------------------------------

colock_mutant(attempts_pass_the_gate "attempts are sent immediately, however many there are" ALWAYS)
colock_mutant(late_answers_do_not_matter "the window does not shrink"
    FIND [[, 0.5, ]] WITH [[, MUTANT ? 1.5 : 0.5, ]]
)
colock_mutant(newcomers_first_at_the_gate "the latest attempt is sent first"
    FIND [[$1.push_back($2);]] WITH [[MUTANT ? $1.push_front($2) : $1.push_back($2);]]
)

# --- The scripts --------------------------------------------------------------------------------------------

colock_mutant(share_without_ttl "the first reader by a script gets a key without a ttl"
    FIND [[, 'px', $1)]] WITH [[)]]
)
colock_mutant(counter_without_ttl "a fence counter has no ttl"
    FIND [[, 'px', $1)]] WITH [[)]]
)
colock_mutant(queue_without_ttl "a remote queue has no ttl" NEVER)
colock_mutant(ticket_without_ttl "the ticket of a waiter has no ttl"
    FIND [[, 'px', $1)]] WITH [[)]]
)
colock_mutant(counter_before_the_checks "a fenced reader is counted before the server can refuse its share"
    BEFORE [[if KEYS[2] then redis.call('set', KEYS[2], string.format('%.0f', (redis.call('get', KEYS[2]) or 0) +
        1), 'px', ARGV[5]) end]]
)
colock_mutant(share_without_a_try "a reader joins others before each command was tried" SKIP)
colock_mutant(new_set_is_left "a set that cannot take the place of the key is left beside it" SKIP)
colock_mutant(foreign_place_is_overwritten "a new set of readers replaces the key of a stranger" NEVER)
colock_mutant(foreign_set_is_taken "a sorted set that no lock wrote counts as one of readers" NEVER)
colock_mutant(counter_stands_still "a writer does not move the fence counter"
    FIND [[+ ($1 and 1 or 0)]] WITH [[]]
)
colock_mutant(counter_of_a_stranger "a fence counter that is no number starts again"
    FIND [[if $1 == false then]] WITH [[if $1 == false or not string.find(tostring($1), '^%d+$') then]]
)
colock_mutant(clock_is_not_moved "the clock of a semaphore is not moved when its key lives longer" SKIP)
colock_mutant(permit_ends_by_another_time "a permit counts as ended by the time at which the key ends"
    FIND [[or ($1 and $2 <= $3)]] WITH [[or ($1 and $2 <= $1)]]
)
colock_mutant(one_permit_too_many "a semaphore grants one permit more than its limit"
    FIND [[ then]] WITH [[ + 1 then]]
)
colock_mutant(string_is_one_of_many "a semaphore with one holder has room for as many as it likes" SKIP)
colock_mutant(ended_share_is_released "the release of a share that has ended removes the key"
    BEFORE [[redis.call('del', KEYS[1])]]
)
colock_mutant(queue_keeps_the_dead "a waiter that has died stays in front of the others" ALWAYS)
colock_mutant(renewal_needs_memory "a renewal writes the key anew, which needs memory"
    FIND [[if $1 then]] WITH [[redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) if false then]]
)
colock_mutant(lost_script_is_an_error "a command is not sent again if the server does not know its script" NEVER)
colock_mutant(replica_is_used_on "a client keeps its connection to a server that has become a replica" NEVER)

# --- Records ------------------------------------------------------------------------------------------------

colock_mutant(record_begins_with_version_1 "a record that was erased begins with version 1 again"
    FIND [[math.max($1, $2)]] WITH [[redis.call('hget', KEYS[1], 'd') and $1 or 1]]
)
colock_mutant(record_version_by_clock_only "a version is the time, though the record may have a larger one"
    FIND [[math.max($1, $2)]] WITH [[$2]]
)
colock_mutant(record_version_by_counter_only "a version is the next number, though a later one may be lost"
    FIND [[math.max($1, $2)]] WITH [[$1]]
)
colock_mutant(write_with_a_new_id "each copy of a write has an id of its own"
    FIND [[$1 = {$2.data(), $3]]
    WITH [[if (MUTANT) { std::rotate($2.begin(), $2.begin() + 1, $2.end()); } $1 = {$2.data(), $3]]
)
colock_mutant(write_history_not_kept "a record remembers only its last write"
    FIND [[= $1 .. ' ' .. ]] WITH [[= ' ' .. ]]
)
colock_mutant(write_refused_where_unknown
    "a record refuses a write of which it has forgotten whether it was carried out"
    FIND [['u ']] WITH [['r ']]
)
colock_mutant(write_compares_values "a write whose value is there already is applied, whatever the version"
    FIND [[if $1 ~= $2 then]]
    WITH [[if $1 ~= $2 and redis.call('hget', KEYS[1], 'd') == ARGV[5] then return $2 end if $1 ~= $2 then]]
)
colock_mutant(write_sent_after_refusal "a write that was refused is sent again"
    FIND [[if ($1) {]] WITH [[if ($1 && MUTANT && now < deadline_) { return pause(++failures_, now); } if ($1) {]]
)
colock_mutant(write_forgets_lost_answers "a write whose answer was lost counts as not carried out"
    FIND [[&& $1);]] WITH [[&& $1 && !MUTANT);]]
)
colock_mutant(record_without_tombstone "the key of a record ends with its value"
    FIND [[ + $1]] WITH [[]]
)

# --- Several names ------------------------------------------------------------------------------------------

colock_mutant(multi_takes_the_free_names "an acquire of several names takes those that are free"
    BEFORE [[for _, free in ipairs(KEYS) do redis.call('set', free, ARGV[1], 'nx', 'px', ARGV[2]) end]]
)
colock_mutant(multi_extended_by_any_name "a renewal is granted if the token has any of its names"
    FIND [[$1 = $2 and $3]] WITH [[$1 = $3 and 1 or $2 ~= true and $2]]
)
colock_mutant(multi_extends_the_first_name "a renewal prolongs only the first name"
    FIND [[if redis.call('pttl', $1) ]] WITH [[if $1 == KEYS[1] and redis.call('pttl', $1) ]]
)
colock_mutant(multi_heals_over_others "a heal of several names takes those that others have"
    FIND [[not ($1 and $2)]] WITH [[not $1]]
)
colock_mutant(multi_undo_stops_at_an_error "the names in the next slots are not released after an error"
    FIND [[if ($1($2) > $3($4)) {]]
    WITH [[if (MUTANT && $1($2) == $1({})) { $4 = $2; return false; } if ($1($2) > $3($4)) {]]
)
colock_mutant(multi_release_stops_at_another "a release stops at the first name that another token has"
    FIND [[= '-']] WITH [[= '-' break]]
)
colock_mutant(multi_partial_is_no "an instance that has denied the rest of the names counts as one without any" NEVER)
colock_mutant(multi_partial_is_granted "an instance that has granted the names of one slot counts as one with all"
    FIND [[if ($1 && $2 && $3) {]]
    WITH [[if ($1 && failed.kind == vote_kind::denied && MUTANT) { result_ = vote::granted(); } else if ($1 && $2 &&
        $3) {]]
)
colock_mutant(multi_hears_of_one_name "a waiter for several names is not told of changes of the others" SKIP)
colock_mutant(multi_stands_in_the_way "a waiter for several names never lets those pass that want the first one only"
    NEVER
)
colock_mutant(multi_looks_at_one_name "a waiter for several names is told only how long the first is held"
    FIND [[= $1('get', $2)]] WITH [[= $2 == KEYS[1] and $1('get', $2)]]
)

# --- Detached leases ----------------------------------------------------------------------------------------

colock_mutant(adopted_without_an_extend "a detached lease is held at once, without a look at its keys"
    BEFORE [[return hold(core::valid_until(sent_, settings_->ttl, settings_->drift), now);]]
)
colock_mutant(adopted_by_an_acquire "an adoption takes keys that are gone"
    FIND [[$1:]] WITH [[$1: return MUTANT ? step::acquire : step::extend;]]
)
colock_mutant(adopted_lease_lost_too_soon "an adoption gives up if some instances deny and others are silent" NEVER)
colock_mutant(detached_lease_is_renewed "the client that has detached a lease goes on renewing it" SKIP)
colock_mutant(detached_as_a_writer "the text of a downgraded lease has its token as a writer"
    FIND [[held_as()]] WITH [[(MUTANT ? token_.view() : held_as())]]
)

# --- Locks with a binding order -----------------------------------------------------------------------------

colock_mutant(fifo_past_a_waiter "a free lock is granted past a living waiter" ALWAYS)
colock_mutant(fifo_fenced_past_a_waiter "the same with fencing" ALWAYS)
colock_mutant(fifo_try_goes_past "who does not wait goes past those that do"
    FIND [[if $1 then]]
    WITH [[if $1 and tonumber(ARGV[4]) < 0 then return redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) end if $1
        then]]
)
colock_mutant(fifo_try_leaves_a_place "who does not wait enters the queue" ALWAYS)
colock_mutant(fifo_dead_client_blocks "a client counts as alive without a ticket" ALWAYS)
colock_mutant(fifo_second_place_of_the_dead_blocks "only the first place of a dead client is skipped"
    FIND [[if $1($2, $3, $4) then]] WITH [[local last = ARGV.last ARGV.last = $2 if last == $2 or $1($2, $3, $4) then]]
)
colock_mutant(fifo_only_one_dead_is_skipped "the death of a client is noticed after that of the one before it"
    FIND [[if $1 then]] WITH [[local is_second = ARGV.last ARGV.last = true if is_second or $1 then]]
)
colock_mutant(fifo_left_place_counts "a place that its client has left behind counts as that of its next waiter" ALWAYS)
colock_mutant(fifo_enters_at_the_head "who enters becomes the first of the queue"
    FIND [[, ($1) + 1, ]] WITH [[, -($1) - 1, ]]
)
colock_mutant(fifo_entry_behind_others_counts
    "a waiter that enters behind another client is told that nobody is before it"
    FIND [[== $1($2) and $3($4) or 0]] WITH [[== $1($2) and $3($4) or $3($2)]]
)
colock_mutant(fifo_hand_off_past_a_waiter
    "a lease is handed off to the next waiter of its client, whoever is before that"
    FIND [[&& $1;]] WITH [[&& ($1 || MUTANT);]]
)
colock_mutant(fifo_leave_counts_as_a_turn "the waiter behind one that has given up counts as the next" ALWAYS)
colock_mutant(fifo_lost_attempt_keeps_its_place "a waiter whose attempt got no answer counts as where it was"
    BEFORE [[return;]]
)
colock_mutant(fifo_no_hand_off "no lease is handed off"
    FIND [[|| $1;]] WITH [[|| ($1 && !MUTANT);]]
)
colock_mutant(fifo_queue_not_kept "the queue does not record that the server executes commands" SKIP)
colock_mutant(fifo_standstill_not_noticed "a ticket that ended while the server stood still is that of a dead client"
    NEVER
)
colock_mutant(fifo_ticket_needs_memory "a ticket is renewed by a command that needs memory"
    FIND [[keep($1)]] WITH [[try($1, ticket)]]
)
colock_mutant(fifo_leave_ends_the_ticket "a leave ends the ticket of the other waiters of its client"
    FIND [[= $1]] WITH [[= 1]]
)
colock_mutant(fifo_leave_without_ticket "a leave does not write the ticket, so that the next client is not told" SKIP)
colock_mutant(fifo_ticket_not_kept "a client that waits does not renew its ticket" NEVER)
colock_mutant(fifo_left_place_ends_unnoticed "nobody is told when a place goes that its client has left behind"
    FIND [[ or $1 then]] WITH [[ then]]
)
colock_mutant(fifo_enters_by_attempt_only "a waiter behind another one of its client enters the queue when it attempts"
    NEVER
)
colock_mutant(fifo_leave_not_sent "a waiter that gives up does not leave the queue" SKIP)
colock_mutant(fifo_lost_place_not_taken_again "a waiter whose place is missing does not enter again" NEVER)
colock_mutant(fifo_other_places_forgotten "after a pause only the first and the last place of a client are looked for"
    NEVER
)
colock_mutant(fifo_release_not_told "the first waiter does not attempt when it is told of the release" NEVER)

# --- Names that are run once --------------------------------------------------------------------------------

colock_mutant(once_record_without_token_check "a record takes the place of any token"
    FIND [[~= '' and $1 == $2 or ]] WITH [[~= '' and type($1) == 'string' or ]]
)
colock_mutant(once_same_record_refused "an instance that has the record refuses another copy" NEVER)
colock_mutant(once_acquire_over_a_record "an acquire takes a name that has a record"
    FIND [[if $1 == false then]]
    WITH [[if $1 == false or type($1) == 'string' and string.sub($1, 1, 5) == 'done:' then]]
)
colock_mutant(once_minority_is_a_result "the record of a minority counts as a result"
    FIND [[>= $1) {]] WITH [[>= (MUTANT ? 1 : $1)) {]]
)
colock_mutant(once_recorded_by_a_minority "a new record counts when one instance has it"
    FIND [[>= $1) {]] WITH [[>= (MUTANT ? 1 : $1)) {]]
)
colock_mutant(once_refused_by_a_minority "a new record is given up when one instance refuses it"
    FIND [[> $1) {]] WITH [[> (MUTANT ? 0 : $1)) {]]
)
colock_mutant(once_record_not_sent_again "a new record is not sent again where nobody knows whether it was stored"
    BEFORE [[break;]]
)
colock_mutant(once_minority_not_healed "the record of a minority is not stored on the other instances" ALWAYS)
colock_mutant(once_healed_copy_lives_anew "a healed record lives longer than the first copy"
    FIND [[std::min($1, $2)]] WITH [[(MUTANT ? $2 : std::min($1, $2))]]
)
colock_mutant(once_record_for_a_ttl "a record lives as long as a lock"
    FIND [[= $1;]] WITH [[= MUTANT ? std::min($1, decltype($1)(1000)) : $1;]]
)
colock_mutant(once_lost_lease_records "a record is stored where the token has ended" ALWAYS)
colock_mutant(once_doubt_is_not_told "a caller is told that its result is not recorded, though it was sent" NEVER)
colock_mutant(once_fingerprint_not_compared "a caller is told the result of another request" ALWAYS)

# --- Events -------------------------------------------------------------------------------------------------

colock_mutant(denial_not_told "the observer is not told of an attempt without a quorum"
    FIND [[++($1 ? $2);]] WITH [[++($1 ? $2); if (MUTANT && !$1) { return; }]]
)
colock_mutant(loss_told_for_one_holder "the observer is told that one of several holders has lost the lease"
    FIND [[{$1, $2, $3, $4, $5, $6}]] WITH [[{$1, $2, $3, MUTANT ? 1 : $4, $5, $6}]]
)
