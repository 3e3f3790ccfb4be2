#!/usr/bin/env bash
# Locks under random faults: four client processes, five servers.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/integration/chaos.sh [--seconds S] [--seed N] [--json FILE] [--only KIND]... [--broken HOW] [--help]

Prepares the machine (cmake/bootstrap.sh), builds, and starts five redis-servers on free loopback ports, a bad network
before each, and four processes with 240 coroutines that want the same 48 locks. Every few hundred milliseconds
something goes wrong: never with more than two of the five servers at once (one that is still in quarantine after a
restart, or not yet reconnected to by every client, counts), or with one of the processes, which is stopped for longer than
the ttl. Acquires and sections are cancelled at random moments. Then it judges, and prints as JSON, what came of it.

  --seconds S    of faults, 1 to 86400 (default 60)
  --seed N       of all that is random; by default a new one, which is printed. The same seed gives the same faults in the
                 same order; at what they strike depends on the machine as well
  --json FILE    write all figures to FILE
  --only KIND    no faults but these: client_stop, stop, restart, delay, hold, cut, drop, one_way, client_pause,
                 client_kill, script_flush, out_of_memory, busy_script
  --broken HOW   make the clients wrong: hold-past-validity (they stay inside when their lease has ended) or no-quarantine
                 (they trust servers that have just restarted). Then violations are expected
  --help         this text

What is wrong:
  violations          two were in critical sections of one name at once. Each writes down when it enters and leaves, on
                      the monotonic clock; who has no valid lease, by the lease's own account, is not inside
  leftover_keys       keys on any server when all clients were closed, and one second more than the ttl was over; those of the
                      remote queues, when that of the oldest ticket was (16 s)
  unavailable_share   more than 0.01 of the time. Each process has a coroutine that takes, one after the other, locks
                      that nobody else wants. A stretch of more than 100 ms in which none of them, in any process, got its
                      lock is an outage, and counts from the success before it to the one after it
  failures            all this in words; and that too few sections, faults, or (from 60 s on) kinds of faults have occurred

longest_wait_ms is how long somebody has waited for a lock that others wanted too, longest_probe_ms for one that nobody else
wanted; stops of its own process included.

Environment: COLOCK_REDIS_SERVER names the server to use instead of redis-server.

Exit codes: 0 nothing was wrong (with --broken: there were violations); 1 something was; 2 wrong use; 130 interrupted.
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

colock_bootstrap
colock_build release chaos
say "locks under random faults"
run_with_servers "$colock_root/build/release/test/integration/chaos/chaos" "${options[@]}"
