// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/dialog.hpp"

#include "platform/clock.hpp"
#include "resp/writer.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <span>
#include <utility>

namespace colock::instance::redis {
namespace asio = boost::asio;
using boost::system::error_code;

std::string dialog::answer::problem() const {
    if (!failure.empty()) {
        return failure;
    }
    const resp::value root = resp::cursor(reply).next();
    return is_error(root) ? std::string(root.text) : std::string();
}

dialog::dialog(const asio::any_io_executor& executor, address to,
               const connection_settings& settings)
    : executor_(executor),
      to_(std::move(to)),
      settings_(settings),
      resolver_(executor, settings.lookups),
      limit_(executor),
      signal_(executor),
      reader_(settings.max_reply_size) {}

asio::awaitable<std::string> dialog::open() {
    const auto self = shared_from_this();
    auto found = co_await resolver_.resolve(to_.host, settings_.connect_timeout);
    if (found.addresses.empty()) {
        co_return "cannot resolve " + to_.host + ": " + found.failure;
    }
    const std::string endpoint = endpoint_text(to_.host, to_.port);
    settings_.first_addresses->order(endpoint, found.addresses);
    const std::vector<std::string>& hosts = found.addresses;
    std::string reason = end_reason_;
    for (std::size_t i = 0; i != hosts.size() && !ended(); ++i) {
        reason = co_await open_at(hosts[i]);
        const bool has_answered = reason.empty();
        if (hosts.size() > 1 && (has_answered || ended())) {
            // If a server accepts connections at an address but does not answer, the next dialog starts with
            // the next address.
            settings_.first_addresses->prefer(endpoint,
                                              hosts[has_answered ? i : (i + 1) % hosts.size()]);
        }
        if (has_answered) {
            break;
        }
    }
    co_return reason;
}

asio::awaitable<std::string> dialog::open_at(const std::string& numeric_host) {
    std::string reason = co_await connect(numeric_host);
    if (!reason.empty()) {
        co_return reason;
    }
    read();
    const std::string user = to_.user.empty() ? "default" : to_.user;
    std::string password;
    try {
        password = read_password(to_);
    } catch (const std::exception& failure) {
        end(failure.what());
        co_return end_reason_;
    }
    const bool logs_in = !password.empty() || !to_.user.empty();
    std::vector<std::string_view> hello{"HELLO", "3", "SETNAME", "colock"};
    if (logs_in) {
        hello.insert(hello.begin() + 2, {"AUTH", user, password});
    }
    const answer greeting = co_await ask(std::move(hello));
    if (const std::string problem = greeting.problem(); !problem.empty()) {
        end((logs_in ? "HELLO with AUTH was refused: " : "HELLO was refused: ") +
            without_password(problem, password));
    }
    co_return end_reason_;
}

/// Opens the byte stream.
asio::awaitable<std::string> dialog::connect(const std::string& numeric_host) {
    try {
        stream_.emplace(executor_, to_);
        error_code failure;
        auto endpoint = endpoint_of(to_, numeric_host, failure);
        limit(settings_.connect_timeout);
        if (!failure) {
            failure = co_await stream_->connect(std::move(endpoint));
        }
        if (!failure) {
            socket_.set(stream_->native_handle());
            if (stream_->encrypts()) {
                failure = co_await stream_->shake_hands(to_, *settings_.tls_contexts);
            }
        }
        const bool in_time = limit_.cancel() != 0;
        if (failure) {
            std::string reason = in_time ? stream_->explain(failure, to_) : too_late();
            stream_->close();
            co_return reason;
        }
        co_return std::string();
    } catch (const std::exception& failure) {
        limit_.cancel();
        stream_->close();
        co_return failure.what();
    }
}

asio::awaitable<dialog::answer> dialog::ask(std::vector<std::string_view> question) {
    if (ended()) {
        co_return answer{{}, end_reason_};
    }
    resp::command_writer writer(output_);
    writer.write(std::span<const std::string_view>(question));
    reply_.reset();
    stream_->async_write(writer.text(), [self = shared_from_this()](const error_code& /*failure*/,
                                                                    std::size_t /*size*/) {});
    // Each message cancels the wait, so the end of the wait alone does not mean a timeout.
    signal_.expires_after(settings_.connect_timeout);
    while (!reply_ && !ended()) {
        co_await signal_.async_wait(asio::as_tuple(asio::use_awaitable));
        if (!reply_ && signal_.expiry() <= asio::steady_timer::clock_type::now()) {
            end(too_late());
        }
    }
    if (!reply_) {
        co_return answer{{}, end_reason_};
    }
    co_return answer{*std::exchange(reply_, std::nullopt), {}};
}

asio::awaitable<void> dialog::rest(core::duration shortest, core::duration longest) {
    using clock = asio::steady_timer::clock_type;
    const auto begin = clock::now();
    while (!ended()) {
        const auto end = begin + (woken_ ? shortest : longest);
        if (clock::now() >= end) {
            break;
        }
        signal_.expires_at(end);
        co_await signal_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    woken_ = false;
}

void dialog::wake() noexcept {
    woken_ = true;
    signal_.cancel();
}

void dialog::end(std::string reason) noexcept {
    if (ended()) {
        return;
    }
    end_reason_ = std::move(reason);
    resolver_.cancel();
    limit_.cancel();
    signal_.cancel();
    socket_.reset();
    if (stream_) {
        stream_->close();
    }
}

/// Closes the stream after that time, unless cancelled.
void dialog::limit(core::duration time) {
    limit_.expires_after(time);
    limit_.async_wait([self = shared_from_this()](const error_code& cancelled) {
        if (!cancelled) {
            self->stream_->close();
        }
    });
}

void dialog::read() {
    const std::span<char> room = input_.room();
    stream_->async_read_some(
        asio::buffer(room.data(), room.size()),
        [self = shared_from_this()](const error_code& failure, std::size_t size) {
            self->on_read(failure, size);
        });
}

void dialog::on_read(const error_code& failure, std::size_t size) {
    if (failure) {
        end(stream_->explain(failure, to_));
    }
    input_.commit(size);
    while (!ended()) {
        const std::string_view bytes = input_.bytes();
        const auto status = reader_.read(bytes);
        if (status == resp::reader::status::incomplete) {
            read();
            return;
        }
        if (status != resp::reader::status::complete) {
            end("it sent what is not RESP3, or too much of it");
            return;
        }
        input_.consume(reader_.size());
        on_message(reader_.root(), bytes.substr(0, reader_.size()));
    }
}

/// A push confirms a subscription, and is the reply to it.
void dialog::on_message(const resp::value& root, std::string_view bytes) {
    bool is_reply = root.type != resp::type::push;
    if (!is_reply) {
        resp::cursor values(bytes);
        is_reply = values.next().children != 0 && values.next().text == "subscribe";
    }
    if (is_reply) {
        reply_ = bytes;
        signal_.cancel();
    } else {
        has_message_ = true;
        wake();
    }
}

std::string dialog::too_late() const {
    return "it did not answer in time (connect_timeout, " +
           std::to_string(settings_.connect_timeout.count()) + " ms)";
}

}  // namespace colock::instance::redis
