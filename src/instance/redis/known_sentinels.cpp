// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/known_sentinels.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock::instance::redis {
namespace {

bool have_an_address_in_common(const known_sentinel& a, const known_sentinel& b) noexcept {
    return std::ranges::any_of(a.addresses, [&](const auto& one) { return b.has(one); });
}

bool have_one_id(const known_sentinel& a, const known_sentinel& b) noexcept {
    return !a.id.empty() && a.id == b.id;
}

/// Adds a Sentinel. If a Sentinel with the same ID exists, adds the addresses to it.
void add(std::vector<known_sentinel>& to, const known_sentinel& one) {
    const auto same =
        std::ranges::find_if(to, [&](const auto& other) { return have_one_id(one, other); });
    if (same == to.end()) {
        to.push_back(one);
        return;
    }
    for (const std::string& address : one.addresses) {
        if (!same->has(address)) {
            same->addresses.push_back(address);
        }
    }
}

/// Groups the addresses by Sentinel.
std::vector<std::vector<std::string>> grouped(const std::vector<std::string>& addresses) {
    std::vector<std::string> v4;
    std::vector<std::string> v6;
    for (const std::string& one : addresses) {
        auto& family = one.find(':') == std::string::npos ? v4 : v6;
        if (std::ranges::find(family, one) == family.end()) {
            family.push_back(one);
        }
    }
    if (v4.size() <= 1 && v6.size() <= 1) {
        return {addresses};
    }
    std::vector<std::vector<std::string>> result;
    for (std::string& one : v4.size() >= v6.size() ? v4 : v6) {
        result.push_back({std::move(one)});
    }
    return result;
}

}  // namespace

bool known_sentinel::has(std::string_view address) const noexcept {
    return std::ranges::find(addresses, address) != addresses.end();
}

known_sentinels::known_sentinels(const std::vector<std::string>& ports) {
    for (const std::string& port : ports) {
        all_.push_back({.host = all_.size(), .port = port});
    }
}

void known_sentinels::resolved(std::size_t host, const std::vector<std::string>& addresses) {
    if (addresses.empty()) {
        return;
    }
    std::vector<known_sentinel> former;
    std::ranges::copy_if(all_, std::back_inserter(former),
                         [&](const known_sentinel& one) { return one.host == host; });
    std::vector<known_sentinel> now;
    for (std::vector<std::string>& group : grouped(addresses)) {
        known_sentinel one{
            .host = host, .port = former.front().port, .addresses = std::move(group)};
        for (const known_sentinel& before : former) {
            if (have_an_address_in_common(one, before)) {
                one.id = before.id;
            }
        }
        add(now, one);
    }
    for (const known_sentinel& before : former) {
        if (now.size() < former.size() && std::ranges::none_of(now, [&](const known_sentinel& one) {
                return have_an_address_in_common(one, before) || have_one_id(one, before);
            })) {
            now.push_back(before);
        }
    }
    replace(host, std::move(now));
}

void known_sentinels::identified(std::size_t host, std::string_view address, std::string_view id) {
    std::vector<known_sentinel> now;
    for (known_sentinel one : all_) {
        if (one.host == host) {
            if (one.has(address)) {
                one.id = id;
            }
            add(now, one);
        }
    }
    replace(host, std::move(now));
}

bool known_sentinels::is_several(std::size_t host) const noexcept {
    return std::ranges::count(all_, host, &known_sentinel::host) > 1;
}

void known_sentinels::replace(std::size_t host, std::vector<known_sentinel> by) {
    const auto first = std::ranges::find(all_, host, &known_sentinel::host);
    const auto at = all_.erase(
        first, std::find_if(first, all_.end(), [&](const auto& one) { return one.host != host; }));
    all_.insert(at, std::make_move_iterator(by.begin()), std::make_move_iterator(by.end()));
    for (std::size_t i = 0; i != all_.size(); ++i) {
        all_[i].is_duplicate = std::any_of(
            all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(i),
            [&](const known_sentinel& other) {
                return have_one_id(all_[i], other) ||
                       (all_[i].port == other.port && have_an_address_in_common(all_[i], other));
            });
    }
}

}  // namespace colock::instance::redis
