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

/// The lookups of a client. There is at most one per name, because each takes a thread and may hang.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class lookups {
public:
    /// A lookup on its own thread.
    struct lookup;

    /// How long an answer that no caller has taken is kept for the next caller.
    static constexpr std::chrono::seconds kept_for{10};

    /// Returns the current lookup of this name, or a recent one whose answer was not taken. Otherwise starts
    /// a lookup. If that fails, returns null and sets `failure`.
    std::shared_ptr<lookup> join(const std::string& host, boost::system::error_code& failure);

    /// Records that the answer was taken. The next caller gets a new lookup.
    void take(const std::string& host, const std::shared_ptr<lookup>& ended);

private:
    std::map<std::string, std::shared_ptr<lookup>> by_name_;
};

/// The address of each server to try first: the one where it last answered. Other addresses may have no
/// listener, as ::1 of "localhost" often does, or may time out.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class first_addresses {
public:
    /// Rotates the list so that the preferred address comes first.
    void order(const std::string& endpoint, std::vector<std::string>& addresses) const;

    /// Makes this address the first one to try.
    void prefer(const std::string& endpoint, const std::string& address);

private:
    static constexpr std::size_t most = 1024;  // A hostile server may name any number.

    std::map<std::string, std::string> by_endpoint_;
};

/// Resolves a host name on its own thread. Asio resolves all names of a context on one thread, where a slow
/// name of one instance would delay all others.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class resolver {
public:
    struct result {
        std::vector<std::string> addresses;  ///< Numeric. Empty on failure.
        std::string failure;
    };

    /// The resolvers of a client share their lookups.
    resolver(const boost::asio::any_io_executor& executor, std::shared_ptr<lookups> shared)
        : shared_(std::move(shared)), answered_(executor) {}

    /// Returns the numeric addresses of `host`. A numeric host is returned immediately. A lookup that takes
    /// longer than `timeout` continues in the background, and the next call for this name joins it.
    boost::asio::awaitable<result> resolve(std::string host, std::chrono::milliseconds timeout);

    /// Ends the current call as if it had timed out.
    void cancel() noexcept;

private:
    std::shared_ptr<lookups> shared_;
    /// Ends when the lookup is done. The thread therefore needs no access to an execution context, which may
    /// no longer exist.
    boost::asio::local::stream_protocol::socket answered_;
};

}  // namespace colock::instance::redis

#endif
