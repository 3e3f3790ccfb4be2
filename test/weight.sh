#!/usr/bin/env bash
# Measures what a user and a developer wait for: the build of the demo, the quickstart after it, and the tests.
# shellcheck source-path=SCRIPTDIR source=../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/weight.sh [DIR] [--demo] [--quickstart] [--tests] [--lines]
       test/weight.sh [DIR] --unit
       test/weight.sh --help

Measures the commit that is checked out in DIR (default: this repository). Each part runs in a fresh clone without ccache.
The unpacked Boost and servers of DIR/build are used. Without an option, all parts are measured.

  --demo        ./examples/like_counter/demo.sh --memory --seconds 1, almost all of which is its build
  --quickstart  the build command of "Five minutes" in README.md, in the clone in which the demo was built
  --tests       ./test/run.sh, or ./test/run.sh --quick in a commit that has this option
  --lines       the lines of src, include, test and examples, code and comments apart
  --unit        print only the CPU time of one unit, in seconds
  --help        print this text

Prints the wall time, the CPU time (user and system) of all child processes, and this CPU time in units. One unit is the
CPU time of a compile of a file that only includes <boost/asio.hpp>. It is the median of compiles before and after each
part. So figures of different machines can be compared. The output of a failed part is kept, and the exit code is 1.
TEXT
}

folder=$colock_root parts=()
measured=()   # "PART CPU TIME"
while (($# > 0)); do
    case $1 in
        --demo | --quickstart | --tests | --lines | --unit) parts+=("${1#--}") ;;
        -*) common_option "$1" ;;
        *) folder=$1 ;;
    esac
    shift
done
if ((${#parts[@]} == 0)); then parts=(demo quickstart tests lines); fi
[[ -x $folder/test/run.sh ]] || refuse "$folder is no checkout of colock"
folder=$(cd "$folder" && pwd)
export CCACHE_DISABLE=1
failed=0
work=
temporary_folder work

wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }

# measure COMMAND...: stores the wall time in `wall` and the CPU time in `cpu`, both in seconds. The exit code is the
# command's.
measure() {
    local status=0 TIMEFORMAT='%R %U %S' user system
    { time "$@" >"$work/output" 2>&1; } 2>"$work/time" || status=$?
    read -r wall user system < <(tail -n 1 "$work/time")
    cpu=$(awk "BEGIN { print $user + $system }")
    return "$status"
}

# The compiler and the Boost of the clones.
prepare_unit() {
    local prefix
    prefix=$("$folder/cmake/bootstrap.sh" --library --print-prefix | tail -n 1)
    unit_command=(c++ -std=c++20 ${prefix:+-isystem "$prefix/include"} -c "$work/unit.cpp" -o "$work/unit.o")
    printf '#include <boost/asio.hpp>\n' >"$work/unit.cpp"
}

# measure_units COUNT: adds the CPU times of some compiles to the list from which `unit` is computed.
measure_units() {
    local i
    for ((i = 0; i < $1; ++i)); do
        measure "${unit_command[@]}" || { cat "$work/output" >&2; die "cannot compile a file that includes <boost/asio.hpp>"; }
        printf '%s\n' "$cpu" >>"$work/units"
    done
    unit=$(sort -n "$work/units" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }')
}

# make_clone NAME
make_clone() {
    local each
    git clone --quiet "$folder" "$work/$1"
    mkdir -p "$work/$1/build"
    for each in boost valkey redis8; do
        if [[ -e $folder/build/$each ]]; then cp -a "$folder/build/$each" "$work/$1/build"; fi
    done
}

# measure_part NAME CLONE COMMAND...
measure_part() {
    local name=$1 clone=$2 status=0
    shift 2
    measure_units 2
    measure run_in "$work/$clone" "$@" || status=$?
    local part_wall=$wall part_cpu=$cpu
    mv "$work/output" "$work/$name.log"
    measure_units 2
    printf '%-11s %8.0f s wall %8.0f s CPU' "$name" "$part_wall" "$part_cpu"
    measured+=("$name $part_cpu")
    if ((status == 0)); then
        printf '\n'
    else
        cp "$work/$name.log" "${TMPDIR:-/tmp}/colock_weight_$name.log"
        printf '   FAILED (exit code %d): see %s\n' "$status" "${TMPDIR:-/tmp}/colock_weight_$name.log"
        failed=1
    fi
}

# shellcheck disable=SC2317  # measure() calls it
run_in() { cd "$1" && shift && "$@"; }

# Prints the first build command of this section.
quickstart_command() {
    awk '/^## Five minutes/ { inside = 1 } inside && /cmake --build/ { print; exit }' "$folder/README.md"
}

# Lines whose first character belongs to a comment count as comment.
print_lines() {
    printf '%-11s %8s %8s %8s\n' lines code comment blank
    local each
    for each in src include test examples; do
        # shellcheck disable=SC2016  # the variables are those of awk
        git -C "$folder" ls-files "$each" | grep -vE '(package-lock\.json|\.svg|/corpus/.*|_seeds\.txt)$' | (cd "$folder" && xargs awk -v name="$each" '
            FNR == 1 {
                block = 0
                mark = "^[ \t]*(//|/\\*)"
                if (FILENAME ~ /\.lua$/) mark = "^[ \t]*--"
                else if (FILENAME ~ /(\.sh|\.py|\.cmake|\.txt|\.yml)$/) mark = "^[ \t]*#"
                else if (FILENAME ~ /\.md$/) mark = "."
            }
            /^[ \t]*$/ { ++blank; next }
            block || $0 ~ mark {
                ++comment
                if (mark ~ "/") block = block ? $0 !~ /\*\// : $0 ~ /^[ \t]*\/\*/ && $0 !~ /\*\//
                next
            }
            { ++code }
            END { printf "%-11s %8d %8d %8d\n", name, code, comment, blank }')
    done
}

if wants unit; then
    ((${#parts[@]} == 1)) || refuse "--unit excludes the other options"
    prepare_unit
    measure_units 5
    printf '%s\n' "$unit"
    exit
fi
say "$folder at $(git -C "$folder" rev-parse --short HEAD), $(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg)"
if wants demo || wants quickstart || wants tests; then
    [[ -z $(git -C "$folder" status --porcelain --untracked-files=no) ]] || die "$folder has changes: commit them first"
    prepare_unit
    measure_units 3
fi
if wants demo || wants quickstart; then
    make_clone demo
    measure_part demo demo ./examples/like_counter/demo.sh --memory --seconds 1
fi
if wants quickstart; then measure_part quickstart demo bash -euo pipefail -c "$(quickstart_command)"; fi
if wants tests; then
    make_clone tests
    tests=(./test/run.sh)
    if grep -q -- --quick "$folder/test/run.sh"; then tests+=(--quick); fi
    measure_part tests tests "${tests[@]}"
fi
if [[ -e $work/units ]]; then
    printf '%s\n' "${measured[@]}" | awk -v unit="$unit" '{ printf "%-11s %8.1f units\n", $1, $2 / unit }'
    printf 'unit        %8.2f s CPU, the median of %d compiles from %s to %s s\n' "$unit" "$(wc -l <"$work/units")" \
        "$(sort -n "$work/units" | head -n 1)" "$(sort -n "$work/units" | tail -n 1)"
fi
if wants lines; then print_lines; fi
exit "$failed"
