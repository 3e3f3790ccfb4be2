#!/usr/bin/env bash
# The like counter, whole: lock servers, a data server, service processes, load, faults, and the check of every like.

# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: examples/like_counter/demo.sh [options]

Builds and runs the like counter: five redis-servers for the locks, one for the data, two service processes, and a driver
that sends requests. During the run one lock server is killed (SIGKILL) and another is stopped for two seconds (SIGSTOP).
Both come back. At the end the driver checks every entity. Its set of users, its total, and the number of accepted likes
must agree. All processes that the demo has started are stopped.

  --seconds N     duration of the load in seconds, 1 to 3600 (default: 10)
  --instances N   number of lock servers, 1 to 25 (default: 5). With fewer than five, the two faults do not overlap.
  --cluster       keep locks and likes in one Redis Cluster of three masters. There a like writes to two slots, which no
                  transaction covers. Instead of the faults, slots move to another master and back.
  --memory        use no Redis: one service process keeps locks and likes in its memory. There are no faults.
  --stale-writer  also start a third process, and stop it (SIGSTOP) just before it writes under its lock. When its lock has
                  expired, another process writes. Then the first resumes, and the data server must reject its write.
  --store STORE   how the likes are kept. locked: under the locks (default). versioned: as one colock::versioned value for each
                  author, without locks and lock servers. There are no faults, except the slots that move with --cluster.
  --stripes N     send all likes to one entity, and divide its users among N locks, 1 to 65536. With 1, all users wait for
                  the same lock.
  --no-lock       use no locks, to show how the totals drift apart. The exit code is 1 then.
  --page          show everything on a page in a browser, until Ctrl-C. Buttons send likes, switch the locks off, and
                  stop, kill and restart lock servers. Only --instances and --port go with it.
  --port N        port of the page on 127.0.0.1, 1024 to 65535 (default: a free port)
  --serve         send no requests. The services run until Ctrl-C, for curl and a browser.
  --json FILE     write the result to FILE
  --help          print this text

Environment:
  LIKE_COUNTER_PROGRAMS=DIR   use the programs in this folder instead of building them

Exit codes:
  0      no mismatch, no overlap of critical sections, and no stale write accepted
  1      one of these occurred
  2      wrong usage
  other  the demo could not run
TEXT
}

seconds=10
instances=
cluster=false
memory=false
locking=true
serve=false
page=false
port=
stale_writer=false
store=locked
stripes=
json=

number_option() {   # NAME VALUE SMALLEST LARGEST
    if [[ ! $2 =~ ^[0-9]{1,5}$ ]] || ((10#$2 < $3 || 10#$2 > $4)); then
        refuse "$1 needs a number from $3 to $4, not $2"
    fi
}

while (($# > 0)); do
    case $1 in
        --seconds) option_value "$@"; number_option "$1" "$2" 1 3600; seconds=$((10#$2)); shift ;;
        --instances) option_value "$@"; number_option "$1" "$2" 1 25; instances=$((10#$2)); shift ;;
        --port) option_value "$@"; number_option "$1" "$2" 1024 65535; port=$((10#$2)); shift ;;
        --json) output_option "$@"; json=$2; shift ;;
        --store)
            option_value "$@"
            [[ $2 =~ ^(locked|versioned)$ ]] || refuse "--store needs locked or versioned, not $2"
            store=$2
            shift
            ;;
        --stripes) option_value "$@"; number_option "$1" "$2" 1 65536; stripes=$((10#$2)); shift ;;
        --cluster) cluster=true ;;
        --memory) memory=true ;;
        --no-lock) locking=false ;;
        --page) page=true ;;
        --serve) serve=true ;;
        --stale-writer) stale_writer=true ;;
        *) common_option "$1" ;;
    esac
    shift
done

