// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_CAPABILITIES_HPP
#define COLOCK_KINDS_CAPABILITIES_HPP

#include <cstdint>

namespace colock::kinds {

/// A command with which a server deletes a key if it holds a given value: half of what a script costs it.
/// (https://valkey.io/commands/delifeq/, https://redis.io/docs/latest/commands/delex/)
enum class native_delete : std::uint8_t {
    none,
    delifeq,  ///< Valkey 9.0
    delex,    ///< Redis 8.4
};

/// What a server can do that not all of them can.
struct capabilities {
    bool tells_changes = false;  ///< of keys that we have asked for
    kinds::native_delete native_delete = native_delete::none;
    /// It sets several keys if none of them exists, by MSETEX. (https://redis.io/docs/latest/commands/msetex/)
    bool sets_several = false;
    bool is_clustered = false;  ///< keys of one script have to be in the same slot

    friend bool operator==(const capabilities& a, const capabilities& b) = default;
};

/// How the server is told to do what no command that all servers know does.
enum class script_form : std::uint8_t {
    shortest,  ///< by a command of its own where it has one, else by a script's digest; many as one
    digest,    ///< by a script's digest, each by itself
    in_full,   ///< by a script, each by itself
    many_in_full,  ///< by a script; many as one
    asking,  ///< by a script, each by itself, for a slot that the server is about to take over
};

/// Whether scripts are sent themselves, which every server knows.
constexpr bool is_in_full(script_form form) noexcept {
    return form == script_form::in_full || form == script_form::many_in_full ||
           form == script_form::asking;
}

}  // namespace colock::kinds

#endif
