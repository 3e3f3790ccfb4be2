// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_FAKE_SENTINEL_HPP
#define COLOCK_TEST_SUPPORT_FAKE_SENTINEL_HPP

#include "support/fake_server.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace colock::test {

/// A Sentinel on the loopback that reports the master that the test sets.
///
/// Thread-safety: any thread may call any member.
class fake_sentinel {
public:
    /// Requires this password. An empty password requires no login.
    explicit fake_sentinel(std::string password = {}) : state_(std::make_shared<state>()) {
        state_->password = std::move(password);
    }

    /// Listens at this numeric address and port. Reports this ID, or none if it is empty.
    fake_sentinel(const std::string& host, std::uint16_t port, std::string id)
        : state_(std::make_shared<state>()), server_(answer_of(state_), port, host) {
        state_->id = std::move(id);
    }

    [[nodiscard]] std::uint16_t port() const { return server_.port(); }
    [[nodiscard]] std::string host_and_port() const {
        return "127.0.0.1:" + std::to_string(port());
    }

    /// Reports this port as the master from now on. `age` is the reported time since it became the master.
    void name(std::uint16_t master, std::chrono::milliseconds age = std::chrono::hours(1)) {
        const std::lock_guard lock(state_->mutex);
        state_->master = master;
        state_->age = age;
    }

    /// Reports this host instead of 127.0.0.1 from now on.
    void name_host(const std::string& host) {
        const std::lock_guard lock(state_->mutex);
        state_->host = host;
    }

    /// Like `name`, and also notifies all subscribers.
    void switch_to(std::uint16_t master, std::chrono::milliseconds age = {}) {
        name(master, age);
        announce("mymaster 127.0.0.1 1 127.0.0.1 " + std::to_string(master));
    }

    void announce(const std::string& message) {
        server_.say(">3\r\n" + bulk_string("message") + bulk_string("+switch-master") +
                    bulk_string(message));
    }

    /// Returns the number of queries for the master.
    [[nodiscard]] std::size_t asked() const {
        const std::lock_guard lock(state_->mutex);
        return state_->asked;
    }

private:
    struct state {
        std::mutex mutex;
        std::string password;
        std::string id;
        std::string host = "127.0.0.1";
        std::uint16_t master = 0;  // None.
        std::chrono::milliseconds age{};
        std::size_t asked = 0;

        std::string answer(const fake_server::words& command) {
            const std::lock_guard lock(mutex);
            if (command[0] == "HELLO") {
                const bool logs_in = command.size() > 4 && command[2] == "AUTH";
                if (!password.empty() && (!logs_in || command[4] != password)) {
                    return logs_in ? "-WRONGPASS invalid username-password pair\r\n"
                                   : "-NOAUTH HELLO must be called with the client already "
                                     "authenticated\r\n";
                }
                return "%1\r\n$4\r\nmode\r\n$8\r\nsentinel\r\n";
            }
            if (command[0] == "SUBSCRIBE") {
                return ">3\r\n" + bulk_string("subscribe") + bulk_string(command[1]) + ":1\r\n";
            }
            if (command[0] == "SENTINEL" && command.size() == 3 && command[2] == "mymaster") {
                ++asked;
                if (master != 0) {
                    return "%4\r\n" + bulk_string("name") + bulk_string("mymaster") +
                           bulk_string("ip") + bulk_string(host) + bulk_string("port") +
                           bulk_string(std::to_string(master)) + bulk_string("role-reported-time") +
                           bulk_string(std::to_string(age.count()));
                }
            }
            if (command[0] == "SENTINEL" && command[1] == "MYID" && !id.empty()) {
                return bulk_string(id);
            }
            return "-ERR No such master with that name\r\n";
        }
    };

    static fake_server::answer_function answer_of(const std::shared_ptr<state>& of) {
        return [of](const fake_server::words& command) { return of->answer(command); };
    }

    std::shared_ptr<state> state_;
    fake_server server_{answer_of(state_)};
};

}  // namespace colock::test

#endif
