// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/plain_client.hpp"
#include "benchmark/plain_clients.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/redis/adapter/any_adapter.hpp>
#include <boost/redis/config.hpp>
#include <boost/redis/connection.hpp>
#include <boost/redis/logger.hpp>
#include <boost/redis/request.hpp>
#include <boost/url/parse.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
namespace redis = boost::redis;
using boost::system::error_code;

class boost_redis_client final : public plain_client {
public:
    explicit boost_redis_client(const orders& work) : plain_client(work) {
        for (std::size_t i = 0; i != work.concurrency; ++i) {
            locks_.emplace_back().name = lock_name(i);
        }
        for (const auto& uri : work.instances) {
            connect(uri);
        }
    }

    using plain_client::run;

private:
    using connection = redis::basic_connection<asio::io_context::executor_type>;
    using event = redis::any_adapter::parse_event;
    using node = redis::resp3::node_view;

    struct lock {
        std::string name;
        token held_by{};

        [[nodiscard]] std::string_view holder() const { return {held_by.data(), held_by.size()}; }
    };

    void connect(const std::string& uri) {
        const auto parsed = boost::urls::parse_uri(uri).value();
        redis::config settings;
        settings.addr = {parsed.host_address(), parsed.port()};
        connection& made = *connections_.emplace_back(std::make_unique<connection>(
            context().get_executor(), redis::logger(redis::logger::level::disabled)));
        made.async_run(settings, [this](error_code failure) {
            if (!is_closed_) {
                fail(failure.message());
            }
        });
        const auto load = std::make_shared<redis::request>();
        load->push("SCRIPT", "LOAD", release_script);
        const auto digest = std::make_shared<std::string>();
        made.async_exec(*load,
                        redis::any_adapter([digest](event e, const node& n, error_code& /*f*/) {
                            if (e == event::node) {
                                *digest = n.value;
                            }
                        }),
                        [this, load, digest, &made](error_code failure, std::size_t /*bytes*/) {
                            if (failure) {
                                fail(failure.message());
                            }
                            script_digest_ = *digest;
                            disable_nagle(made);
                            if (++connected_ == connections_.size()) {
                                start();
                            }
                        });
    }

    static void disable_nagle(connection& of) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
        of.next_layer().next_layer().set_option(asio::ip::tcp::no_delay(true));
#pragma GCC diagnostic pop
    }

    void send_take(ballot to_count, const token& t) override {
        lock& each = locks_[to_count.task];
        each.held_by = t;
        const auto take = std::make_shared<redis::request>();
        take->push("SET", each.name, each.holder(), "NX", "PX", lock_ttl.count());
        send_to_all(to_count, take);
    }

    void send_release(ballot to_count) override {
        const lock& each = locks_[to_count.task];
        const auto release = std::make_shared<redis::request>();
        release->push("EVALSHA", script_digest_, 1, each.name, each.holder());
        send_to_all(to_count, release);
    }

    void send_to_all(ballot to_count, const std::shared_ptr<redis::request>& command) {
        unanswered_ += connections_.size();
        for (const auto& one : connections_) {
            one->async_exec(*command, redis::any_adapter(&check),
                            [this, command, to_count](error_code failure, std::size_t /*bytes*/) {
                                if (failure) {
                                    fail(failure.message());
                                }
                                --unanswered_;
                                granted(to_count);
                                if (all_done() && unanswered_ == 0) {
                                    close();
                                }
                            });
        }
    }

    void close() {
        is_closed_ = true;
        for (const auto& one : connections_) {
            one->cancel();
        }
    }

    [[noreturn]] static void fail(const std::string& why) {
        throw std::runtime_error("boost_redis: " + why);
    }

    /// Fails on an error reply. No command can be denied, because each task uses keys of its own.
    static void check(event e, const node& n, error_code& /*failure*/) {
        if (e == event::node && n.value != "OK" && n.value != "1") {
            fail("unexpected reply " + std::string(n.value));
        }
    }

    std::vector<std::unique_ptr<connection>> connections_;
    std::vector<lock> locks_;  // Indexed by task.
    std::string script_digest_;
    std::size_t connected_ = 0;
    std::size_t unanswered_ = 0;  // Commands, each counted once for each server.
    bool is_closed_ = false;
};

}  // namespace

measured run_boost_redis(const orders& work) {
    return boost_redis_client(work).run();
}

}  // namespace colock::benchmark
