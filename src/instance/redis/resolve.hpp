#ifndef COLOCK_INSTANCE_REDIS_RESOLVE_HPP
#define COLOCK_INSTANCE_REDIS_RESOLVE_HPP

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace colock::instance::redis {

/// Looks a host name up on a thread of its own: Asio resolves all names of a context on one thread,
/// where a slow name of one instance would hold up all others.
class resolver {
public:
    struct result {
        std::vector<std::string> addresses;  ///< numeric; empty on failure
        std::string failure;
    };

    /// The numeric addresses of `host`; that of a numeric one is itself, at once. A look-up that
    /// takes longer than `timeout` goes on in the background and serves the next call.
    boost::asio::awaitable<result> resolve(std::string host, std::chrono::milliseconds timeout);

private:
    struct lookup;
    std::shared_ptr<lookup> pending_;
};

}  // namespace colock::instance::redis

#endif