if $cluster && { $memory || [[ -n $instances ]]; }; then refuse "--cluster goes with neither --memory nor --instances"; fi
if [[ -n $port ]] && ! $page; then refuse "--port needs --page"; fi
if $page && { $cluster || $memory || $serve || $stale_writer || ! $locking || [[ $store != locked || -n $stripes || -n $json ]]; }; then
    refuse "only --instances and --port go with --page"
fi
instances=${instances:-5}
if [[ $store == versioned ]]; then
    if ! $locking; then refuse "--store versioned uses no locks anyway"; fi
    locking=false
fi
if [[ -n $stripes ]] && ! $locking; then refuse "--stripes needs locks"; fi
if [[ -n $stripes ]] && $stale_writer; then refuse "--stripes does not go with --stale-writer"; fi
if $stale_writer && { $memory || ! $locking; }; then refuse "--stale-writer needs locks on Redis"; fi

readonly ttl_ms=2000   # of the locks
work=                  # a temporary folder: logs, results, the servers' own folders

# --- Time -------------------------------------------------------------------------------------------------------------

# The time, in REPLY. Loops call no `$(...)`, in which bash 5.2 may lose a Ctrl-C.
now_ms() { REPLY=$((${EPOCHREALTIME/[.,]/} / 1000)); }

# wait_for WHAT SECONDS COMMAND...: until the command succeeds.
wait_for() {
    local what=$1 deadline REPLY
    now_ms
    deadline=$((REPLY + $2 * 1000))
    shift 2
    until "$@"; do
        now_ms
        if ((REPLY > deadline)); then die "$what: not within the time allowed"; fi
        run_interruptible sleep 0.05
    done
}

sleep_until_ms() {
    local left REPLY
    now_ms
    left=$(($1 - REPLY))
    if ((left > 0)); then run_interruptible sleep "$(printf '%d.%03d' $((left / 1000)) $((left % 1000)))"; fi
}

# --- Redis servers ----------------------------------------------------------------------------------------------------

declare -A redis_pid redis_port   # by name: lock1, lock2, ..., data; or master1, master2, master3
declare -A bus_port               # of the masters

in_use() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A port that nobody listens on, below those that the system gives to outgoing connections.
free_port() {
    local port
    for _ in {1..100}; do
        port=$((10000 + RANDOM % 20000))
        if ! in_use "$port"; then printf '%s' "$port"; return; fi
    done
    die "no free port found"
}

ping_redis() { exec timeout 1 redis-cli -e -h 127.0.0.1 -p "$1" ping >/dev/null 2>&1; }
redis_answers() { run_interruptible ping_redis "$1"; }

# Starts a server on a port, and tells whether it came up: another program may have taken the port meanwhile.
try_redis() {
    local name=$1 port=$2 folder=$work/$1 deadline more=() REPLY
    now_ms
    deadline=$((REPLY + 10000))
    mkdir -p "$folder"
    if $cluster; then
        bus_port[$name]=$(free_port)
        more=(--cluster-enabled yes --cluster-port "${bus_port[$name]}")
    fi
    redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --daemonize no --dir "$folder" "${more[@]}" \
        </dev/null >>"$work/$name.log" 2>&1 &
    redis_pid[$name]=$!
    redis_port[$name]=$port
    stop_at_exit "${redis_pid[$name]}"
    while kill -0 "${redis_pid[$name]}" 2>/dev/null && ((REPLY < deadline)); do
        if redis_answers "$port"; then return 0; fi
        run_interruptible sleep 0.02
        now_ms
    done
    return 1
}

# start_redis NAME [PORT]: without a port, on a free one.
start_redis() {
    for _ in {1..5}; do
        if try_redis "$1" "${2:-$(free_port)}"; then return 0; fi
    done
    cat "$work/$1.log" >&2
    die "redis-server ($1) does not start on port ${redis_port[$1]}"
}

redis_uri() { printf 'redis://127.0.0.1:%s' "${redis_port[$1]}"; }

