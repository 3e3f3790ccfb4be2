#include "instance/redis/redis_instance.hpp"

#include "instance/redis/cluster.hpp"
#include "instance/redis/sentinel.hpp"
#include "instance/redis/standalone.hpp"
#include "instance/redis/tls.hpp"

namespace colock::instance::redis {

namespace {

/// What cannot be read is said now, and not only at every connection.
void expect_readable(const address& to, const redis_settings& settings) {
    read_password(to);
    if (to.tls) {
        settings.connection.tls_contexts->of(to);
    }
}

}  // namespace

std::unique_ptr<instance> make_redis_instance(std::size_t index, const address& to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer) {
    expect_readable(to, settings);
    return std::make_unique<standalone>(index, to, settings, seed, executor, observer);
}

std::unique_ptr<instance> make_redis_instance(std::size_t index, const sentinel_address& to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer) {
    expect_readable(to.master, settings);
    for (const address& one : to.sentinels) {
        expect_readable(one, settings);
    }
    return std::make_unique<sentinel>(index, to, settings, seed, executor, observer);
}

std::unique_ptr<instance> make_redis_instance(std::size_t index, const cluster_address& to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer) {
    expect_readable(to.seeds.front(), settings);  // the others differ in their place alone
    return std::make_unique<cluster>(index, to, settings, seed, executor, observer);
}

}  // namespace colock::instance::redis
