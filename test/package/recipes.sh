#!/usr/bin/env bash
# recipes.sh RECIPE WORK BOOST COMPILER LAUNCHER: carries out commands of docs/installing.md, to the letter, on a copy of the
# sources that the library is built from. RECIPE is
#   install   the section "Install and find_package"
#   deb       the sections "Debian package" and "pkg-config". The package is installed into an empty root.
# WORK is a folder for all that is made. BOOST is the folder of a Boost that bootstrap.sh has unpacked, and empty if the
# system's is used. A ctest test. It is not meant to be run by hand.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
recipe=$1 work=$2 boost=$3 compiler=$4 launcher=$5
readonly root recipe work boost compiler launcher

fail() { printf 'recipes.sh: %s\n' "$*" >&2; exit 1; }
step() { printf '== %s\n' "$*"; }

# Neither the tests nor the examples are there, so nothing of them can be needed.
copy_sources() {
    rm -rf "$work"
    mkdir -p "$work/colock/build" "$work/colock/your/project"
    cp -r "$root"/{CMakeLists.txt,CMakePresets.json,LICENSE_1_0.txt,cmake,include,src} "$work/colock"
    if [[ -e $root/build/boost ]]; then ln -s "$root/build/boost" "$work/colock/build/boost"; fi
    cp "$root/test/package/find_package/CMakeLists.txt" "$work/colock/your/project"
    cp "$root"/test/package/{consumer.cpp,check_target.cmake} "$work/colock/your"
    cp "$root/test/package/consumer.cpp" "$work/colock/main.cpp"
}

