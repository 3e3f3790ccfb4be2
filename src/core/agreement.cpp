// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/agreement.hpp"

#include <algorithm>
#include <vector>

namespace colock::core {
namespace {

/// The largest of the grants' values, and whether all of them have it.
agreed_value agree_on_largest(const round& votes) {
    agreed_value result;
    for (std::size_t i = 0; i != votes.instances(); ++i) {
        if (const std::uint64_t value = votes.value_of(i); votes.has_granted(i)) {
            result.reached = result.reached && (result.value == 0 || result.value == value);
            result.value = std::max(result.value, value);
        }
    }
    return result;
}

agreed_value agree_on_same(const round& votes) {
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
        if (equal >= quorum) {
            return {.value = *first};
        }
        most = std::max(most, equal);
        first = end;
    }
    return {.value = values[quorum - 1],
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
