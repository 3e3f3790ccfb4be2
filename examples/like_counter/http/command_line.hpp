// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_COMMAND_LINE_HPP
#define LIKE_COUNTER_COMMAND_LINE_HPP

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

// Options of the service and of the driver.

namespace like_counter {

/// Adds an option with its default and its limits.
template <typename Value>
void add_number(CLI::App& app, const std::string& name, Value& value, Value least, Value most,
                const std::string& help) {
    app.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
}

/// Adds an option whose value is a time, in the unit of the time.
template <typename Time>
void add_time(CLI::App& app, const std::string& name, Time& time, int least, int most,
              const std::string& help) {
    app.add_option_function<int>(
           name, [&time](int count) { time = Time(count); }, help)
        ->check(CLI::Range(least, most))
        ->default_str(std::to_string(time.count()));
}

/// Reads the address:port of an option. Throws `std::invalid_argument`.
inline boost::asio::ip::tcp::endpoint parse_endpoint(const std::string& option,
                                                     const std::string& text) {
    const auto colon = text.rfind(':');
    const std::string_view digits =
        std::string_view(text).substr(colon == std::string::npos ? text.size() : colon + 1);
    std::string host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    std::uint16_t port = 0;
    const auto [stop, problem] = std::from_chars(digits.begin(), digits.end(), port);
    boost::system::error_code no_address;
    const auto address =
        boost::asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, no_address);
    if (problem != std::errc() || stop != digits.end() || no_address) {
        throw std::invalid_argument(option + ": expected address:port, not " + text);
    }
    return {address, port};
}

}  // namespace like_counter

#endif
