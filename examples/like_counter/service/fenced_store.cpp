// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "fenced_store.hpp"

namespace like_counter::fenced_store {
namespace {

// KEYS[1] the largest fence seen, KEYS[2] the key to write, if there is one; ARGV[1] the fence, ARGV[2] the
// command, ARGV[3] its argument. Lua compares doubles, which hold every fence, as they are below 2^53.
constexpr std::string_view script =
    "if tonumber(ARGV[1]) < tonumber(redis.call('get', KEYS[1]) or 0) then return false end\n"
    "redis.call('set', KEYS[1], ARGV[1])\n"
    "return KEYS[2] and redis.call(ARGV[2], KEYS[2], ARGV[3]) or 1";

}  // namespace

void push(boost::redis::request& commands, std::string_view seen, std::uint64_t fence,
          std::string_view command, std::string_view key, std::string_view argument) {
    commands.push("EVAL", script, 2, seen, key, fence, command, argument);
}

void push_seen(boost::redis::request& commands, std::string_view seen, std::uint64_t fence) {
    commands.push("EVAL", script, 1, seen, fence);
}

}  // namespace like_counter::fenced_store
