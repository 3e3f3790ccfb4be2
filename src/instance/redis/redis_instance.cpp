#include "instance/redis/redis_instance.hpp"

#include "instance/redis/standalone.hpp"
#include "instance/redis/tls.hpp"

namespace colock::instance::redis {

std::unique_ptr<instance> make_redis_instance(std::size_t index, address to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer) {
    read_password(to);  // what cannot be read is said now, and not only at every connection
    if (to.tls) {
        make_tls_context(to);
    }
    return std::make_unique<standalone>(index, to, settings, seed, executor, observer);
}

}  // namespace colock::instance::redis
