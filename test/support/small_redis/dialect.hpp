// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_DIALECT_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_DIALECT_HPP

#include <string_view>

namespace colock::small_redis {

/// The differences between servers. The texts were copied from the output of real servers.
struct dialect {
    /// Commands and options that some servers support.
    enum feature : unsigned {
        delifeq = 1,
        delex = 2,
        msetex = 4,
        set_ifeq = 8,          ///< SET with IFEQ.
        set_ifne = 16,         ///< SET with IFNE.
        rank_with_score = 32,  ///< ZRANK with WITHSCORE.
        wait_in_scripts = 64,  ///< Scripts may call WAIT, which returns without waiting.
    };

    [[nodiscard]] constexpr bool has(feature one) const noexcept { return (features & one) != 0; }

    std::string_view server;   ///< As HELLO reports it.
    std::string_view version;  ///< As HELLO reports it.
    unsigned features = 0;

    /// Replies and scripts use the shortest text of a floating-point number. Otherwise they use 17 digits.
    bool has_shortest_numbers = true;
    /// When a script reads any key, the server tracks the keys that the script declares. Otherwise the server
    /// tracks each key that the script reads.
    bool tracks_declared_keys = false;
    /// A cluster checks for keys in different slots before it checks the owner of the first slot.
    bool compares_slots_first = false;
    /// In a cluster, a script may call a command with keys in different slots. The server then refuses all
    /// later commands of all scripts until it restarts. Valkey 9.1.2 does that.
    bool cross_slot_ends_scripts = false;
    /// A node of a cluster refuses MSETEX for keys that it does not serve. Valkey 9.1.2 executes it.
    bool redirects_msetex = true;
    /// SET with a time in the past deletes the key immediately. Otherwise the key remains until a command
    /// reads it.
    bool set_deletes_in_past = false;
    /// The error of a script contains the digest of the script.
    bool names_failed_script = true;

    // Error texts, without their code.
    std::string_view no_script;
    std::string_view unknown_command_in_script;
    std::string_view wrong_arity_in_script;
    std::string_view forbidden_in_script;
    std::string_view no_arguments_in_script;
    std::string_view wrong_arguments_in_script;
    std::string_view other_node_in_script;
    std::string_view no_slot_in_script;
    std::string_view loading;
    /// Errors for a denied command and a denied key. `%` stands for the name of the command.
    std::string_view denied_command;
    std::string_view denied_key;
    std::string_view denied_command_in_script;
    std::string_view denied_key_in_script;
    /// Errors of a script command with keys in different slots, or with missing keys while their slot moves.
    /// `%` is the name of the command.
    std::string_view cross_slot_in_script;
    std::string_view try_again_in_script;
};

extern const dialect redis_7;  ///< Redis 7.0.
extern const dialect redis_8;  ///< Redis 8.0.
extern const dialect
    redis_8_4;  ///< Redis 8.4, written from its documentation. No test compares it with a server.
extern const dialect valkey_9;  ///< Valkey 9.1.

}  // namespace colock::small_redis

#endif
