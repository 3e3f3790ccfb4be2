// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_TEST_SERVICE_PROCESS_HPP
#define LIKE_COUNTER_TEST_SERVICE_PROCESS_HPP

#include "support/child_process.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {
extern const char* const path_of_like_counter_service;  // cmake/testing.cmake writes its definition
}

namespace like_counter::test {

/// A service, as a process of its own. It is killed at the end, if it still runs.
class service_process {
public:
    explicit service_process(const std::vector<std::string>& arguments)
        : process_("the service", command(arguments)) {}

    /// Waits until the service reports its address. Throws `std::runtime_error` if it ends before.
    boost::asio::ip::tcp::endpoint listens_at() {
        const std::string beginning = "listening on http://127.0.0.1:";
        while (lines_.empty() || !lines_.back().starts_with(beginning)) {
            lines_.push_back(process_.wait_for_line());
        }
        return {boost::asio::ip::address_v4::loopback(),
                static_cast<std::uint16_t>(std::stoi(lines_.back().substr(beginning.size())))};
    }

    void ask_to_stop() const { process_.ask_to_end(); }

    /// Waits for the end. Returns -1 if the service does not end by itself.
    int exit_code() { return process_.exit_code().value_or(-1); }

    /// Waits for the end. Returns all lines of both outputs.
    const std::vector<std::string>& lines() {
        try {
            for (;;) {
                lines_.push_back(process_.wait_for_line());
            }
        } catch (const std::runtime_error& error) {
            if (!std::string_view(error.what()).ends_with("the process has ended")) {
                throw;
            }
        }
        return lines_;
    }

private:
    static std::vector<std::string> command(const std::vector<std::string>& arguments) {
        std::vector<std::string> result{"/bin/sh", "-c", R"(exec "$@" 2>&1)", "sh",
                                        colock::test::path_of_like_counter_service};
        result.insert(result.end(), arguments.begin(), arguments.end());
        return result;
    }

    colock::test::child_process process_;
    std::vector<std::string> lines_;
};

}  // namespace like_counter::test

#endif
