// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/agreement.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::core {
namespace {

/// Returns the largest value of the grants, and whether all of them have it.
agreed_value agree_on_largest(const round& votes) {
    agreed_value result;
    for (std::size_t i = 0; i != votes.instances(); ++i) {
        if (const std::uint64_t value = votes.value_of(i); votes.has_granted(i)) {
            result.reached = result.reached && (result.value == 0 || result.value == value);
            // mutant: fence_of_the_first_grant
            result.value = std::max(result.value, value);
        }
    }
    return result;
}

/// Returns the first number of a list, or 0 if the list is empty.
std::uint64_t first_of(const std::vector<std::uint64_t>& list) {
    return list.empty() ? 0 : list.front();
}

/// Parses a text in the format of `command::values`.
std::vector<std::uint64_t> list_in(std::string_view text) {
    std::vector<std::uint64_t> result;
    while (!text.empty()) {
        std::uint64_t one = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), one);
        result.push_back(one);
        text.remove_prefix(
            std::min(text.size(), static_cast<std::size_t>(parsed.ptr - text.data()) + 1));
    }
    return result;
}

/// Returns the `quorum`-th smallest number at each position. The result increases, because the lists do.
std::string smallest_of_quorum(const std::vector<std::string>& texts, std::size_t quorum) {
    std::vector<std::vector<std::uint64_t>> places;
    for (const std::string& text : texts) {
        const std::vector<std::uint64_t> list = list_in(text);
        places.resize(std::max(places.size(), list.size()));
        for (std::size_t i = 0; i != list.size(); ++i) {
            places[i].push_back(list[i]);
        }
    }
    std::string result;
    for (std::vector<std::uint64_t>& place : places) {
        std::ranges::sort(place);
        result += std::to_string(place[std::min(quorum, place.size()) - 1]) + ' ';
    }
    return result;
}

/// Does the same as `agree_on_same`, for leases with several values.
agreed_value agree_on_same_lists(const round& votes) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i != votes.instances(); ++i) {
        if (votes.has_granted(i)) {
            texts.push_back(votes.text_of(i) != nullptr ? *votes.text_of(i) : std::string());
        }
    }
    const std::size_t quorum = quorum_of(votes.instances());
    std::size_t most = 0;
    for (const std::string& text : texts) {
        // mutant: lists_compared_by_the_first_number
        const auto equal = static_cast<std::size_t>(std::ranges::count(texts, text));
        if (equal >= quorum) {
            return {.value = first_of(list_in(text)), .values = text};
        }
        most = std::max(most, equal);
    }
    agreed_value result;
    result.values = smallest_of_quorum(texts, quorum);
    result.value = first_of(list_in(result.values));
    result.reached = false;
    result.may_be_reached = most + votes.silent() >= quorum;
    return result;
}

bool has_lists(const round& votes) {
    for (std::size_t i = 0; i != votes.instances(); ++i) {
        if (votes.has_granted(i)) {
            return votes.text_of(i) != nullptr;
        }
    }
    return false;
}

agreed_value agree_on_same(const round& votes) {
    if (has_lists(votes)) {
        return agree_on_same_lists(votes);
    }
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i != votes.instances(); ++i) {
        if (votes.has_granted(i)) {
            values.push_back(votes.value_of(i));
        }
    }
    std::ranges::sort(values);
    const std::size_t quorum = quorum_of(votes.instances());
    std::size_t most = 0;
    for (auto first = values.begin(); first != values.end();) {
        const auto end = std::upper_bound(first, values.end(), *first);
        const auto equal = static_cast<std::size_t>(end - first);
        // mutant: numbers_need_not_agree
        if (equal >= quorum) {
            return {.value = *first};
        }
        most = std::max(most, equal);
        first = end;
    }
    // mutant: raise_to_the_largest
    return {.value = values[quorum - 1],
            .values = {},
            .reached = false,
            .may_be_reached = most + votes.silent() >= quorum};
}

}  // namespace

agreed_value agree(agreement how, const round& votes) {
    switch (how) {
        case agreement::largest:
            return agree_on_largest(votes);
        case agreement::same:
            return agree_on_same(votes);
        case agreement::none:
            break;
    }
    return {};
}

}  // namespace colock::core
