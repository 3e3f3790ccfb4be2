#!/usr/bin/env bash
# check_exports.sh LIBRARY FOLDER: checks that the shared library exports each symbol of the interface that the object
# files in the folder define, and no symbol of the inner layers. This is a ctest test, and not meant to be run by hand.
set -euo pipefail

library=$1 folder=$2
export LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The functions and variables of the namespaces, one a line, without weak ones that every program has itself.
symbols_of() { c++filt | grep -E "^($1)" | sort -u; }

find "$folder" -name '*.o' ! -path '*verify_interface*' -exec readelf --symbols --wide {} + |
    awk '$5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | symbols_of 'colock::v1::' >"$scratch/interface"
nm --dynamic --defined-only "$library" | awk '$2 ~ /[TDBR]/ { print $3 }' >"$scratch/exported"
symbols_of 'colock::v1::' <"$scratch/exported" >"$scratch/exported_interface"
symbols_of 'colock::(core|platform|resp|kinds|instance|runtime)::' <"$scratch/exported" >"$scratch/inner" || true

printf '%s functions and variables are exported\n' "$(wc -l <"$scratch/exported_interface")"
[[ -s $scratch/interface ]] || { echo "no symbol of the interface was found in $folder"; exit 1; }
missing=$(comm -23 "$scratch/interface" "$scratch/exported_interface")
if [[ -n $missing ]]; then printf 'not exported:\n%s\n' "$missing"; exit 1; fi
if [[ -s $scratch/inner ]]; then printf 'exported, and no part of the interface:\n%s\n' "$(<"$scratch/inner")"; exit 1; fi