# commands_of HEADING: the first commands in this section of the document.
commands_of() {
    local commands
    commands=$(awk -v heading="## $1" '
        /^## / { inside = $0 == heading }
        inside && /^```$/ { exit }
        inside && copying { print }
        inside && /^```sh$/ { copying = 1 }' "$root/docs/installing.md")
    [[ -n $commands ]] || fail "docs/installing.md has no commands in the section $1"
    printf '%s\n' "$commands"
}

# carry_out COMMANDS: in the copy. Without the network, because nothing is missing.
carry_out() {
    printf '%s\n' "$1"
    (cd "$work/colock" && PATH=$work/bin:$PATH bash -euo pipefail -c "$1") || fail "these commands failed"
}

# The compiler of this build, also where a command names g++.
use_compiler() {
    mkdir -p "$work/bin"
    ln -s "$(command -v "$compiler")" "$work/bin/g++"
    export CXX=$compiler
}

# build_consumer PREFIX: with CMake, and without nlohmann_json.
build_consumer() {
    step "building a program that uses find_package"
    cmake --fresh -G Ninja -S "$work/colock/your/project" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$1;$boost" \
        -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
    grep -q "^colock_DIR:PATH=$1/" "$work/consumer/CMakeCache.txt" || fail "another colock was found"
    cmake --build "$work/consumer"
    "$work/consumer/consumer"
}

check_install() {
    local cache=$work/colock/build/install/CMakeCache.txt
    carry_out "$(commands_of "Install and find_package" | sed "s:\bPREFIX\b:$work/prefix:g")"
    if grep -E '^(CLI11|benchmark|Python3?|LUA|SQLite3|Doxygen|GCOVR)_' "$cache"; then fail "more than the library was looked for"; fi
    build_consumer "$work/prefix"
    if grep -rl nlohmann "$work/prefix/lib"*/cmake "$work/prefix/include"; then fail "a consumer would need nlohmann_json"; fi
}

# field NAME: of the control file.
field() { dpkg-deb --field "$package" "$1"; }

expect_field() {
    local value
    value=$(field "$1")
    # shellcheck disable=SC2053  # a pattern
    [[ $value == $2 ]] || fail "$1 is \"$value\", not \"$2\""
}

check_control_fields() {
    local version boost_version
    version=$(sed -n 's/^    VERSION \([0-9.]*\)$/\1/p' "$root/CMakeLists.txt")
    boost_version=$(sed -n 's/^-- Boost \([0-9]*\.[0-9]*\)\..*/\1/p' "$work/output" | tail -1)
    [[ -n $boost_version ]] || fail "cmake has not said which Boost it has found"
    dpkg-deb --info "$package"
    expect_field Package libcolock-dev
    expect_field Version "$version-1"
    expect_field Architecture "$(dpkg --print-architecture)"
    expect_field Section libdevel
    expect_field Priority optional
    expect_field Maintainer '?* <?*@?*>'
    expect_field Depends "libboost$boost_version-dev | libboost-dev (>= $boost_version), libboost$boost_version-dev | libboost-dev (<< *"
    expect_field Depends "*, libboost-url$boost_version-dev | libboost-url-dev (>= $boost_version), *, libssl-dev (>= 3.0)"
    expect_field Description "distributed locks for C++20 coroutines (development files)"$'\n'" colock is a C++20 library *"
    [[ ${package##*/} == libcolock-dev_$version-1_$(dpkg --print-architecture).deb ]] || fail "the file's name is ${package##*/}"
}

# All files, and for each header of the sources itself.
check_files() {
    local libraries=usr/lib/$architecture expected
    expected=$(
        (cd "$root" && find include -type f -printf 'usr/%p\n')
        printf '%s\n' "$libraries"/{libcolock.a,pkgconfig/colock.pc} \
            "$libraries"/cmake/colock/{colockConfig,colockConfigVersion,colockTargets,colockTargets-release}.cmake \
            usr/share/doc/colock/LICENSE_1_0.txt usr/share/doc/libcolock-dev/copyright
    )
    dpkg-deb --contents "$package" | awk '$1 !~ /^d/ { sub("^\\./", "", $6); print $6 }' | sort >"$work/files"
    diff <(sort <<<"$expected") "$work/files" || fail "the package has other files than expected"
    if dpkg-deb --contents "$package" | grep -vE '^(d|-)rw.r-.r-. root/root '; then fail "wrong owner or permissions"; fi
}

# Into an empty root with a dpkg of its own. Boost and OpenSSL are not installed there, so their absence is forced.
install_into_clean_root() {
    clean=$work/root
    mkdir -p "$clean/var/lib/dpkg"/{info,updates,triggers}
    touch "$clean/var/lib/dpkg"/{status,available}
    own_dpkg=(dpkg "--root=$clean" --force-depends --force-not-root --log="$work/dpkg.log")
    if "${own_dpkg[@]}" --install "$package"; then
        [[ $(dpkg-query --admindir="$clean/var/lib/dpkg" -W -f '${db:Status-Status}' libcolock-dev) == installed ]] ||
            fail "dpkg has not installed the package"
    else
        step "dpkg cannot install into a folder here: the package is only unpacked"
        own_dpkg=()
        rm -rf "$clean"
        dpkg-deb --extract "$package" "$clean"
    fi
}

build_pkg_config_consumer() {
    local pc=$clean/usr/lib/$architecture/pkgconfig flags
    command -v pkg-config >/dev/null || fail "there is no pkg-config here"
    export PKG_CONFIG_PATH=$pc
    if [[ -n $boost ]]; then
        export CPATH=$boost/include LIBRARY_PATH
        LIBRARY_PATH=$(dirname "$(find "$boost/lib" -name 'libboost_url.*' | head -n 1)")
    fi
    [[ $(pkg-config --modversion colock) == "$(field Version | sed 's/-1$//')" ]] || fail "colock.pc names another version"
    pkg-config --validate colock
    step "building a program that uses pkg-config"
    carry_out "$(commands_of pkg-config)"
    "$work/colock/app"
    step "the same with --static"
    read -ra flags <<<"$(pkg-config --cflags --static --libs colock)"
    [[ " ${flags[*]} " == *" -L$clean/"* ]] || [[ " ${flags[*]} " == *" -L$pc/"* ]] || fail "the flags name another folder: ${flags[*]}"
    carry_out "g++ -std=c++20 main.cpp ${flags[*]} -o static_app"
    "$work/colock/static_app"
}

remove_package() {
    ((${#own_dpkg[@]} > 0)) || return 0
    "${own_dpkg[@]}" --purge libcolock-dev
    [[ ! -e $clean/usr ]] || fail "after its removal the package leaves: $(find "$clean/usr")"
}

check_deb() {
    local package clean architecture own_dpkg=()
    architecture=$("$compiler" -print-multiarch 2>/dev/null || gcc -print-multiarch)
    carry_out "$(commands_of "Debian package")" > >(tee "$work/output") 2>&1
    package=$(find "$work/colock/build/deb" -maxdepth 1 -name '*.deb')
    [[ -f $package ]] || fail "there is not one package: $package"
    check_control_fields
    check_files
    install_into_clean_root
    build_consumer "$clean/usr"
    build_pkg_config_consumer
    remove_package
}

copy_sources
use_compiler
"check_$recipe"
rm -rf "$work"
