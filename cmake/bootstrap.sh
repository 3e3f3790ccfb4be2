#!/usr/bin/env bash
# Prepares a Debian machine for the needs that its caller names. Installs the missing packages. If the system has and
# offers no Boost >= 1.88 (Debian 12), unpacks one into build/boost/<version>/ without installing it. Unpacks other
# servers and compilers for the tests in the same way.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly boost_tree=$root/build/boost
readonly oldest_minor=88        # Boost 1.88 is the oldest supported version.
readonly preferred_boost=1.92   # The version that builds and tests use first.
# The servers of Debian's testing suite on which tests run in addition to the system's. An entry is
# "TITLE|PROGRAM|OLDEST MAJOR VERSION|PACKAGES".
declare -rA servers=(
    [valkey]="Valkey|valkey-server|9|valkey-server valkey-tools"
    [redis8]="Redis 8|redis-server|8|redis-server redis-tools"
)
# The libraries that they need from that suite, including their C library.
readonly server_libraries=(
    libc6 libgcc-s1 libstdc++6 libatomic1 libssl3t64 libzstd1 zlib1g libjemalloc2 liblzf1 libsystemd0
)
# The compiler of Debian 13 that Debian 12 does not offer, with its C library. The assembler and the linker are the system's.
readonly gcc_major=14
readonly gcc_packages=(
    libgcc-14-dev libstdc++-14-dev libc6 libstdc++6 libgcc-s1 libgmp10 libisl23 libmpc3 libmpfr6 libzstd1 zlib1g
)

usage() {
    cat <<'TEXT'
Usage: cmake/bootstrap.sh [NEED]... [--check | --print-prefix]
       cmake/bootstrap.sh --help

Prepares a Debian machine for the NEEDs. Needs root or sudo. Installs the packages that are missing, and no others.
If the system offers no Boost >= 1.88, unpacks the headers of a newer Debian release into build/boost/<version>/.
If nothing is missing, it ends quickly and does not use the network. If it installs the packages redis-server or
prometheus, it leaves no service running or enabled.

Each NEED names something that you want to do. The default is --work.

  --library       build the library: g++, CMake, Ninja, OpenSSL, nlohmann_json and Boost
  --examples      build the examples and run the demo: the library's needs, CLI11, SQLite, redis-server and curl
  --tests         build and run the tests: the library's needs, CLI11, Lua, redis-server, promtool (in the package
                  prometheus), Python, openssl, curl, procps, pkg-config and ccache
  --benchmarks    build and run the benchmarks: the library's needs, CLI11, Google Benchmark and redis-server
  --coverage      measure the coverage: gcovr
  --format        format the sources: clang-format
  --tidy          check the sources: clang-tidy and Python
  --reference     make the reference of the API: g++, CMake, Ninja and Doxygen
  --work          all of the above
  --interop       run other lock libraries: node with npm, and redis-py
  --page          test the page of the like counter: Chromium, and node
  --servers       run tests on other servers. Unpacks Valkey >= 9 and Redis >= 8 into build/valkey/ and build/redis8/.
                  They come from Debian's testing suite, with the libraries that they need. On other systems the tests
                  use the servers that are installed.
  --valkey        like --servers, but only Valkey
  --compiler NAME build with another compiler: g++-N or clang++-N. Installs its package if the system offers it. g++-14
                  is otherwise unpacked into build/g++-14/, with its C library. It comes from Debian 13.

  --check         report what is missing and install nothing. The exit code is 1 if something is missing.
  --print-prefix  prepare the machine, then print only the folder for CMAKE_PREFIX_PATH. Needs the library.
                  The line is empty if the system's Boost is used.
  --help          print this text

Environment:
  COLOCK_BOOST_VERSION=1.NN   use this Boost instead of the system's or 1.92. The oldest supported version is 1.88.

Exit codes:
  0  the machine is ready
  1  something is missing, or a step failed
  2  wrong usage
  3  this version of Boost, or this compiler, is not offered
TEXT
}

say() { printf '== bootstrap: %s\n' "$*"; }
die() { printf 'bootstrap: %s\n' "$*" >&2; exit 1; }

# --- Needs --------------------------------------------------------------------------------------------------

