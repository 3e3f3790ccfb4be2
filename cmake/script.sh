# shellcheck shell=bash
# Shared functions of colock's user-facing scripts. A script first sources this file:
#
#     source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../cmake/script.sh"
#
# Then it defines usage(), which prints its help. It reads its options in a loop, and passes an unknown option
# to common_option, which prints the help or refuses the option. See test/run.sh for an example. After that,
# it calls colock_bootstrap, and colock_build with a preset and targets.
#
# This file sets -euo pipefail, and colock_root to the repository. It does not change the current folder.

set -euo pipefail

# The traps come before the first child process. For this reason, a script finds this file without `dirname`.
# While bash waits for a child, it may drop a signal that has no trap. A Ctrl-C during a command substitution
# may end the script through the status of that substitution. The trap of INT may also run inside the trap of
# EXIT. Therefore all traps do the same.
colock_end() {   # STATUS
    trap '' INT TERM
    trap - EXIT
    if (($1 == 130)); then printf '%s: interrupted\n' "${0##*/}" >&2; fi
    if declare -F colock_cleanup >/dev/null; then colock_cleanup; fi
    exit "$1"
}
trap 'colock_end $?' EXIT
trap 'colock_end 130' INT
trap 'colock_end 143' TERM

colock_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
colock_script=${0##*/}

# --- Words --------------------------------------------------------------------------------------------------

say() { printf '== %s\n' "$*"; }
die() { printf '%s: %s\n' "$colock_script" "$*" >&2; exit 1; }

# Reports wrong use. The exit code is 2.
refuse() { printf '%s: %s (see --help)\n' "$colock_script" "$*" >&2; exit 2; }

common_option() {
    case $1 in
        --help | -h) usage; exit 0 ;;
        -*) refuse "unknown option $1" ;;
        *) refuse "unexpected argument $1" ;;
    esac
}

