// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_DIALECT_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_DIALECT_HPP

#include <string_view>

namespace colock::small_redis {

/// In what servers differ. The texts are those that the servers were seen to send.
struct dialect {
    std::string_view server;   ///< as HELLO reports it
    std::string_view version;  ///< likewise

    // Commands and options.
    bool has_delifeq = false;         ///< DELIFEQ
    bool has_delex = false;           ///< DELEX
    bool has_msetex = false;          ///< MSETEX
    bool has_set_ifeq = false;        ///< SET with IFEQ
    bool has_set_ifne = false;        ///< SET with IFNE
    bool has_rank_with_score = true;  ///< ZRANK with WITHSCORE
    bool scripts_may_wait = true;     ///< WAIT, which does not wait there

    /// Replies and scripts have the shortest text of a floating-point number. Otherwise it has 17 digits.
    bool has_shortest_numbers = true;
    /// A script that reads anything makes the server track the keys that the script declares. Otherwise the server tracks each key
    /// that the script reads.
    bool tracks_declared_keys = false;
    /// A cluster finds keys in different slots before it looks who serves the first slot.
    bool compares_slots_first = false;
    /// In a cluster, a script's command with keys in different slots has every later command of every script refused, until the
    /// server restarts. Valkey 9.1.2 does that.
    bool cross_slot_ends_scripts = false;
    /// A node of a cluster refuses MSETEX for keys that it does not serve. Valkey 9.1.2 does not, and writes them.
    bool redirects_msetex = true;
    /// SET with a time in the past deletes the key at once. Otherwise the key is there until somebody comes across it.
    bool set_deletes_in_past = false;
    /// The error of a script names the digest of the script.
    bool names_failed_script = true;

    // Texts of errors, without their code.
    std::string_view no_script;
    std::string_view unknown_command_in_script;
    std::string_view wrong_arity_in_script;
    std::string_view forbidden_in_script;
    std::string_view no_arguments_in_script;
    std::string_view wrong_arguments_in_script;
    std::string_view other_node_in_script;
    std::string_view no_slot_in_script;
    std::string_view loading;
    /// Of a command and of a key that the user may not use. `%` stands for the name of the command.
    std::string_view denied_command;
    std::string_view denied_key;
    std::string_view denied_command_in_script;
    std::string_view denied_key_in_script;
    /// Of a script's command with keys in different slots, or of which some are missing while their slot moves. `%` as above.
    std::string_view cross_slot_in_script;
    std::string_view try_again_in_script;
};

extern const dialect redis_7;  ///< Redis 7.0
extern const dialect redis_8;  ///< Redis 8.0
extern const dialect
    redis_8_4;  ///< Redis 8.4, by its documentation: no test compares it with a server
extern const dialect valkey_9;  ///< Valkey 9.1

}  // namespace colock::small_redis

#endif
