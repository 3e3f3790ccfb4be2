#include "instance/redis/resolve.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <netdb.h>
#include <sys/socket.h>
#include <array>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

namespace colock::instance::redis {
namespace asio = boost::asio;

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

struct resolver::lookup {
    std::atomic<bool> done{false};
    result answer;  // the thread's until `done`, then ours
};

asio::awaitable<resolver::result> resolver::resolve(std::string host,
                                                    std::chrono::milliseconds timeout) {
    boost::system::error_code not_numeric;
    asio::ip::make_address(host, not_numeric);
    if (!not_numeric) {
        co_return result{{std::move(host)}, {}};
    }

    if (!pending_) {
        pending_ = std::make_shared<lookup>();
        try {
            std::thread([shared = pending_, host] {
                shared->answer = look_up(host);
                shared->done.store(true, std::memory_order_release);
            }).detach();
        } catch (const std::system_error& failure) {
            pending_.reset();
            co_return result{{}, failure.what()};
        }
    }

    // Polled, so that the thread needs no access to an execution context that may be gone by then.
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!pending_->done.load(std::memory_order_acquire)) {
        if (std::chrono::steady_clock::now() >= deadline) {
            co_return result{{}, "no answer in time"};
        }
        timer.expires_after(std::chrono::milliseconds(1));
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return std::move(std::exchange(pending_, nullptr)->answer);
}

}  // namespace colock::instance::redis
