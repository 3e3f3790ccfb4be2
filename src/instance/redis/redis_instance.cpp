// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/redis_instance.hpp"

#include "instance/redis/cluster.hpp"
#include "instance/redis/environment.hpp"
#include "instance/redis/sentinel.hpp"
#include "instance/redis/standalone.hpp"
#include "instance/redis/tls.hpp"

namespace colock::instance::redis {

namespace {

/// Reads the files and variables now, so that errors are reported early and not only at each connection.
address made_ready(address to, const redis_settings& settings) {
    read_environment(to);
    read_password(to);
    if (to.tls) {
        settings.connection.tls_contexts->of(to);
    }
    return to;
}

}  // namespace

std::unique_ptr<instance> make_redis_instance(std::size_t index, const address& to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer) {
    return std::make_unique<standalone>(index, made_ready(to, settings), settings, seed, executor,
                                        observer);
}

std::unique_ptr<instance> make_redis_instance(std::size_t index, const sentinel_address& to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer) {
    sentinel_address ready = to;
    ready.master = made_ready(to.master, settings);
    for (address& one : ready.sentinels) {
        one = made_ready(one, settings);
    }
    return std::make_unique<sentinel>(index, ready, settings, seed, executor, observer);
}

std::unique_ptr<instance> make_redis_instance(std::size_t index, const cluster_address& to,
                                              const redis_settings& settings, std::uint64_t seed,
                                              const boost::asio::any_io_executor& executor,
                                              instance_observer& observer) {
    cluster_address ready = to;
    // The others differ only in host and port.
    ready.seeds.front() = made_ready(to.seeds.front(), settings);
    for (address& one : ready.seeds) {
        read_environment(one);
    }
    return std::make_unique<cluster>(index, ready, settings, seed, executor, observer);
}

}  // namespace colock::instance::redis