packages=()   # Names of Debian packages.
programs=()   # The programs that other systems must have.
wanted_servers=()
wanted_compilers=()
wants_boost=false

add_need() {
    case $1 in
        library)
            packages+=(g++ cmake ninja-build nlohmann-json3-dev libssl-dev)
            programs+=(c++ cmake ninja)
            wants_boost=true
            ;;
        examples)
            add_need library
            packages+=(libcli11-dev libsqlite3-dev redis-server curl)
            programs+=(redis-server curl)
            ;;
        tests)
            add_need library
            packages+=(libcli11-dev liblua5.1-0-dev redis-server prometheus python3 openssl curl procps pkgconf ccache)
            programs+=(redis-server promtool python3 openssl curl)
            ;;
        benchmarks)
            add_need library
            packages+=(libcli11-dev libbenchmark-dev redis-server)
            programs+=(redis-server)
            ;;
        coverage) packages+=(gcovr) programs+=(gcovr) ;;
        format) packages+=(clang-format) programs+=(clang-format) ;;
        tidy) packages+=(clang-tidy python3) programs+=(clang-tidy python3) ;;
        reference) packages+=(g++ cmake ninja-build doxygen) programs+=(c++ cmake ninja doxygen) ;;
        page)
            packages+=(chromium)
            programs+=(chromium node)
            command -v node >/dev/null || packages+=(nodejs)
            ;;
        interop)   # Node may be installed from another source that includes npm. Debian's npm would not fit it.
            packages+=(python3-redis)
            programs+=(node npm)
            command -v node >/dev/null || packages+=(nodejs)
            command -v npm >/dev/null || packages+=(npm)
            ;;
    esac
}

add_all_needs() {
    local need
    for need in examples tests benchmarks coverage format tidy reference; do add_need "$need"; done
}

# Keeps each name once, in the order of the first ones.
drop_repeated() {
    local -n names=$1
    local name seen=' ' kept=()
    for name in "${names[@]}"; do
        [[ $seen == *" $name "* ]] || kept+=("$name")
        seen+="$name "
    done
    names=("${kept[@]}")
}

# --- Packages -----------------------------------------------------------------------------------------------

