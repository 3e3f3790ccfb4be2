// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_ENVIRONMENT_HPP
#define COLOCK_INSTANCE_REDIS_ENVIRONMENT_HPP

#include "instance/redis/address.hpp"

namespace colock::instance::redis {

/// Fills in what an address leaves to the variables of the environment: the password, and where the certificates of the usual
/// authorities are. To be called while the client is made, and not later: a program whose threads have started may call
/// `setenv` at any time. Throws `address_error`.
void read_environment(address& to);

}  // namespace colock::instance::redis

#endif