# option_value "$@": refuses an option that has no value.
option_value() {
    if (($# < 2)) || [[ -z $2 ]]; then refuse "$1 needs a value"; fi
}

# output_option "$@": checks an option that names a file for results. A file that cannot be written is refused
# before the work, not after it.
output_option() {
    option_value "$@"
    local is_new=false
    if [[ ! -e $2 ]]; then is_new=true; fi
    { : >>"$2"; } 2>/dev/null || refuse "$1: cannot write $2"
    if $is_new; then rm -f "$2"; fi
}

# --- Bootstrap and build ------------------------------------------------------------------------------------

# The needs of the preset "release", which builds all of these.
# shellcheck disable=SC2034  # for the scripts
colock_release_needs=(--tests --examples --benchmarks)

# colock_bootstrap NEED...: runs cmake/bootstrap.sh for the needs of the script.
colock_bootstrap() {
    "$colock_root/cmake/bootstrap.sh" "$@" || exit $?
}

# colock_forget_other_folder PRESET: removes a CMake cache that names another place, because CMake refuses to
# use it. A clone that was moved or copied has such a cache.
colock_forget_other_folder() {
    local cache=$colock_root/build/$1/CMakeCache.txt home
    [[ -e $cache ]] || return 0
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
    if [[ ! $home -ef $colock_root ]]; then
        say "build/$1 was configured in another folder ($home): configuring it anew"
        rm -rf "$cache" "$colock_root/build/$1/CMakeFiles"
    fi
}

# colock_build PRESET [TARGET...]: configures and builds build/PRESET. Without targets, it builds everything.
colock_build() {
    local preset=$1 log
    shift
    say "building ${*:-everything} ($preset, in build/$preset)"
    mkdir -p "$colock_root/build"
    log=$colock_root/build/configure-$preset.log
    # cmake finds the presets in the current folder only.
    colock_forget_other_folder "$preset"
    if ! (cd "$colock_root" && cmake --preset "$preset" >"$log" 2>&1); then
        cat "$log" >&2
        die "cmake could not configure $preset"
    fi
    grep -E -- '^-- (Boost|No Valkey|No Redis) ' "$log" || true
    (cd "$colock_root" && cmake --build --preset "$preset" ${1:+--target "$@"}) || die "the build of $preset failed"
}

# hold_back_summary FILE: copies the output of ctest, and stores the summary at its end in the file instead.
hold_back_summary() {
    local line is_summary=false
    : >"$1"
    while IFS= read -r line; do
        if [[ $line =~ ^[0-9]+%\ tests\ passed ]]; then is_summary=true; fi
        if $is_summary; then printf '%s\n' "$line" >>"$1"; else printf '%s\n' "$line"; fi
    done
}

# --- Clean-up at the end ------------------------------------------------------------------------------------
# The script's processes end with it, also after an error, Ctrl-C or SIGTERM. Only the ids of processes that
# the script itself has started are used.

colock_started=()     # "PID birth" of processes, in the order of starting
colock_temporary=()   # folders

# stop_at_exit PID: registers a process that this script has started.
stop_at_exit() {
    local REPLY
    birth_of "$1"
    colock_started+=("$1 $REPLY")
}

# birth_of PID: stores in REPLY when a process was started. The system may give the id of an ended
# process to a later one. On Linux this starts no process, because bash 5.2 may lose a Ctrl-C during a
# command substitution.
birth_of() {
    local fields
    REPLY=
    if [[ ! -e /proc/self/stat ]]; then
        REPLY=$(ps -o lstart= -p "$1" 2>/dev/null || true)
    elif read -r fields 2>/dev/null <"/proc/$1/stat"; then
        read -r -a fields <<<"${fields##*) }"   # behind the name, which may have spaces
        REPLY=${fields[19]}
    fi
}

# temporary_folder NAME: makes a folder and stores its path in the variable NAME. The folder is removed when
# the script ends.
temporary_folder() {
    local -n colock_folder=$1
    colock_folder=$(mktemp -u "${TMPDIR:-/tmp}/colock.XXXXXX")
    colock_temporary+=("$colock_folder")   # before it exists, because Ctrl-C may come at any moment
    mkdir -m 700 "$colock_folder" || die "cannot make the folder $colock_folder"
}

# stop PID...: ends processes by SIGTERM, and wakes stopped ones. Kills a process that still exists after five
# seconds. Only processes registered by stop_at_exit are ended.
stop() {
    local pid deadline=$((SECONDS + 5)) ours=()
    for pid in "$@"; do
        if is_ours "$pid"; then ours+=("$pid"); fi
    done
    for pid in "${ours[@]}"; do
        kill -TERM "$pid" 2>/dev/null || true
        kill -CONT "$pid" 2>/dev/null || true
    done
    for pid in "${ours[@]}"; do
        while is_ours "$pid" && ((SECONDS < deadline)); do sleep 0.05; done
        if is_ours "$pid"; then kill -KILL "$pid" 2>/dev/null || true; fi
        wait "$pid" 2>/dev/null || true
    done
}

# is_ours PID: whether this script has started the process, and it still exists.
is_ours() {
    local entry REPLY
    kill -0 "$1" 2>/dev/null || return 1
    birth_of "$1"
    for entry in "${colock_started[@]}"; do
        if [[ $entry == "$1 $REPLY" ]]; then return 0; fi
    done
    return 1
}

# run_interruptible COMMAND...: runs the command. Ctrl-C and SIGTERM need not wait for its end. Do not
# redirect its stderr, because the trap of INT writes its message there.
run_interruptible() {
    local pid status=0
    "$@" &
    pid=$!
    stop_at_exit "$pid"
    wait "$pid" || status=$?
    return "$status"
}

# run_with_servers COMMAND...: does the same for a command that starts servers. Their folders are inside a
# temporary folder, so none stays behind after Ctrl-C.
run_with_servers() {
    local servers=
    temporary_folder servers
    TMPDIR=$servers run_interruptible "$@"
}

colock_cleanup() {
    local folder
    if declare -F before_cleanup >/dev/null; then before_cleanup || true; fi   # The script's own clean-up.
    stop "${colock_started[@]%% *}"
    for folder in "${colock_temporary[@]}"; do rm -rf "$folder"; done
}