missing_packages() {
    local installed package
    ((${#packages[@]} > 0)) || return 0
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
    for package in "${packages[@]}"; do
        [[ $'\n'$installed$'\n' == *$'\n'"installed $package"$'\n'* ]] || printf '%s\n' "$package"
    done
}

as_root() {
    if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

readonly policy=/usr/sbin/policy-rc.d   # It decides whether a package may start, restart or stop a service.
policy_is_ours=false

forbid_service_changes() {
    [[ -e $policy || -L $policy ]] && return 0
    policy_is_ours=true
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
}

allow_service_changes() {
    $policy_is_ours || return 0
    as_root rm -f "$policy"
    policy_is_ours=false
}

# retire_service NAME FILE: disables a service that this run has installed. The user did not ask for a running server.
# FILE has its process id.
retire_service() {
    if [[ -d /run/systemd/system ]]; then
        as_root systemctl disable --now --quiet "$1.service" 2>/dev/null || true
    elif [[ -e $2 ]]; then   # Another policy-rc.d let the package start it.
        as_root service "$1" stop >/dev/null 2>&1 || true
    fi
    if command -v deb-systemd-helper >/dev/null; then
        as_root deb-systemd-helper disable "$1.service" >/dev/null 2>&1 || true
    fi
    as_root update-rc.d "$1" disable >/dev/null 2>&1 || true
}

install_packages() {
    local missing=("$@") quiet=(env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1)
    if ((EUID != 0)) && ! command -v sudo >/dev/null; then
        die "these packages are missing: ${missing[*]}. Run this script as root, or install sudo."
    fi
    say "installing ${missing[*]}"
    as_root "${quiet[@]}" apt-get update -q -o DPkg::Lock::Timeout=600 || say "apt-get update had errors; trying anyway"
    forbid_service_changes
    as_root "${quiet[@]}" apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=600 "${missing[@]}" ||
        die "apt-get could not install: ${missing[*]}"
    allow_service_changes
    if [[ " ${missing[*]} " == *" redis-server "* ]]; then retire_service redis-server /run/redis/redis-server.pid; fi
    if [[ " ${missing[*]} " == *" prometheus "* ]]; then retire_service prometheus /run/prometheus/prometheus.pid; fi
}

# --- Boost --------------------------------------------------------------------------------------------------

# Prints the minor version of the Boost in an include folder, such as 92 for 1.92. Prints nothing
# if there is none.
boost_minor_in() {
    local line
    [[ -r $1/boost/version.hpp ]] || return 0
    while read -r line; do
        if [[ $line =~ ^#define\ BOOST_VERSION\ ([0-9]+) ]]; then
            printf '%s\n' $((BASH_REMATCH[1] / 100 % 1000))
            return 0
        fi
    done <"$1/boost/version.hpp"
}

system_has_boost() {
    local folder minor folders=()
    IFS=: read -ra folders <<<"${Boost_ROOT:-}:${BOOST_ROOT:-}:${CMAKE_PREFIX_PATH:-}:/usr:/usr/local:/opt/homebrew"
    for folder in "${folders[@]}"; do
        [[ -n $folder ]] || continue
        minor=$(boost_minor_in "$folder/include")
        if [[ -n $minor ]] && ((minor >= oldest_minor)); then return 0; fi
    done
    return 1
}

# Prints the version whose unpacked tree is used. Prints nothing for the system's Boost, or if none is needed. Prints
# "missing" if there is no such tree yet.
chosen_boost() {
    local version=${COLOCK_BOOST_VERSION:-}
    $wants_boost || return 0
    if [[ -z $version ]]; then
        if system_has_boost; then return 0; fi
        version=$preferred_boost
        if [[ -r $boost_tree/default ]]; then version=$(<"$boost_tree/default"); fi
    fi
    if [[ -e $boost_tree/$version/.complete ]]; then printf '%s\n' "$version"; else printf 'missing\n'; fi
}

# debian_archive [ANY]: prints one line "address|keyring" for the archive from which this Debian was
# installed. The system's own apt configuration provides it. The origin of an archive is available only after
# its lists were read. ANY works without the origin.
debian_archive() {
    local release address name codename origin component keyring
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016  # the $(...) are fields of apt-get's format, not the shell's
    while IFS='|' read -r address name codename origin component keyring; do
        [[ $component == main ]] || continue
        [[ $origin == Debian || -n ${1:-} ]] || continue
        [[ -z $release || $name == "$release" || $codename == "$release" ]] || continue
        [[ -r $keyring ]] || keyring=/usr/share/keyrings/debian-archive-keyring.gpg
        printf '%s|%s\n' "$address" "$keyring"
        return 0
    done < <(apt-get indextargets ${1:+--no-release-info} 'Created-By: Packages' \
        --format '$(REPO_URI)|$(RELEASE)|$(CODENAME)|$(ORIGIN)|$(COMPONENT)|$(SIGNED_BY)' 2>/dev/null)
    return 1
}

read_system_lists() {
    ((EUID == 0)) || command -v sudo >/dev/null || return 1
    say "reading the system's package lists"
    as_root apt-get update -q -o DPkg::Lock::Timeout=600 >&2
}

readonly private=$root/build/apt
private_is_ready=false
private_apt() { apt-get -c "$private/apt.conf" "$@"; }

# A separate apt that uses only Debian's testing suite, and Debian 13 for the oldest Boost. It writes only
# under build/apt.
prepare_private_apt() {
    local archive address keyring signed=
    if $private_is_ready; then return 0; fi
    archive=$(debian_archive || { read_system_lists >&2 && debian_archive; } || debian_archive any) ||
        die "this system's apt configuration names no Debian archive to take packages of testing from"
    address=${archive%|*} keyring=${archive##*|}
    if [[ -r $keyring ]]; then signed="[signed-by=$keyring] "; fi
    rm -rf "$private"
    mkdir -p "$private/lists/partial" "$private/cache/archives/partial"
    printf 'deb %s%s testing main\ndeb %s%s trixie main\n' "$signed" "$address" "$signed" "$address" \
        >"$private/sources.list"
    cat >"$private/apt.conf" <<TEXT
Dir::Etc::sourcelist "$private/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$private/lists";
Dir::Cache "$private/cache";
Dir::State::status "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "root";
APT::Default-Release "";
Acquire::Languages "none";
#clear Acquire::IndexTargets::deb::Contents-deb;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
TEXT
    private_is_ready=true
    private_apt update -qq || die "could not read the package lists of Debian 13 and Debian's testing suite"
}

# offered_boosts [OPTION...]: prints the versions that an apt offers with both packages, oldest first. The
# options are for apt-cache. Without options, this is the system's apt.
offered_boosts() {
    local names name version
    names=$(apt-cache "$@" pkgnames libboost | sort -V)
    while read -r name; do
        [[ $name =~ ^libboost1\.([0-9]+)-dev$ ]] || continue
        version=1.${BASH_REMATCH[1]}
        if ((BASH_REMATCH[1] >= oldest_minor)) && grep -qx "libboost-url$version-dev" <<<"$names"; then
            printf '%s\n' "$version"
        fi
    done <<<"$names"
}

# boost_packages VERSION [OPTION...]: prints the necessary packages, one on each line. If Boost.System has a
# package, the package files of Boost.URL need it. The options are for apt-cache.
boost_packages() {
    local version=$1
    shift
    printf '%s\n' "libboost$version-dev" "libboost-url$version-dev"
    apt-cache "$@" pkgnames libboost-system | grep -x "libboost-system$version-dev" || true
}

# Installs the newest Boost that the system itself offers, as on Debian 13. Fails if there is none, or if
# another package would have to be removed.
install_system_boost() {
    local version wanted
    version=$(offered_boosts | tail -n 1)
    [[ -n $version ]] || return 1
    say "installing Boost $version"
    mapfile -t wanted < <(boost_packages "$version")
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get install -y -q --no-install-recommends \
        --no-remove -o DPkg::Lock::Timeout=600 "${wanted[@]}"
}

# Downloads and unpacks one version. The finished tree appears under its name in one step, or not at all.
unpack_boost() {
    local version=$1 package wanted
    mapfile -t wanted < <(boost_packages "$version" -c "$private/apt.conf")
    say "downloading Boost $version (headers, and Boost.URL's static library)"
    (cd "$work" && private_apt download -q "${wanted[@]}") ||
        die "could not download Boost $version"
    say "unpacking it into build/boost/$version"
    mkdir "$work/tree"
    for package in "$work"/*.deb; do dpkg -x "$package" "$work/tree"; done
    # Only the static library works from an unpacked tree. The shared library is in a package that
    # is not downloaded.
    find "$work/tree/usr/lib" -name 'libboost_*.so*' -delete
    find "$work/tree/usr/lib" -type d -path '*/cmake/boost_*-shared' -prune -exec rm -r {} +
    touch "$work/tree/.complete"
    rm -rf "${boost_tree:?}/$version"
    mv "$work/tree" "$boost_tree/$version"
}

fetch_boost() {
    local asked_for=${COLOCK_BOOST_VERSION:-} version=$preferred_boost offered
    if [[ ! -e $boost_tree/${asked_for:-$preferred_boost}/.complete ]]; then
        say "no Boost ${asked_for:->= 1.$oldest_minor} here; asking Debian 13 and the testing suite for it"
        prepare_private_apt
        offered=$(offered_boosts -c "$private/apt.conf")
        version=${asked_for:-$preferred_boost}
        if ! grep -qx "$version" <<<"$offered"; then
            if [[ -n $asked_for ]]; then
                printf 'bootstrap: Debian no longer offers Boost %s; it has: %s\n' "$asked_for" "${offered//$'\n'/ }" >&2
                exit 3
            fi
            version=$(tail -n 1 <<<"$offered")
            [[ -n $version ]] || die "Debian offers no Boost >= 1.$oldest_minor"
        fi
        work=$(mktemp -d "$boost_tree/.unpack.XXXXXX")
        if [[ ! -e $boost_tree/$version/.complete ]]; then unpack_boost "$version"; fi
        rm -rf "$work"
        work=
    fi
    if [[ -z $asked_for ]]; then printf '%s\n' "$version" >"$boost_tree/default"; fi
}

# --- Other servers ------------------------------------------------------------------------------------------

# server_field NAME NUMBER: prints a field of the table above.
server_field() {
    local fields
    IFS='|' read -ra fields <<<"${servers[$1]}"
    printf '%s' "${fields[$2]}"
}
server_title() { server_field "$1" 0; }
server_program() { server_field "$1" 1; }
oldest_major() { server_field "$1" 2; }
server_packages() { server_field "$1" 3; }

# Prints the wanted servers that are neither unpacked nor on the system.
missing_servers() {
    local name
    for name in "${wanted_servers[@]}"; do
        if ! is_new_enough "$name" "$root/build/$name/$(server_program "$name")" &&
            ! is_new_enough "$name" "$(server_program "$name")"; then
            printf '%s\n' "$name"
        fi
    done
}

# is_new_enough NAME PROGRAM: whether the program is a server of a supported version.
is_new_enough() {
    local version
    version=$("$2" --version 2>/dev/null) || return 1
    [[ $version =~ \ v=([0-9]+) ]] && ((BASH_REMATCH[1] >= $(oldest_major "$1")))
}

# fetch_server NAME: downloads and unpacks a server. The server needs a newer C library than the system's, so
# it is started through the library that came with it.
fetch_server() {
    local title program package wanted tree=$root/build/$1
    title=$(server_title "$1")
    program=$(server_program "$1")
    say "no $title here; taking it from Debian's testing suite"
    prepare_private_apt
    read -ra wanted <<<"$(server_packages "$1")"
    mkdir -p "$tree"
    work=$(mktemp -d "$tree/.unpack.XXXXXX")
    (cd "$work" && private_apt download -q "${wanted[@]}" "${server_libraries[@]}") || die "could not download $title"
    say "unpacking it into build/$1"
    for package in "$work"/*.deb; do
        dpkg -x "$package" "$work/tree"
        rm "$package"
    done
    cat >"$work/tree/$program" <<TEXT
#!/bin/sh
# $title with its own C library.
here=\$(dirname "\$(readlink -f "\$0")")
libraries=\$(echo "\$here"/usr/lib/*-linux-gnu*)
exec "\$libraries"/ld*.so.[0-9]* --library-path "\$libraries" "\$here/usr/bin/$program" "\$@"
TEXT
    chmod +x "$work/tree/$program"
    is_new_enough "$1" "$work/tree/$program" ||
        die "$title of Debian's testing suite does not run here, or is older than $(oldest_major "$1")"
    find "$tree" -mindepth 1 -maxdepth 1 ! -name "${work##*/}" -exec rm -rf {} +
    mv "$work/tree"/* "$tree/"
    rm -rf "$work"
    work=
}

# --- Compilers ----------------------------------------------------------------------------------------------

readonly gcc_tree=$root/build/g++-$gcc_major

# Prints the compilers that are wanted, and neither installed nor unpacked.
missing_compilers() {
    local name
    for name in "${wanted_compilers[@]}"; do
        if ! command -v "$name" >/dev/null && [[ ! -x $root/build/$name/$name ]]; then printf '%s\n' "$name"; fi
    done
}

compiler_package() {
    case $1 in
        clang++-*) printf 'clang-%s' "${1#clang++-}" ;;
        *) printf '%s' "$1" ;;
    esac
}

# Compares the exact name. For apt-get and apt-cache show, a name with "+" that no package has is a pattern.
system_offers() { apt-cache pkgnames "$1" | grep -qxF "$1"; }

fetch_compiler() {
    local package
    package=$(compiler_package "$1")
    if ! system_offers "$package"; then read_system_lists || true; fi
    if system_offers "$package"; then
        install_packages "$package"
    elif [[ $1 == "g++-$gcc_major" ]]; then
        unpack_gcc
    else
        printf 'bootstrap: this system offers no %s\n' "$1" >&2
        exit 3
    fi
}

# run_with_own_libraries TREE PROGRAM: replaces it by a script that starts it with the C library of the tree.
run_with_own_libraries() {
    local program=$1/$2 up
    up=$(dirname "$2" | sed 's:[^/]*:..:g')
    mv "$program" "$program.bin"
    cat >"$program" <<TEXT
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")
libraries=\$(echo "\$here/$up"/usr/lib/*-linux-gnu*)
exec "\$libraries"/ld*.so.[0-9]* --argv0 "\$0" --library-path "\$libraries" "\$here/${2##*/}.bin" "\$@"
TEXT
    chmod +x "$program"
}

# The system's linker cannot load the compiler's plugin, which needs a newer C library. Linked programs run with the C
# library of the tree, because the compiler's standard library needs it.
unpack_gcc() {
    local package program target archives
    target=$(gcc -dumpmachine)
    say "no g++ $gcc_major here; taking it from Debian 13"
    prepare_private_apt
    mapfile -t archives < <(printf '%s/trixie\n' "${gcc_packages[@]}" {cpp,gcc,g++}-"$gcc_major-${target//_/-}")
    mkdir -p "$gcc_tree"
    work=$(mktemp -d "$gcc_tree/.unpack.XXXXXX")
    (cd "$work" && private_apt download -q "${archives[@]}") || die "could not download g++ $gcc_major"
    say "unpacking it into build/g++-$gcc_major"
    for package in "$work"/*.deb; do
        dpkg -x "$package" "$work/tree"
        rm "$package"
    done
    for program in cc1plus collect2; do
        run_with_own_libraries "$work/tree" "usr/libexec/gcc/$target/$gcc_major/$program"
    done
    run_with_own_libraries "$work/tree" "usr/bin/$target-g++-$gcc_major"
    cat >"$work/tree/g++-$gcc_major" <<TEXT
#!/bin/sh
# g++ $gcc_major of Debian 13, with its own C library.
here=\$(dirname "\$(readlink -f "\$0")")
libraries=\$(echo "\$here"/usr/lib/*-linux-gnu*)
exec "\$here/usr/bin/$target-g++-$gcc_major" -fno-use-linker-plugin -Wl,--allow-shlib-undefined \\
    "-Wl,--dynamic-linker=\$(echo "\$libraries"/ld*.so.[0-9]*)" "-Wl,-rpath=\$libraries" "\$@"
TEXT
    chmod +x "$work/tree/g++-$gcc_major"
    "$work/tree/g++-$gcc_major" --version >/dev/null || die "g++ $gcc_major of Debian 13 does not run here"
    find "$gcc_tree" -mindepth 1 -maxdepth 1 ! -name "${work##*/}" -exec rm -rf {} +
    mv "$work/tree"/* "$gcc_tree/"
    rm -rf "$work"
    work=
}

# --- Other systems ------------------------------------------------------------------------------------------

require_on_other_systems() {
    local tool missing=()
    for tool in "${programs[@]}" "${wanted_compilers[@]}"; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    if $wants_boost && [[ -z ${COLOCK_BOOST_VERSION:-} ]] && ! system_has_boost; then missing+=("Boost >= 1.$oldest_minor"); fi
    if ((${#missing[@]} == 0)); then return 0; fi
    cat >&2 <<TEXT
bootstrap: this is not Debian, and something is missing here: ${missing[*]}
colock needs a C++20 compiler with coroutines (g++ >= 12), CMake >= 3.25, Ninja, Boost >= 1.$oldest_minor (headers and Boost.URL),
OpenSSL and nlohmann_json; its examples, tests and benchmarks also CLI11, Google Benchmark, gcovr, curl, redis-server and promtool. SQLite (for one example), Doxygen (for the
reference) and ccache are used where they are installed.
  vcpkg:            vcpkg install boost-asio boost-beast boost-redis boost-url boost-test openssl nlohmann-json cli11 benchmark
                    and configure with the toolchain file of vcpkg
  Conan:            boost/[>=1.88] openssl nlohmann_json cli11 benchmark, with the generators CMakeDeps and CMakeToolchain
  the distribution: its packages of the same names; where its Boost is older, a Boost of your own:
                    export Boost_ROOT=<its folder>
TEXT
    exit 1
}

# --- Main ---------------------------------------------------------------------------------------------------

work=
cleanup() {
    allow_service_changes || true
    if [[ -n $work ]]; then rm -rf "$work"; fi
    if $private_is_ready; then rm -rf "$private"; fi
}

is_debian() {
    # shellcheck source=/dev/null
    [[ -r /etc/os-release ]] && (. /etc/os-release && [[ ${ID:-} == debian ]])
}

prepare() {
    local missing=() name
    if ! is_debian; then
        require_on_other_systems
        say "nothing is missing"
        return 0
    fi
    mapfile -t missing < <(missing_packages)
    if ((${#missing[@]} == 0)) && [[ $(chosen_boost) != missing && -z $(missing_servers)$(missing_compilers) ]]; then
        say "nothing is missing"
        return 0
    fi
    trap cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mkdir -p "$boost_tree"
    exec 9>"$boost_tree/.lock"
    if ! flock -n 9; then
        say "waiting for another bootstrap to finish"
        flock 9
    fi
    mapfile -t missing < <(missing_packages)   # Another run may have installed them.
    if ((${#missing[@]} > 0)); then install_packages "${missing[@]}"; fi
    if [[ $(chosen_boost) == missing ]]; then
        if [[ -n ${COLOCK_BOOST_VERSION:-} ]] || ! install_system_boost; then fetch_boost; fi
    fi
    for name in $(missing_servers); do fetch_server "$name"; done
    for name in $(missing_compilers); do fetch_compiler "$name"; done
    if $private_is_ready; then rm -rf "$private"; fi
    private_is_ready=false
    exec 9>&-
    say "ready"
}

check() {
    local missing=() name
    if ! is_debian; then require_on_other_systems; return 0; fi
    mapfile -t missing < <(missing_packages)
    if [[ $(chosen_boost) == missing ]]; then missing+=("Boost ${COLOCK_BOOST_VERSION:->= 1.$oldest_minor}"); fi
    for name in $(missing_servers); do missing+=("$(server_title "$name")"); done
    mapfile -O "${#missing[@]}" -t missing < <(missing_compilers)
    if ((${#missing[@]} > 0)); then
        say "missing: ${missing[*]}"
        exit 1
    fi
    say "nothing is missing"
}

mode=prepare
needs=0
while (($# > 0)); do
    case $1 in
        --help | -h) usage; exit 0 ;;
        --check) mode=check ;;
        --print-prefix) mode=print_prefix ;;
        --library | --examples | --tests | --benchmarks | --coverage | --format | --tidy | --reference | --interop | --page)
            add_need "${1#--}"
            needs=$((needs + 1))
            ;;
        --work) add_all_needs; needs=$((needs + 1)) ;;
        --servers) wanted_servers=(valkey redis8); needs=$((needs + 1)) ;;
        --valkey) wanted_servers+=(valkey); needs=$((needs + 1)) ;;
        --compiler)
            if [[ ! ${2:-} =~ ^(g\+\+|clang\+\+)-[0-9]+$ ]]; then
                printf 'bootstrap: --compiler needs a name like g++-12 or clang++-14 (see --help)\n' >&2
                exit 2
            fi
            wanted_compilers+=("$2")
            packages+=(g++)   # for its assembler and its linker
            needs=$((needs + 1))
            shift
            ;;
        *) printf 'bootstrap: unknown option %s (see --help)\n' "$1" >&2; exit 2 ;;
    esac
    shift
done
if ((needs == 0)); then add_all_needs; fi
if [[ $mode == print_prefix ]]; then add_need library; fi
drop_repeated packages
drop_repeated programs
if [[ -n ${COLOCK_BOOST_VERSION:-} ]]; then
    if [[ ! $COLOCK_BOOST_VERSION =~ ^1\.([0-9]+)$ ]] || ((BASH_REMATCH[1] < oldest_minor)); then
        printf 'bootstrap: COLOCK_BOOST_VERSION=%s: expected 1.NN, 1.%s or newer\n' "$COLOCK_BOOST_VERSION" "$oldest_minor" >&2
        exit 2
    fi
fi

case $mode in
    check) check ;;
    prepare) prepare ;;
    print_prefix)
        prepare >&2
        version=
        if is_debian; then version=$(chosen_boost); fi
        if [[ -n $version ]]; then printf '%s\n' "$boost_tree/$version/usr"; else printf '\n'; fi
        ;;
esac