start_redis_servers() {
    local i
    start_redis data
    if $locking; then
        for ((i = 1; i <= instances; ++i)); do start_redis "lock$i"; done
    fi
    say "$((${#redis_pid[@]} - 1)) lock servers and 1 data server run"
}

# --- A Redis Cluster --------------------------------------------------------------------------------------------------

readonly masters=(master1 master2 master3)
declare -A redis_fd redis_id   # of the masters: a connection, and their names in the cluster

cluster_uri() {
    local name hosts=()
    for name in "${masters[@]}"; do hosts+=("127.0.0.1:${redis_port[$name]}"); done
    local IFS=,
    printf 'redis+cluster://%s' "${hosts[*]}"
}

reply=()   # of the last `ask`: the elements of an array, or the one value

# ask MASTER WORD...: a command, on a connection that stays open. Starting redis-cli for each would take so long that a
# slot is on its way for longer than a write may take.
ask() {
    local fd=${redis_fd[$1]} line left
    shift
    printf '%s\r\n' "$*" >&"$fd"
    reply=()
    for ((left = 1; left > 0; --left)); do
        read_line
        case $line in
            \**) left=$((left + ${line#\*})); continue ;;
            -*) die "$1 $2: ${line#-}" ;;
            \$*) read_line ;;   # its length came first
        esac
        reply+=("${line#[+:]}")
    done
}

# Reads one line of the reply into the variable `line`.
read_line() {
    IFS= read -r -t 10 -u "$fd" line || die "a master of the cluster does not answer"
    line=${line%$'\r'}
}

connect_to_masters() {
    local name fd
    for name in "${masters[@]}"; do
        exec {fd}<>"/dev/tcp/127.0.0.1/${redis_port[$name]}"
        redis_fd[$name]=$fd
        ask "$name" CLUSTER MYID
        redis_id[$name]=${reply[0]}
    done
}

# All masters serve, and have heard of one another's epochs. One that has not may lose a slot that comes back to it again
# to an older claim; then no master thinks that it has the slot.
cluster_agrees() {
    local name
    for name in "${masters[@]}"; do
        if ! timeout 1 redis-cli -h 127.0.0.1 -p "${redis_port[$name]}" cluster info | grep -q '^cluster_state:ok'; then
            return 1
        fi
    done
    [[ $(for name in "${masters[@]}"; do
        timeout 1 redis-cli -h 127.0.0.1 -p "${redis_port[$name]}" cluster nodes | cut -d ' ' -f 1,7 | sort | paste -s
    done | sort -u | wc -l) == 1 ]]
}

