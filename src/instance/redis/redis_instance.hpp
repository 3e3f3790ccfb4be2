#ifndef COLOCK_INSTANCE_REDIS_REDIS_INSTANCE_HPP
#define COLOCK_INSTANCE_REDIS_REDIS_INSTANCE_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "instance/instance.hpp"
#include "instance/redis/address.hpp"
#include "instance/redis/connection.hpp"
#include "instance/redis/encoder.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace colock::instance::redis {

/// For how long a server that has restarted may not grant.
struct quarantine_settings {
    core::duration length{};  ///< from its start on, on its own clock; 0 = no quarantine
    core::drift_bound drift;  ///< of that clock
};

struct redis_settings {
    connection_settings connection;
    core::backoff reconnect;
    std::size_t max_in_flight = 65536;
    /// A server that has not answered for so long is sent no new locks until it does.
    core::duration stall_timeout{};
    quarantine_settings quarantine;
    /// Shared by the instances of a client.
    std::shared_ptr<redis::encoder> encoder = std::make_shared<redis::encoder>();
};

/// An instance on a Redis or Valkey server. `seed` feeds the jitter of reconnecting. Throws
/// `boost::system::system_error` if the TLS files of the address cannot be used.
std::unique_ptr<instance> make_redis_instance(std::size_t index, address to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer);

}  // namespace colock::instance::redis

#endif
