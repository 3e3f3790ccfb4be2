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
#include <string>
#include <vector>

namespace colock::instance::redis {

/// For how long a server that has restarted may not grant.
struct quarantine_settings {
    core::duration length{};  ///< from its start on, on its own clock; 0 = no quarantine
    core::drift_bound drift;  ///< of that clock
};

/// The servers to which the instances of a client are connected: none is to vote twice.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class voters {
public:
    /// The address of the other instance that is connected to the same database of this server; empty if there is
    /// none, and then the server is that of instance `index` until it leaves.
    std::string join(std::size_t index, const std::string& run_id, const address& to);
    void leave(std::size_t index) noexcept;

private:
    struct voter {
        std::size_t index;
        std::string run_id;
        int database;
        std::string address;
    };
    std::vector<voter> all_;
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
    std::shared_ptr<voters> connected = std::make_shared<voters>();
};

/// An instance on a Redis or Valkey server. `seed` feeds the jitter of reconnecting. Throws
/// `boost::system::system_error` if the TLS files of the address cannot be used.
std::unique_ptr<instance> make_redis_instance(std::size_t index, address to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer);

}  // namespace colock::instance::redis

#endif
