// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_BROWSER_HPP
#define LIKE_COUNTER_BROWSER_HPP

#include "http_message.hpp"
#include "page.hpp"  // generated

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// The page for a browser, and what keeps the pages of other sites in this browser out.

namespace like_counter {

/// Returns 32 random digits.
inline std::string random_text() {
    std::random_device random;
    std::string text;
    for (int i = 0; i != 32; ++i) {
        text += "0123456789abcdef"[random() % 16];
    }
    return text;
}

/// Returns the page in its mode "service" or "stage". The browser runs only its own script, which has a random nonce.
inline http_response page_response(std::string_view mode) {
    using boost::beast::http::field;
    const std::string nonce = "nonce-" + random_text();
    http_response response(boost::beast::http::status::ok, 11);
    response.set(field::content_type, "text/html; charset=utf-8");
    response.set(field::cache_control, "no-store");
    response.set(field::referrer_policy, "no-referrer");  // The address may be a secret.
    response.set(field::content_security_policy,
                 "default-src 'none'; script-src '" + nonce +
                     "'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
                     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    std::string& body = response.body() = page;
    const auto replace = [&body](std::string_view old, const std::string& by) {
        body.replace(body.find(old), old.size(), by);
    };
    replace(R"("mode": "service")", R"("mode": ")" + std::string(mode) + '"');
    replace("<script>", "<script nonce=\"" + nonce.substr(6) + "\">");
    return response;
}

/// Returns the field that shows that a page of another site may have sent the request. By DNS, a site can give its own
/// name our address, and so the origin of its pages. It cannot have an address, "localhost" or the names of this server.
inline std::optional<boost::beast::http::field> foreign_field(
    const http_request& request, const std::vector<std::string>& names = {}) {
    using boost::beast::http::field;
    const std::string_view host = request[field::host];
    const std::string_view origin = request[field::origin];
    std::string_view name = host.substr(0, host.ends_with(']') ? host.size() : host.rfind(':'));
    const bool is_known = boost::beast::iequals(name, "localhost") ||
                          std::ranges::any_of(names, [name](const std::string& one) {
                              return boost::beast::iequals(name, one);
                          });
    if (name.starts_with('[') && name.ends_with(']')) {
        name = name.substr(1, name.size() - 2);
    }
    boost::system::error_code no_address;
    boost::asio::ip::make_address(name, no_address);
    if (!is_known && no_address) {
        return field::host;
    }
    const bool is_ours = origin.empty() || origin == "http://" + std::string(host) ||
                         origin == "https://" + std::string(host);
    return is_ours ? std::nullopt : std::optional(field::origin);
}

}  // namespace like_counter

#endif
