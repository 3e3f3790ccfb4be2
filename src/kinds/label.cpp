// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/label.hpp"

#include "kinds/lock_key.hpp"

#include <algorithm>

namespace colock::kinds {

std::string_view label_in(std::string_view token) noexcept {
    const std::string_view digits_and_label = as_writers(token);
    const std::size_t end =
        std::min(digits_and_label.find_first_not_of("0123456789abcdef"), digits_and_label.size());
    const std::string_view rest = digits_and_label.substr(end);
    if (end != token_digits || !rest.starts_with(label_mark)) {
        return {};
    }
    const std::string_view label = rest.substr(1);
    return label.size() <= longest_label && std::ranges::all_of(label, is_label_character)
               ? label
               : std::string_view();
}

}  // namespace colock::kinds
