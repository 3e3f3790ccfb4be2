#!/usr/bin/env bash
# examples_on_servers.sh LIST: runs examples on three redis-servers, which it starts and stops. Memory instances have no
# quarantine and no network, so an example may work with them and fail for a user. LIST is a file with lines for bash. Each
# is: example INSTANCES OUTPUT PROGRAM [ARGUMENT...]. This is a ctest test, and not meant to be run by hand.
set -euo pipefail

work=$(mktemp -d)
readonly work
servers=() uris=() failures=0

stop() {
    if ((${#servers[@]} > 0)); then
        kill "${servers[@]}" 2>/dev/null || true
        wait "${servers[@]}" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap stop EXIT

# example INSTANCES OUTPUT PROGRAM [ARGUMENT...]: runs the program with the arguments and the URIs of so many servers. Its
# output must match the regular expression OUTPUT.
example() {
    local instances=$1 expected=$2 output
    shift 2
    output=$("$@" "${uris[@]:0:instances}" 2>&1 || echo "exit code $?"; printf 'end')
    if [[ ! $output =~ ^${expected}end$ ]]; then
        printf '%s: it prints:\n%s\n' "${1##*/}" "${output%end}"
        failures=$((failures + 1))
    fi
    for uri in "${uris[@]}"; do redis-cli -s "${uri#unix://}" flushall >/dev/null; done
}

for number in 1 2 3; do
    socket=$work/$number.sock
    "${COLOCK_REDIS_SERVER:-redis-server}" --port 0 --unixsocket "$socket" --save '' --dir "$work" >/dev/null &
    servers+=($!)
    uris+=("unix://$socket")
done
deadline=$((SECONDS + 30))
for uri in "${uris[@]}"; do
    until redis-cli -s "${uri#unix://}" ping >/dev/null 2>&1; do
        ((SECONDS < deadline)) || { printf 'a server does not answer\n'; exit 1; }
        sleep 0.02
    done
done

# shellcheck source=/dev/null
source "$1"
((failures == 0))
