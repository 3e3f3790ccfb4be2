// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_CAPABILITIES_HPP
#define COLOCK_KINDS_CAPABILITIES_HPP

#include <cstdint>

namespace colock::kinds {

/// A server command that deletes a key if it holds a given value. It costs the server half as much as a
/// script. See https://valkey.io/commands/delifeq/ and https://redis.io/docs/latest/commands/delex/.
enum class native_delete : std::uint8_t {
    none,
    delifeq,  ///< Since Valkey 9.0.
    delex,    ///< Since Redis 8.4.
};

/// The features of a server that not all servers have.
struct capabilities {
    bool tells_changes = false;  ///< It reports changes of the keys that colock has asked for.
    kinds::native_delete native_delete = native_delete::none;
    /// It supports MSETEX, which sets several keys if none of them exists. See
    /// https://redis.io/docs/latest/commands/msetex/.
    bool sets_several = false;
    bool is_clustered = false;  ///< The keys of one script must be in the same slot.

    friend bool operator==(const capabilities& a, const capabilities& b) = default;
};

/// How a server receives an operation that has no command supported by all servers.
enum class script_form : std::uint8_t {
    /// By the server's own command if it has one, otherwise by the digest of a script. Adjacent
    /// commands are combined.
    shortest,
    digest,        ///< By the digest of a script. Commands are not combined.
    in_full,       ///< By the text of a script. Commands are not combined.
    many_in_full,  ///< By the text of a script. Adjacent commands are combined.
    asking,        ///< As `in_full`, for a slot that the server is about to take over.
};

/// Returns whether scripts are sent as text, which every server accepts.
constexpr bool is_in_full(script_form form) noexcept {
    return form == script_form::in_full || form == script_form::many_in_full ||
           form == script_form::asking;
}

}  // namespace colock::kinds

#endif
