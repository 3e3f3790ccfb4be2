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

/// A Sentinel that names whichever master it is told to, on the loopback.
///
/// All members may be called by any thread.
class fake_sentinel {
public:
    /// How it is asked to log in; by an empty password not at all.
    explicit fake_sentinel(std::string password = {}) : state_(std::make_shared<state>()) {
        state_->password = std::move(password);
    }

    /// At this numeric address and port. It gives this ID, or none.
    fake_sentinel(const std::string& host, std::uint16_t port, std::string id)
        : state_(std::make_shared<state>()), server_(answer_of(state_), port, host) {
        state_->id = std::move(id);
    }

    [[nodiscard]] std::uint16_t port() const { return server_.port(); }
    [[nodiscard]] std::string host_and_port() const {
        return "127.0.0.1:" + std::to_string(port());
    }

    /// From now on it names this port, and says that it has been so for that long.
    void name(std::uint16_t master, std::chrono::milliseconds age = std::chrono::hours(1)) {
        const std::lock_guard lock(state_->mutex);
        state_->master = master;
        state_->age = age;
    }

    /// From now on it names this host, and not 127.0.0.1.
    void name_host(const std::string& host) {
        const std::lock_guard lock(state_->mutex);
        state_->host = host;
    }

    /// And tells all that have subscribed.
    void switch_to(std::uint16_t master, std::chrono::milliseconds age = {}) {
        name(master, age);
        announce("mymaster 127.0.0.1 1 127.0.0.1 " + std::to_string(master));
    }

    void announce(const std::string& message) {
        server_.say(">3\r\n" + bulk_string("message") + bulk_string("+switch-master") +
                    bulk_string(message));
    }

    /// How often it was asked for the master.
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
        std::uint16_t master = 0;  // none
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
