// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_RESOLVE_HPP
#define COLOCK_INSTANCE_REDIS_RESOLVE_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::instance::redis {

/// The look-ups of a client. There is one at a time for each name, since each costs a thread, and may hang.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class lookups {
public:
    /// A look-up on a thread of its own.
    struct lookup;

    /// For how long an answer that nobody has waited for is kept for the next caller.
    static constexpr std::chrono::seconds kept_for{10};

    /// The look-up of this name that has not ended, or whose answer nobody has taken. Otherwise starts one. Null, and the
    /// failure, if it cannot be started.
    std::shared_ptr<lookup> join(const std::string& host, boost::system::error_code& failure);

    /// The answer was taken: the next caller gets a new look-up.
    void take(const std::string& host, const std::shared_ptr<lookup>& ended);

private:
    std::map<std::string, std::shared_ptr<lookup>> by_name_;
};

/// At which of its addresses each server is tried first: where it answered last. The others may be where nobody listens, as
/// "localhost" often has ::1, or where a connection ends in a timeout.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class first_addresses {
public:
    /// Puts the one to be tried first in front. The others follow in their order, and the first after the last.
    void order(const std::string& endpoint, std::vector<std::string>& addresses) const;

    /// From now on, the server is tried at this address first.
    void prefer(const std::string& endpoint, const std::string& address);

private:
    static constexpr std::size_t most = 1024;  // a hostile server may name any number

    std::map<std::string, std::string> by_endpoint_;
};

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

    /// The resolvers of a client share their look-ups.
    resolver(const boost::asio::any_io_executor& executor, std::shared_ptr<lookups> shared)
        : shared_(std::move(shared)), answered_(executor) {}

    /// The numeric addresses of `host`; that of a numeric one is itself, at once. A look-up that takes longer than `timeout`
    /// goes on in the background. The next call for this name waits for the same look-up.
    boost::asio::awaitable<result> resolve(std::string host, std::chrono::milliseconds timeout);

    /// Ends the call that is under way, as if its time were over.
    void cancel() noexcept;

private:
    std::shared_ptr<lookups> shared_;
    /// Comes to its end once the look-up is done. So the thread needs no access to an execution
    /// context that may be gone by then.
    boost::asio::local::stream_protocol::socket answered_;
};

}  // namespace colock::instance::redis

#endif
