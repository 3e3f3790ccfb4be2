#!/usr/bin/env bash
# Tests locks under random faults. Four client processes use five servers.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/integration/chaos.sh [--seconds S] [--seed N] [--json FILE] [--only KIND]... [--broken HOW]
       test/integration/chaos.sh --help

Prepares the machine (cmake/bootstrap.sh) and builds. Starts five redis-servers on free loopback ports, each behind a
proxy that can fail, and four processes. Their 240 coroutines compete for the same 48 locks.

A fault strikes every few hundred milliseconds. It strikes at most two of the five servers at the same time, or stops one
process for longer than the ttl. A server counts as struck until its quarantine is over and every client is connected
again. Acquires and critical sections are cancelled at random. At the end it prints the verdict as JSON.

  --seconds S    duration of the faults in seconds, 1 to 86400 (default: 60)
  --seed N       seed of all random choices (default: a new one, which is printed). The same seed gives the same faults in
                 the same order. Their effects also depend on the machine.
  --json FILE    write all figures to FILE
  --only KIND    inject only this kind of fault. May be repeated. One of: client_stop, stop, restart, delay, hold, cut, drop,
                 one_way, client_pause, client_kill, script_flush, out_of_memory, busy_script
  --broken HOW   break the clients, to see that violations are found. The run ends at the first one. One of:
                 hold-past-validity  clients stay in the critical section after their lease has ended
                 no-quarantine       clients trust servers that have just restarted
                 Broken clients do not renew their leases.
  --help         print this text

These fail the run:
  violations          two clients were in the critical section of one name at the same time. Each client records when it
                      enters and leaves, on the monotonic clock. A client without a valid lease does not count as inside.
  leftover_keys       keys that remain on a server 1 s after the longest ttl, when all clients are closed. The keys of
                      the remote queues may remain until the oldest ticket has expired (16 s).
  unavailable_share   the locks were unavailable for more than 1 % of the time. Each process has a coroutine that acquires
                      locks which no other process uses. If none of these coroutines acquires a lock for more than 100 ms,
                      that is an outage. It lasts from the last success to the next one.
  failures            a list of all failures in words. Too few sections, faults or kinds of faults are failures too.
                      (Kinds of faults are counted in runs of at least 60 s.)

longest_wait_ms is the longest wait for a contended lock. longest_probe_ms is the longest wait for an uncontended one. Both
include the time for which the process itself was stopped.

Environment:
  COLOCK_REDIS_SERVER=PROGRAM   server to start (default: redis-server)

Exit codes:
  0    no failure (with --broken: violations were found)
  1    a failure
  2    wrong usage
  130  interrupted
TEXT
}

kinds="client_stop|stop|restart|delay|hold|cut|drop|one_way|client_pause|client_kill|script_flush|out_of_memory|busy_script"
options=()
while (($# > 0)); do
    case $1 in
        --seconds)
            option_value "$@"
            if [[ ! $2 =~ ^[0-9]{1,5}$ ]] || ((10#$2 < 1 || 10#$2 > 86400)); then
                refuse "--seconds needs a number from 1 to 86400, not $2"
            fi
            options+=("$1" "$((10#$2))")
            shift
            ;;
        --seed)
            option_value "$@"
            if [[ ! $2 =~ ^[0-9]{1,18}$ ]]; then refuse "--seed needs a number, not $2"; fi
            options+=("$1" "$((10#$2))")
            shift
            ;;
        --broken)
            option_value "$@"
            if [[ ! $2 =~ ^(hold-past-validity|no-quarantine)$ ]]; then refuse "--broken: no such thing as $2"; fi
            options+=("$1" "$2")
            shift
            ;;
        --only)
            option_value "$@"
            if [[ ! $2 =~ ^($kinds)$ ]]; then refuse "--only: no such thing as $2"; fi
            options+=("$1" "$2")
            shift
            ;;
        --json) output_option "$@"; options+=("$1" "$2"); shift ;;
        *) common_option "$1" ;;
    esac
    shift
done

colock_bootstrap "${colock_release_needs[@]}"
colock_build release chaos
say "locks under random faults"
run_with_servers "$colock_root/build/release/test/integration/chaos/chaos" "${options[@]}"