start_cluster() {
    local i name first=0 last
    for ((i = 0; i < ${#masters[@]}; ++i)); do start_redis "${masters[i]}"; done
    connect_to_masters
    for ((i = 0; i < ${#masters[@]}; ++i)); do
        name=${masters[i]} last=$((16384 * (i + 1) / ${#masters[@]} - 1))
        ask "$name" CLUSTER ADDSLOTSRANGE "$first" "$last"
        ask "$name" CLUSTER SET-CONFIG-EPOCH $((i + 1))
        ask "$name" CLUSTER MEET 127.0.0.1 "${redis_port[master1]}" "${bus_port[master1]}"
        first=$((last + 1))
    done
    wait_for "the cluster is not ready" 30 cluster_agrees
    say "a cluster of ${#masters[@]} masters runs, for locks and data"
}

# move_slot SLOT FROM TO: with the keys that are in it.
move_slot() {
    local name
    ask "$3" CLUSTER SETSLOT "$1" IMPORTING "${redis_id[$2]}"
    ask "$2" CLUSTER SETSLOT "$1" MIGRATING "${redis_id[$3]}"
    ask "$2" CLUSTER GETKEYSINSLOT "$1" 100
    while ((${#reply[@]} > 0)); do
        ask "$2" MIGRATE 127.0.0.1 "${redis_port[$3]}" '""' 0 5000 KEYS "${reply[@]}"
        ask "$2" CLUSTER GETKEYSINSLOT "$1" 100
    done
    for name in "$3" "${masters[@]}"; do ask "$name" CLUSTER SETSLOT "$1" NODE "${redis_id[$3]}"; done
    fault "moved_slot_$1_to" "$3"
}

# Eight times, evenly: a slot that is in use goes to the next master, or the last one that did goes back.
move_slots() {
    local i slot from to
    for ((i = 1; i <= 8; ++i)); do
        at $((i * seconds * 100)) wait_for "the masters do not agree" 30 cluster_agrees
        if ((i % 2 == 1)); then
            from=${masters[i / 2 % 3]} to=${masters[(i / 2 + 1) % 3]}
            ask "$from" RANDOMKEY
            ask "$from" CLUSTER KEYSLOT "${reply[0]}"
            slot=${reply[0]}
            move_slot "$slot" "$from" "$to"
        else
            move_slot "$slot" "$to" "$from"
        fi
    done
}

# --- Service processes ------------------------------------------------------------------------------------------------

service_pids=()
service_addresses=()

lock_arguments() {
    local i
    if [[ $store == versioned ]]; then printf '%s\n' --store versioned; return; fi
    if ! $locking; then printf '%s\n' --no-lock; return; fi
    if [[ -n $stripes ]]; then printf '%s\n' --stripes "$stripes"; fi
    if $cluster; then printf '%s\n' --lock "$(cluster_uri)"; return; fi
    for ((i = 1; i <= instances; ++i)); do
        printf '%s\n' --lock
        if $memory; then printf 'memory://lock%d\n' "$i"; else redis_uri "lock$i"; printf '\n'; fi
    done
}

service_listens() { run_interruptible grep -q '^listening on' "$1" || ! kill -0 "$2" 2>/dev/null; }
service_healthy() { run_interruptible curl -sf -o /dev/null --max-time 2 "http://$1/healthz"; }

# start_service NAME [argument...]: its process and address become the last of service_pids and service_addresses.
start_service() {
    local name=$1 log=$work/service$1.log data=memory arguments pid address
    shift
    if $cluster; then data=$(cluster_uri); elif ! $memory; then data=$(redis_uri data); fi
    mapfile -t arguments < <(lock_arguments)
    : >"$log"   # it is read at once, perhaps before the process has opened it
    (cd "$work" && exec "$programs/like_counter_service" --listen 127.0.0.1:0 --data "$data" --ttl-ms "$ttl_ms" \
        "${arguments[@]}" "$@") </dev/null >"$log" 2>&1 &
    pid=$!
    stop_at_exit "$pid"
    wait_for "service $name" 10 service_listens "$log" "$pid"
    address=$(sed -n 's|^listening on http://||p' "$log")
    if [[ -z $address ]]; then cat "$log" >&2; die "service $name does not start"; fi
    service_pids+=("$pid")
    service_addresses+=("$address")
    wait_for "service $name has no quorum" 10 service_healthy "$address"
}

start_services() {
    local i count=2
    if $memory; then count=1; fi
    for ((i = 1; i <= count; ++i)); do start_service "$i"; done
    say "$count service process(es): ${service_addresses[*]/#/http://}"
}

# The services must end by themselves, and well, when asked to.
stop_services() {
    local pid status
    for pid in "${service_pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in "${service_pids[@]}"; do
        status=0
        wait "$pid" || status=$?
        if ((status != 0)); then
            cat "$work"/service*.log >&2
            die "a service process ended with status $status"
        fi
    done
}

# --- Faults -----------------------------------------------------------------------------------------------------------

fault() {   # WHAT NAME: notes it
    local at REPLY
    now_ms
    at=$((REPLY - load_began))
    printf '%d.%03d %s %s\n' $((at / 1000)) $((at % 1000)) "$1" "$(redis_uri "$2")" >>"$work/faults"
}

kill_redis() {
    kill -KILL "${redis_pid[$1]}"
    wait "${redis_pid[$1]}" 2>/dev/null || true
    fault killed "$1"
}

stop_redis() { kill -STOP "${redis_pid[$1]}"; fault stopped "$1"; }
continue_redis() { kill -CONT "${redis_pid[$1]}"; fault continued "$1"; }
restart_redis() { start_redis "$1" "${redis_port[$1]}"; fault restarted "$1"; }

# at MS COMMAND...: runs the command MS milliseconds after the load has begun.
at() { sleep_until_ms $((load_began + $1)); "${@:2}"; }

# A server that comes back has forgotten its locks: it is in quarantine for a ttl, so that none of them is still in use.
# (Where there are too few instances for that, it comes back only after a ttl.)
inject_faults() {
    local kill_at=$((seconds * 200)) stop_at restart_at stopped=lock2
    if ((instances == 1)); then stopped=lock1; fi
    if ((instances >= 5)); then   # two may be away at once, and a quorum is left
        stop_at=$((kill_at + seconds * 100))
        restart_at=$((stop_at + 500))
    elif ((instances >= 3)); then
        restart_at=$((kill_at + 500))
        stop_at=$((restart_at + ttl_ms + 500))
    else
        restart_at=$((kill_at + ttl_ms))
        stop_at=$((restart_at + seconds * 100))
    fi
    at "$kill_at" kill_redis lock1
    if ((restart_at < stop_at)); then at "$restart_at" restart_redis lock1; fi
    at "$stop_at" stop_redis "$stopped"
    if ((restart_at > stop_at)); then at "$restart_at" restart_redis lock1; fi
    at $((stop_at + 2000)) continue_redis "$stopped"
}

# --- A stale writer ---------------------------------------------------------------------------------------------------

stale_made='' stale_refused=0   # of the one write that is made to come too late

like() { curl -s --max-time 30 "http://$1/v1/entities/$2/likes" --json "{\"user\": \"$3\"}"; }
likes_of() { curl -s --max-time 10 "http://${service_addresses[0]}/v1/entities/$1/likes?users=9"; }

# The data server has seen the fence of a writer. -c: asks the master that has the key's slot.
has_entered() {
    local server=data
    if $cluster; then server=master1; fi
    run_interruptible redis-cli -c -h 127.0.0.1 -p "${redis_port[$server]}" exists "fence:{$1}" >"$work/entered"
    [[ $(<"$work/entered") == 1 ]]
}

is_stopped() {
    local state
    read -r _ _ state _ <"/proc/$1/stat"
    [[ $state == T ]]
}

bob_likes() {
    run_interruptible like "${service_addresses[0]}" "$1" bob >"$work/bob"
    [[ $(<"$work/bob") == *'"changed":'* ]]
}

# make_stale_write PID ADDRESS: ann's like is on its way through a process that dawdles before it writes, and is stopped
# there with the lock. When the lock has expired, bob's like goes through another process. Then the first resumes. The
# variable stale_made stays empty if the process was not stopped before it wrote, or noticed by itself that it was late.
make_stale_write() {
    local slow=$1 entity="stale$RANDOM$RANDOM.post" request likes
    like "$2" "$entity" ann >"$work/ann" &
    request=$!
    stop_at_exit "$request"
    wait_for "the slow service does not get the lock" 30 has_entered "$entity"
    wait_for "the slow service does not answer" 10 service_healthy "$2"   # It has the data server's reply by now.
    kill -STOP "$slow"
    wait_for "process $slow does not stop" 10 is_stopped "$slow"
    likes=$(likes_of "$entity")
    if [[ $likes == *'"likes":0,'* ]]; then
        say "stale writer: process $slow has the lock on $entity, and is stopped before it writes"
        wait_for "no other process gets the lock" 20 bob_likes "$entity"
        say "stale writer: another process got the lock after the ttl, and wrote: $(<"$work/bob")"
    fi
    kill -CONT "$slow"
    wait "$request" || true
    if [[ $likes != *'"likes":0,'* ]]; then
        say "stale writer: process $slow wrote before it was stopped"
        return
    fi
    say "stale writer: the first is awake, and was told: $(<"$work/ann")"
    likes=$(likes_of "$entity")
    say "stale writer: what is there: $likes"
    if [[ $likes != *'"likes":1,'* || $likes != *'"users":["bob"]'* ]]; then
        stale_made=1
    elif grep -q '"stale"' "$work/ann"; then
        stale_made=1 stale_refused=1
    fi
}

# The slow process dawdles for longer than the ttl. So it is still about to write when it resumes.
meet_stale_writer() {
    local slow address deadline REPLY
    start_service slow --dawdle-ms $((ttl_ms * 3 / 2))
    slow=${service_pids[-1]} address=${service_addresses[-1]}
    unset 'service_addresses[-1]'   # no load for this one
    now_ms
    deadline=$((REPLY + 30000))
    while [[ -z $stale_made ]]; do
        if ((REPLY > deadline)); then die "no process could be stopped before it wrote"; fi
        make_stale_write "$slow" "$address"
        now_ms
    done
}

# --- The two things to do ---------------------------------------------------------------------------------------------

# Starts the driver. Its process is in the variable driver.
start_driver() {
    (cd "$work" && exec "$programs/like_counter_driver" "$@") </dev/null &
    driver=$!
    stop_at_exit "$driver"
}

run_load() {
    local driver targets=() hot=() status=0
    if [[ -n $stripes ]]; then hot=(--entities 1 --authors 1); fi
    targets=("${service_addresses[@]/#/--target=}")
    say "load for $seconds s"
    : >"$work/faults"
    now_ms
    load_began=$REPLY
    start_driver load --seconds "$seconds" --json "$work/result.json" "${hot[@]}" "${targets[@]}"
    if $cluster; then move_slots; elif $locking && ! $memory; then inject_faults; fi
    wait "$driver" || status=$?
    if ((status > 1)); then
        tail -n 20 "$work"/service*.log >&2
        die "the driver failed"
    fi
}

report() {
    "$programs/like_counter_driver" report "$work/result.json" --faults "$work/faults" ${json:+--json "$json"} \
        ${stale_made:+--stale-writes "$stale_refused/$stale_made"}
}

stay_up() {
    local address=${service_addresses[0]}
    cat <<TEXT
In a browser: http://$address/

curl http://$address/v1/entities/ada.first-post/likes --json '{"user": "bob"}'
curl http://$address/v1/entities/ada.first-post/likes
curl -X DELETE 'http://${service_addresses[-1]}/v1/entities/ada.first-post/likes?user=bob'
curl http://$address/v1/authors/ada
curl http://$address/v1/status

Ctrl-C ends it.
TEXT
    wait -n "${service_pids[@]}" || true
    die "a service process has ended: $(tail -n 3 "$work"/service*.log)"
}

# The driver starts the processes itself, because its page stops and restarts them.
show_page() {
    local driver status=0
    say "the page shows $instances lock servers and 2 services. Open its address in a browser. Ctrl-C ends it."
    start_driver page --service "$programs/like_counter_service" --folder "$work" --instances "$instances" \
        ${port:+--port "$port"}
    wait "$driver" || status=$?
    exit "$status"
}

# --- The whole --------------------------------------------------------------------------------------------------------

programs=${LIKE_COUNTER_PROGRAMS:-}
if [[ -z $programs ]]; then
    colock_bootstrap --examples
    colock_build examples like_counter_service like_counter_driver
    programs=$colock_root/build/examples/examples/like_counter
fi
temporary_folder work
if $page; then show_page; fi
if $cluster; then start_cluster; elif ! $memory; then start_redis_servers; fi
start_services
if $serve; then stay_up; fi
if $stale_writer; then meet_stale_writer; fi
run_load
stop_services
report
