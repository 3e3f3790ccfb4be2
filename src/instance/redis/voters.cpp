// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/voters.hpp"

#include <boost/asio/ip/address.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <filesystem>

namespace colock::instance::redis {
namespace {

namespace ip = boost::asio::ip;

/// Returns a host in its normal form.
std::string normal_host(std::string_view host) {
    std::string result(host);
    std::ranges::transform(result, result.begin(), [](char c) {
        return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (result.ends_with('.')) {
        result.pop_back();
    }
    // The resolver reads 127.1 and 0x7f000001 as 127.0.0.1, and so does this function.
    if (in_addr short_form{}; ::inet_aton(result.c_str(), &short_form) != 0) {
        return ip::address_v4(ntohl(short_form.s_addr)).to_string();
    }
    boost::system::error_code is_name;
    const ip::address_v6 numeric = ip::make_address_v6(result, is_name);
    if (is_name) {
        return result;
    }
    return numeric.is_v4_mapped() ? ip::make_address_v4(ip::v4_mapped, numeric).to_string()
                                  : numeric.to_string();
}

/// Returns a path without `.` and empty parts. Keeps `..`, because after a symbolic link it leads elsewhere
/// than the text suggests.
std::string normal_path(const std::string& path) {
    std::filesystem::path result;
    for (const std::filesystem::path& part : std::filesystem::path(path)) {
        if (part != "." && !part.empty()) {
            result /= part;
        }
    }
    return result.string();
}

}  // namespace

bool same_voter(const voter& a, const voter& b) noexcept {
    if (!a.run_id.empty() && !b.run_id.empty()) {
        return a.run_id == b.run_id;
    }
    return std::ranges::find_first_of(a.places, b.places) != a.places.end();
}

std::string place_of(std::string_view host, std::string_view port) {
    return endpoint_text(normal_host(host), std::string(port));
}

std::string place_of(const address& server) {
    return server.unix_path.empty() ? place_of(server.host, server.port)
                                    : normal_path(server.unix_path);
}

std::string voters::join(std::size_t index, const std::string& run_id, const address& to) {
    const voter who{{place_of(to)}, run_id};
    for (const connected& other : all_) {
        if (other.index != index && same_voter(who, other.who)) {
            return "it is the same server as " + other.address +
                   (run_id.empty() ? "" : " (run_id " + run_id + ")") +
                   ". Every instance must be a different server, so remove one of the two";
        }
    }
    leave(index, to);
    all_.push_back({index, who, to.display});
    return {};
}

void voters::leave(std::size_t index, const address& to) noexcept {
    std::erase_if(all_, [&](const connected& one) {
        return one.index == index && one.address == to.display;
    });
}

}  // namespace colock::instance::redis
