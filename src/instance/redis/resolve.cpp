#include "instance/redis/resolve.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
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

struct resolver::lookup {
    std::atomic<bool> done{false};
    result answer;  // the thread's until `done`, then ours
};

/// Starts the thread, which shuts its end of a socket pair down when it is done.
error_code resolver::start(const std::string& host) {
    error_code failure;
    asio::local::stream_protocol::socket to_us(answered_.get_executor());
    asio::local::connect_pair(answered_, to_us, failure);
    if (failure) {
        return failure;
    }
    const int done = to_us.release(failure);
    if (failure) {
        return failure;
    }
    pending_ = std::make_shared<lookup>();
    try {
        std::thread([shared = pending_, host, done] {
            shared->answer = look_up(host);
            shared->done.store(true, std::memory_order_release);
            // Not a write: if the resolver is gone by now, that would be a SIGPIPE.
            ::shutdown(done, SHUT_RDWR);
            ::close(done);
        }).detach();
    } catch (const std::system_error& no_thread) {
        ::close(done);
        pending_.reset();
        return no_thread.code();
    }
    return {};
}

asio::awaitable<resolver::result> resolver::resolve(std::string host,
                                                    std::chrono::milliseconds timeout) {
    error_code not_numeric;
    asio::ip::make_address(host, not_numeric);
    if (!not_numeric) {
        co_return result{{std::move(host)}, {}};
    }
    if (!pending_) {
        error_code ignored;
        answered_.close(ignored);
        if (const error_code failure = start(host)) {
            co_return result{{}, failure.message()};
        }
    }
    std::array<char, 1> nothing{};
    co_await answered_.async_read_some(
        asio::buffer(nothing), asio::cancel_after(timeout, asio::as_tuple(asio::use_awaitable)));
    if (!pending_->done.load(std::memory_order_acquire)) {
        co_return result{{}, "no answer in time"};
    }
    co_return std::move(std::exchange(pending_, nullptr)->answer);
}

void resolver::cancel() noexcept {
    error_code ignored;
    answered_.cancel(ignored);
}

}  // namespace colock::instance::redis
