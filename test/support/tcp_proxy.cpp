// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/tcp_proxy.hpp"

#include "support/close_on_exec.hpp"
#include "support/reserved_port.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <list>
#include <string_view>
#include <thread>
#include <utility>

namespace colock::test {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::array ways{tcp_proxy::way::to_server, tcp_proxy::way::to_client};

constexpr std::size_t index_of(tcp_proxy::way which) {
    return which == tcp_proxy::way::to_server ? 0 : 1;
}

constexpr bool includes(tcp_proxy::way which, tcp_proxy::way one) {
    return which == tcp_proxy::way::both || which == one;
}

}  // namespace

/// The part of the proxy that runs on its thread.
class tcp_proxy::relay {
public:
    explicit relay(std::uint16_t server_port)
        : server_(asio::ip::address_v4::loopback(), server_port) {
        listen();
        thread_ = std::thread([this] { context_.run(); });
    }

    ~relay() {
        context_.stop();
        thread_.join();
    }

    relay(const relay&) = delete;
    relay& operator=(const relay&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }

    /// Calls the function on the thread of the proxy, and waits for the result.
    template <typename Function>
    auto call(Function function) {
        std::packaged_task<decltype(function())()> task(std::move(function));
        auto result = task.get_future();
        asio::post(context_, [work = std::move(task)]() mutable { work(); });
        return result.get();
    }

    void set_delay(milliseconds by, way which) {
        for (const way one : ways) {
            if (includes(which, one)) {
                flows_.at(index_of(one)).delay = by;
            }
        }
    }

    enum class treatment { pass, hold, drop };

    void set_treatment(treatment now, way which) {
        for (const way one : ways) {
            if (includes(which, one)) {
                flows_.at(index_of(one)).what = now;
            }
        }
    }

    enum class on_request { nothing, hold, cut, cut_at_reply };

    void watch_for(on_request what, std::string text) {
        on_request_ = what;
        text_ = std::move(text);
    }

    void resume() {
        flows_ = {};
        on_request_ = on_request::nothing;
        // A reset removes the connection from the list.
        for (auto it = links_.begin(); it != links_.end();) {
            const std::shared_ptr<link> one = *it++;
            if (one->lossy) {
                reset(*one);
                continue;
            }
            for (const way which : ways) {
                for (piece& waiting : one->pipes.at(index_of(which)).waiting) {
                    waiting.due = steady_clock::now();
                }
                pump(one, which);
            }
        }
    }

    void cut() {
        while (!links_.empty()) {
            reset(*std::shared_ptr<link>(links_.front()));
        }
    }

    void refuse() { acceptor_.close(); }

    void listen() {
        acceptor_.open(tcp::v4());
        close_on_exec(acceptor_);
        acceptor_.set_option(asio::socket_base::reuse_address(true));
        acceptor_.bind({asio::ip::address_v4::loopback(), port()});
        acceptor_.listen();
        accept_next();
    }

    [[nodiscard]] std::size_t connections() const { return links_.size(); }
    [[nodiscard]] std::size_t cuts() const { return cuts_; }

    [[nodiscard]] std::size_t waiting(way which) const {
        std::size_t sum = 0;
        for (const auto& one : links_) {
            for (const way w : ways) {
                if (includes(which, w)) {
                    for (const piece& p : one->pipes.at(index_of(w)).waiting) {
                        sum += p.bytes.size();
                    }
                }
            }
        }
        return sum;
    }

private:
    struct flow {
        treatment what = treatment::pass;
        milliseconds delay{0};
    };

    /// The bytes of one read. A piece without bytes is the end of the connection.
    struct piece {
        std::string bytes;
        steady_clock::time_point due;
    };

    /// One direction of a connection.
    struct pipe {
        explicit pipe(asio::io_context& context) : timer(context) {}
        std::deque<piece> waiting;
        asio::steady_timer timer;
        steady_clock::time_point waits_until{};  // While the timer is running.
        bool writing = false;
        std::string outgoing;
        std::array<char, 65536> buffer{};
    };

