// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CLIENT_PROCESS_HPP
#define COLOCK_TEST_INTEGRATION_CLIENT_PROCESS_HPP

#include "integration/locks.hpp"
#include "support/child_process.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

extern const char* const path_of_lock_holder;  // cmake/testing.cmake writes its definition.

/// The process of lock_holder.cpp: a client with one lock that executes commands.
class client_process : public child_process {
public:
    /// The process gets the instances and the timeout of a vote from the configuration. `what` is "plain",
    /// "fenced" or "fifo".
    client_process(const std::string& resource, milliseconds ttl, const config& configuration,
                   const std::string& what = "plain")
        : child_process("lock_holder", command(resource, ttl, configuration, what)) {}

    asio::awaitable<std::string> wait_for_answer() {
        std::optional<std::string> next;
        co_await async_wait_until([&] { return (next = line()).has_value(); });
        co_return *std::move(next);
    }

    /// Sends one of the commands of lock_holder.cpp and returns the answer.
    asio::awaitable<std::string> ask(std::string what) {
        tell(what);
        co_return co_await wait_for_answer();
    }

private:
    static std::vector<std::string> command(const std::string& resource, milliseconds ttl,
                                            const config& configuration, const std::string& what) {
        const nlohmann::json json{
            {"instances", configuration.instances},
            {"instance_timeout_ms", configuration.instance_timeout.count()},
        };
        return {path_of_lock_holder, resource, std::to_string(ttl.count()), json.dump(), what};
    }
};

}  // namespace colock::test

#endif
