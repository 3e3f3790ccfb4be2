// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "api/label.hpp"

#include <colock/error.hpp>

#include "kinds/label.hpp"

#include <boost/asio/ip/host_name.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace colock {
inline namespace v1 {
namespace {

/// The longest process id of Linux: 4194304.
constexpr std::size_t longest_process_id = 7;

/// A byte for an error's text: "0x20".
std::string hexadecimal(char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return {'0', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

/// Calls `literal(character)` for each character that stands for itself, and `placeholder(character, place)` for the one behind
/// a percent sign, which is 0 at the end of the label.
template <typename Literal, typename Placeholder>
void parse(std::string_view label, const Literal& literal, const Placeholder& placeholder) {
    for (std::size_t at = 0; at < label.size(); ++at) {
        if (label[at] != '%') {
            literal(label[at]);
            continue;
        }
        ++at;
        placeholder(at < label.size() ? label[at] : '\0', at);
    }
}

}  // namespace

void check_label(const std::string& field, std::string_view label) {
    if (label.size() > kinds::longest_label) {
        throw config_error(field, std::to_string(label.size()) +
                                      " characters are too many (at most " +
                                      std::to_string(kinds::longest_label) + "). Shorten it");
    }
    const auto* const wrong = std::ranges::find_if_not(label, kinds::is_label_character);
    if (wrong != label.end()) {
        throw config_error(field, "the byte " + hexadecimal(*wrong) + " at position " +
                                      std::to_string(1 + (wrong - label.begin())) +
                                      " is out of range (0x21 to 0x7e). Use printable ASCII "
                                      "characters without spaces");
    }
    parse(
        label, [](char) {},
        [&](char c, std::size_t place) {
            if (c != 'h' && c != 'p' && c != '%') {
                throw config_error(field, "'" + std::string(label.substr(place - 1, 2)) +
                                              "' at position " + std::to_string(place) +
                                              " is unknown. Use %h for the host name, %p for the "
                                              "process id, or %% for a percent sign");
            }
        });
}

std::string expand_label(const std::string& field, std::string_view label, std::string_view host,
                         long process) {
    const std::string_view short_host = host.substr(0, host.find('.'));
    const std::string process_id = std::to_string(process);
    std::string result;
    std::size_t longest = 0;
    parse(
        label,
        [&](char c) {
            result += c;
            ++longest;
        },
        [&](char c, std::size_t) {
            const std::string_view text = c == 'h'   ? short_host
                                          : c == 'p' ? process_id
                                                     : std::string_view("%");
            result += text;
            longest += c == 'p' ? std::max(text.size(), longest_process_id) : text.size();
        });
    if (!std::ranges::all_of(result, kinds::is_label_character)) {
        throw config_error(field, "the host name has a character other than printable ASCII. "
                                  "Write a name in place of %h");
    }
    if (longest > kinds::longest_label) {
        throw config_error(field, "'" + std::string(label) + "' stands for '" + result +
                                      "' here, which has up to " + std::to_string(longest) +
                                      " characters (at most " +
                                      std::to_string(kinds::longest_label) +
                                      "). Shorten it, or write a name in place of %h");
    }
    return result;
}

std::string expand_label(const std::string& field, std::string_view label) {
    const std::string host =
        label.find('%') == std::string_view::npos ? std::string() : boost::asio::ip::host_name();
    return expand_label(field, label, host, ::getpid());
}

}  // namespace v1
}  // namespace colock