    /// A connection: two sockets.
    struct link {
        explicit link(asio::io_context& context, tcp::socket from)
            : client(std::move(from)), server(context), pipes{pipe(context), pipe(context)} {}

        tcp::socket& source(way which) { return which == way::to_server ? client : server; }
        tcp::socket& target(way which) { return which == way::to_server ? server : client; }

        tcp::socket client;
        tcp::socket server;
        std::array<pipe, 2> pipes;
        bool lossy = false;  // Some of its bytes were dropped.
        bool cut_at_reply = false;
        bool closed = false;
    };

    void accept_next() {
        acceptor_.async_accept([this](error_code failure, tcp::socket from) {
            if (failure) {
                if (acceptor_.is_open()) {
                    accept_next();
                }
                return;
            }
            const auto made = std::make_shared<link>(context_, std::move(from));
            links_.push_back(made);
            made->server.open(tcp::v4(), failure);  // If this fails, the next step fails too.
            close_on_exec(made->client);
            close_on_exec(made->server);
            made->server.async_connect(server_, [this, made](error_code refused) {
                if (refused) {
                    reset(*made);
                } else if (!made->closed) {
                    error_code ignored;  // A failure here only adds latency.
                    made->client.set_option(tcp::no_delay(true), ignored);
                    made->server.set_option(tcp::no_delay(true), ignored);
                    read(made, way::to_server);
                    read(made, way::to_client);
                }
            });
            accept_next();
        });
    }

    void read(const std::shared_ptr<link>& one, way which) {
        pipe& p = one->pipes.at(index_of(which));
        one->source(which).async_read_some(
            asio::buffer(p.buffer), [this, one, which, &p](error_code failure, std::size_t size) {
                if (one->closed) {
                    return;
                }
                take(one, which, std::string_view(p.buffer.data(), failure ? 0 : size));
                if (!failure && !one->closed) {
                    read(one, which);
                }
            });
    }

    void take(const std::shared_ptr<link>& one, way which, std::string_view bytes) {
        if (cuts_off(*one, which, bytes)) {
            ++cuts_;
            reset(*one);
            return;
        }
        const flow& now = flows_.at(index_of(which));
        if (now.what == treatment::drop) {
            one->lossy = true;
            return;
        }
        one->pipes.at(index_of(which))
            .waiting.push_back({std::string(bytes), steady_clock::now() + now.delay});
        pump(one, which);
    }

    /// Returns true if these bytes must end the connection. Also applies the rule of the watched request.
    bool cuts_off(link& one, way which, std::string_view bytes) {
        if (which == way::to_client) {
            return one.cut_at_reply;
        }
        if (on_request_ == on_request::nothing || bytes.find(text_) == std::string_view::npos) {
            return false;
        }
        const on_request what = std::exchange(on_request_, on_request::nothing);
        if (what == on_request::hold) {
            set_treatment(treatment::hold, way::to_server);
        }
        one.cut_at_reply = what == on_request::cut_at_reply;
        return what == on_request::cut;
    }

    /// Writes the pieces that are due.
    void pump(const std::shared_ptr<link>& one, way which) {
        pipe& p = one->pipes.at(index_of(which));
        if (one->closed || p.writing || p.waiting.empty() ||
            flows_.at(index_of(which)).what == treatment::hold) {
            return;
        }
        const auto now = steady_clock::now();
        if (p.waiting.front().due > now) {
            wait(one, which);
            return;
        }
        if (p.waiting.front().bytes.empty()) {
            close(*one);
            return;
        }
        p.writing = true;
        p.outgoing = std::move(p.waiting.front().bytes);
        p.waiting.pop_front();
        while (!p.waiting.empty() && p.waiting.front().due <= now &&
               !p.waiting.front().bytes.empty()) {
            p.outgoing += p.waiting.front().bytes;
            p.waiting.pop_front();
        }
        asio::async_write(one->target(which), asio::buffer(p.outgoing),
                          [this, one, which, &p](error_code failure, std::size_t) {
                              p.writing = false;
                              if (one->closed) {
                                  return;
                              }
                              if (failure) {
                                  close(*one);
                                  return;
                              }
                              pump(one, which);
                          });
    }

