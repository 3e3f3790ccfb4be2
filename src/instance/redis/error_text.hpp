// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_ERROR_TEXT_HPP
#define COLOCK_INSTANCE_REDIS_ERROR_TEXT_HPP

#include <string_view>

namespace colock::instance::redis {

/// A server's error, as code and message. All functions that look at errors use this type, since servers before 7.0 wrap the
/// errors of a script.
struct error_text {
    std::string_view code;  ///< for example `READONLY`, or `ERR` if the server gives none
    std::string_view message;
};

/// Reads an error reply without its first `-`. An error that a script has raised or returned gives the code that the command
/// inside the script got. Redis 6 sends `ERR Error running script (call to f_<digest>): @user_script:10: @user_script: 10:
/// -READONLY You can't ...`, or without the first part if the script returns what `redis.pcall` gave it. Servers since 7.0 put
/// the code in front by themselves.
error_text read_error(std::string_view text) noexcept;

/// Whether the server does not have the command, or forbids it to the user, whatever the key.
bool is_command_refused(const error_text& error) noexcept;

/// Whether the user may not do this: use the command, or this key.
bool is_forbidden(const error_text& error) noexcept;

}  // namespace colock::instance::redis

#endif
