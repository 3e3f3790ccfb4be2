// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_REDIS_INSTANCE_HPP
#define COLOCK_INSTANCE_REDIS_REDIS_INSTANCE_HPP

#include "instance/instance.hpp"
#include "instance/redis/address.hpp"
#include "instance/redis/node.hpp"
#include "instance/redis/voters.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace colock::instance::redis {

struct redis_settings : node_settings {
    /// Shared by the instances of a client.
    std::shared_ptr<voters> connected = std::make_shared<voters>();
    /// How long a promoted replica may not grant locks. 0 = no quarantine.
    core::duration failover_quarantine{};
};

/// Creates an instance on a Redis or Valkey server. `seed` feeds the jitter of reconnects. Throws
/// `address_error`.
std::unique_ptr<instance> make_redis_instance(std::size_t index, const address& to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer);

/// Creates an instance on a master that Sentinels monitor.
std::unique_ptr<instance> make_redis_instance(std::size_t index, const sentinel_address& to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer);

/// Creates an instance on a Redis Cluster.
std::unique_ptr<instance> make_redis_instance(std::size_t index, const cluster_address& to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer);

}  // namespace colock::instance::redis

#endif
