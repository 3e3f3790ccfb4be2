// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_ENVIRONMENT_HPP
#define COLOCK_INSTANCE_REDIS_ENVIRONMENT_HPP

#include "instance/redis/address.hpp"

namespace colock::instance::redis {

/// Fills in the values that come from environment variables: the password and the default CA certificates.
/// Call it only while the client is created. Later, another thread may call `setenv` at any time. Throws
/// `address_error`.
void read_environment(address& to);

}  // namespace colock::instance::redis

#endif
