// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/dialect.hpp"

namespace colock::small_redis {
namespace {

constexpr dialect make_redis_8() {
    dialect result;
    result.server = "redis";
    result.version = "8.0.6";
    result.features = dialect::rank_with_score | dialect::wait_in_scripts;
    result.no_script = "No matching script. Please use EVAL.";
    result.unknown_command_in_script = "Unknown Redis command called from script";
    result.wrong_arity_in_script = "Wrong number of args calling Redis command from script";
    result.forbidden_in_script = "This Redis command is not allowed from script";
    result.no_arguments_in_script = "Please specify at least one argument for this redis lib call";
    result.wrong_arguments_in_script =
        "Lua redis lib command arguments must be strings or integers";
    result.other_node_in_script = "Script attempted to access a non local key in a cluster node";
    result.no_slot_in_script = "Script attempted to access a slot not served";
    result.loading = "Redis is loading the dataset in memory";
    result.denied_command = "User default has no permissions to run the '%' command";
    result.denied_key = "No permissions to access a key";
    result.denied_command_in_script =
        "ACL failure in script: User default has no permissions to run the '%' command";
    result.denied_key_in_script = "ACL failure in script: No permissions to access a key";
    result.cross_slot_in_script =
        "Command '%' in script attempted to access keys that don't hash to the same slot";
    result.try_again_in_script =
        "Unable to execute command '%' in script because undeclared keys were accessed during "
        "rehashing of the slot";
    return result;
}

constexpr dialect make_redis_8_4() {
    dialect result = make_redis_8();
    result.version = "8.4.0";
    result.features |= dialect::delex | dialect::msetex | dialect::set_ifeq | dialect::set_ifne;
    return result;
}

constexpr dialect make_redis_7() {
    dialect result = make_redis_8();
    result.version = "7.0.15";
    result.features = 0;
    result.has_shortest_numbers = false;
    result.tracks_declared_keys = true;
    result.no_slot_in_script = result.other_node_in_script;
    result.denied_command = "this user has no permissions to run the '%' command";
    result.denied_key = "this user has no permissions to access one of the keys used as arguments";
    result.denied_command_in_script =
        "The user executing the script can't run this command or subcommand";
    result.denied_key_in_script =
        "The user executing the script can't access at least one of the keys mentioned in the "
        "command arguments";
    result.cross_slot_in_script = result.other_node_in_script;
    result.try_again_in_script = result.other_node_in_script;
    return result;
}

constexpr dialect make_valkey_9() {
    dialect result = make_redis_8();
    result.server = "valkey";
    result.version = "9.1.2";
    result.features |= dialect::delifeq | dialect::msetex | dialect::set_ifeq;
    result.compares_slots_first = true;
    result.cross_slot_ends_scripts = true;
    result.set_deletes_in_past = true;
    result.redirects_msetex = false;
    result.names_failed_script = false;
    result.no_script = "No matching script.";
    result.unknown_command_in_script = "Unknown command called from script";
    result.wrong_arity_in_script = "Wrong number of args calling command from script";
    result.forbidden_in_script = "This Valkey command is not allowed from script";
    result.no_arguments_in_script = "Please specify at least one argument for this call";
    result.wrong_arguments_in_script = "Command arguments must be strings or integers";
    result.other_node_in_script = "Attempted to access a non local key in a cluster node";
    result.no_slot_in_script = result.other_node_in_script;
    result.cross_slot_in_script = result.other_node_in_script;
    result.try_again_in_script = result.other_node_in_script;
    result.loading = "Valkey is loading the dataset in memory";
    return result;
}

}  // namespace

constinit const dialect redis_7 = make_redis_7();
constinit const dialect redis_8 = make_redis_8();
constinit const dialect redis_8_4 = make_redis_8_4();
constinit const dialect valkey_9 = make_valkey_9();

}  // namespace colock::small_redis
