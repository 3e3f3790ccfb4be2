// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_ERROR_TEXT_HPP
#define COLOCK_INSTANCE_REDIS_ERROR_TEXT_HPP

#include <string_view>

namespace colock::instance::redis {

/// A server's error as code and message. All functions that evaluate errors use this type, because servers
/// before 7.0 wrap the errors of scripts.
struct error_text {
    std::string_view code;  ///< For example `READONLY`. `ERR` if the server gives none.
    std::string_view message;
};

/// Reads an error reply without its first `-`. For an error that a script has raised or returned, the code is
/// that of the command inside the script. Redis 6 sends
/// `ERR Error running script (call to f_<digest>): @user_script:10: @user_script: 10: -READONLY You ...`.
/// It omits the first part if the script returns the result of `redis.pcall`. Servers since 7.0 put the code
/// first.
error_text read_error(std::string_view text) noexcept;

/// Returns whether the server lacks the command, or forbids it to the user for every key.
bool is_command_refused(const error_text& error) noexcept;

/// Returns whether the user lacks the permission for the command or the key.
bool is_forbidden(const error_text& error) noexcept;

}  // namespace colock::instance::redis

#endif
