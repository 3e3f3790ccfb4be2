#ifndef COLOCK_INSTANCE_REDIS_RESOLVE_HPP
#define COLOCK_INSTANCE_REDIS_RESOLVE_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace colock::instance::redis {

/// Looks a host name up on a thread of its own: Asio resolves all names of a context on one thread,
/// where a slow name of one instance would hold up all others.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class resolver {
public:
    struct result {
        std::vector<std::string> addresses;  ///< numeric; empty on failure
        std::string failure;
    };

    explicit resolver(const boost::asio::any_io_executor& executor) : answered_(executor) {}

    /// The numeric addresses of `host`; that of a numeric one is itself, at once. A look-up that
    /// takes longer than `timeout` goes on in the background and serves the next call.
    boost::asio::awaitable<result> resolve(std::string host, std::chrono::milliseconds timeout);

    /// Ends the call that is under way, as if its time were over.
    void cancel() noexcept;

private:
    struct lookup;

    boost::system::error_code start(const std::string& host);

    std::shared_ptr<lookup> pending_;
    /// Comes to its end once the look-up is done. So the thread needs no access to an execution
    /// context that may be gone by then.
    boost::asio::local::stream_protocol::socket answered_;
};

}  // namespace colock::instance::redis

#endif