    /// Waits until the first piece is due. Later pieces do not restart the timer. Otherwise a benchmark over
    /// a delayed connection would measure timer restarts.
    void wait(const std::shared_ptr<link>& one, way which) {
        pipe& p = one->pipes.at(index_of(which));
        if (std::exchange(p.waits_until, p.waiting.front().due) == p.waiting.front().due) {
            return;
        }
        p.timer.expires_at(p.waits_until);
        p.timer.async_wait([this, one, which, &p](error_code stopped) {
            if (!stopped) {
                p.waits_until = {};
                pump(one, which);
            }
        });
    }

    void reset(link& one) {
        error_code ignored;
        one.client.set_option(asio::socket_base::linger(true, 0), ignored);
        one.server.set_option(asio::socket_base::linger(true, 0), ignored);
        close(one);
    }

    void close(link& one) {
        error_code ignored;
        one.closed = true;
        one.client.close(ignored);
        one.server.close(ignored);
        for (pipe& p : one.pipes) {
            p.timer.cancel();
        }
        std::erase_if(links_, [&](const auto& other) { return other.get() == &one; });
    }

    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    tcp::endpoint server_;
    reserved_port port_;
    tcp::acceptor acceptor_{context_};
    std::list<std::shared_ptr<link>> links_;
    std::array<flow, 2> flows_{};
    on_request on_request_ = on_request::nothing;
    std::string text_;
    std::size_t cuts_ = 0;
    std::thread thread_;
};

tcp_proxy::tcp_proxy(std::uint16_t server_port) : relay_(std::make_unique<relay>(server_port)) {}
tcp_proxy::~tcp_proxy() = default;
tcp_proxy::tcp_proxy(tcp_proxy&& other) noexcept = default;
tcp_proxy& tcp_proxy::operator=(tcp_proxy&& other) noexcept = default;

std::uint16_t tcp_proxy::port() const noexcept {
    return relay_->port();
}

std::string tcp_proxy::uri() const {
    return "redis://127.0.0.1:" + std::to_string(port());
}

void tcp_proxy::delay(milliseconds by, way which) {
    relay_->call([&] { relay_->set_delay(by, which); });
}

void tcp_proxy::hold(way which) {
    relay_->call([&] { relay_->set_treatment(relay::treatment::hold, which); });
}

void tcp_proxy::hold_from_request(std::string text) {
    relay_->call([&] { relay_->watch_for(relay::on_request::hold, std::move(text)); });
}

void tcp_proxy::drop(way which) {
    relay_->call([&] { relay_->set_treatment(relay::treatment::drop, which); });
}

void tcp_proxy::resume() {
    relay_->call([&] { relay_->resume(); });
}

void tcp_proxy::cut() {
    relay_->call([&] { relay_->cut(); });
}

void tcp_proxy::cut_before_request(std::string text) {
    relay_->call([&] { relay_->watch_for(relay::on_request::cut, std::move(text)); });
}

void tcp_proxy::cut_before_reply(std::string text) {
    relay_->call([&] { relay_->watch_for(relay::on_request::cut_at_reply, std::move(text)); });
}

void tcp_proxy::refuse() {
    relay_->call([&] { relay_->refuse(); });
}

void tcp_proxy::accept() {
    relay_->call([&] { relay_->listen(); });
}

std::size_t tcp_proxy::connections() const {
    return relay_->call([&] { return relay_->connections(); });
}

std::size_t tcp_proxy::waiting(way which) const {
    return relay_->call([&] { return relay_->waiting(which); });
}

std::size_t tcp_proxy::cuts() const {
    return relay_->call([&] { return relay_->cuts(); });
}

}  // namespace colock::test
