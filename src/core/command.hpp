#ifndef COLOCK_CORE_COMMAND_HPP
#define COLOCK_CORE_COMMAND_HPP

#include "core/time.hpp"

#include <cstdint>
#include <string_view>

namespace colock::core {

/// What an instance is asked to do with a key.
enum class verb : std::uint8_t {
    acquire,    ///< set the key to the token for `ttl`, if there is no key
    extend,     ///< let the key live for `ttl` at least, if it holds the token
    release,    ///< delete the key, if it holds the token
    remaining,  ///< how long the key will live, whoever holds it
};

/// One verb for one instance, before it becomes a wire format. The views belong to whoever submits
/// the command, and stay alive until its vote.
struct command {
    core::verb verb = verb::acquire;
    std::string_view key;
    std::string_view token;
    milliseconds ttl{};           ///< for acquire and extend
    time_point deadline = never;  ///< not sent after that
    bool heals = false;           ///< an acquire that puts back what a quorum still has
};

}  // namespace colock::core

#endif
