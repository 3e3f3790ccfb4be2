// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/resolve.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace colock::instance::redis {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

resolver::result look_up(const std::string& host) {
    resolver::result result;
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); code != 0) {
        result.failure = ::gai_strerror(code);
        return result;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    for (const addrinfo* it = found; it != nullptr; it = it->ai_next) {
        std::array<char, NI_MAXHOST> text{};
        if (::getnameinfo(it->ai_addr, it->ai_addrlen, text.data(), text.size(), nullptr, 0,
                          NI_NUMERICHOST) == 0) {
            result.addresses.emplace_back(text.data());
        }
    }
    return result;
}

}  // namespace

struct lookups::lookup {
    lookup() = default;
    lookup(const lookup&) = delete;
    lookup& operator=(const lookup&) = delete;
    ~lookup() {
        for (const int one : ends) {
            if (one >= 0) {
                ::close(one);
            }
        }
    }

    /// Waits for the system's answer, and then ends the stream.
    void run(const std::string& host) noexcept {
        try {
            answer = look_up(host);
        } catch (const std::exception&) {
            answer.failure = "out of memory";
        }
        ended_at = std::chrono::steady_clock::now();
        done.store(true, std::memory_order_release);
        ::shutdown(ends[1], SHUT_RDWR);  // A write could raise SIGPIPE.
    }

    std::atomic<bool> done{false};
    // Owned by the thread until `done`. Read-only for all threads afterwards.
    resolver::result answer;
    std::chrono::steady_clock::time_point ended_at;
    std::array<int, 2> ends{-1, -1};  // Both ends of a stream: for the waiters and for the thread.
};

std::shared_ptr<lookups::lookup> lookups::join(const std::string& host, error_code& failure) {
    const auto oldest = std::chrono::steady_clock::now() - kept_for;
    std::erase_if(by_name_, [&](const auto& entry) {
        const lookup& one = *entry.second;
        return one.done.load(std::memory_order_acquire) && one.ended_at < oldest;
    });
    if (const auto known = by_name_.find(host); known != by_name_.end()) {
        return known->second;
    }
    auto made = std::make_shared<lookup>();
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, made->ends.data()) != 0) {
        failure.assign(errno, boost::system::system_category());
        return nullptr;
    }
    try {
        std::thread([made, host] { made->run(host); }).detach();
    } catch (const std::system_error& no_thread) {
        failure = no_thread.code();
        return nullptr;
    }
    by_name_.emplace(host, made);
    return made;
}

void lookups::take(const std::string& host, const std::shared_ptr<lookup>& ended) {
    if (const auto known = by_name_.find(host); known != by_name_.end() && known->second == ended) {
        by_name_.erase(known);
    }
}

void first_addresses::order(const std::string& endpoint,
                            std::vector<std::string>& addresses) const {
    if (const auto known = by_endpoint_.find(endpoint); known != by_endpoint_.end()) {
        const auto first = std::ranges::find(addresses, known->second);
        if (first != addresses.end()) {
            std::rotate(addresses.begin(), first, addresses.end());
        }
    }
}

void first_addresses::prefer(const std::string& endpoint, const std::string& address) {
    if (by_endpoint_.size() >= most && !by_endpoint_.contains(endpoint)) {
        by_endpoint_.clear();  // The addresses are learned again.
    }
    by_endpoint_[endpoint] = address;
}

asio::awaitable<resolver::result> resolver::resolve(std::string host,
                                                    std::chrono::milliseconds timeout) {
    error_code failure;
    asio::ip::make_address(host, failure);
    if (!failure) {
        co_return result{{std::move(host)}, {}};
    }
    failure.clear();
    const auto joined = shared_->join(host, failure);
    if (!joined) {
        co_return result{{}, failure.message()};
    }
    // Each waiter duplicates the descriptor for the duration of its wait.
    const int own = ::fcntl(joined->ends[0], F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        co_return result{{}, error_code(errno, boost::system::system_category()).message()};
    }
    answered_.assign(asio::local::stream_protocol(), own, failure);
    if (failure) {
        ::close(own);
        co_return result{{}, failure.message()};
    }
    std::array<char, 1> nothing{};
    co_await answered_.async_read_some(
        asio::buffer(nothing), asio::cancel_after(timeout, asio::as_tuple(asio::use_awaitable)));
    answered_.close(failure);
    if (!joined->done.load(std::memory_order_acquire)) {
        co_return result{{}, "no answer in time"};
    }
    shared_->take(host, joined);
    co_return joined->answer;
}

void resolver::cancel() noexcept {
    error_code ignored;
    answered_.cancel(ignored);
}

}  // namespace colock::instance::redis
