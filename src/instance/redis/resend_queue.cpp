// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/resend_queue.hpp"

#include <algorithm>
#include <utility>

namespace colock::instance::redis {

void resend_queue::add(const submission& command, script_form form, number sent_as) {
    if (waiting_.size() == waiting_.capacity()) {
        waiting_.reserve(2 * waiting_.size() + 8);
    }
    numbers& of_key = unfinished_[std::string(command.command.key)];
    of_key.reserve(of_key.size() + 1);
    if (const auto again = std::ranges::find(of_key, sent_as); again != of_key.end()) {
        *again = not_sent;  // It keeps its place.
    } else {
        of_key.push_back(not_sent);
    }
    waiting_.push_back({command, form});
}

std::vector<resend_queue::entry> resend_queue::take() {
    return std::exchange(waiting_, {});
}

void resend_queue::sent(std::string_view key, number as) {
    const auto found = unfinished_.find(std::string(key));
    if (found != unfinished_.end()) {
        if (const auto one = std::ranges::find(found->second, not_sent);
            one != found->second.end()) {
            *one = as;
        }
    }
}

void resend_queue::drop(std::string_view key) {
    finish(key, not_sent);
}

void resend_queue::answered(std::string_view key, number as) {
    finish(key, as);
}

void resend_queue::finish(std::string_view key, number as) {
    const auto found = unfinished_.find(std::string(key));
    if (found == unfinished_.end()) {
        return;
    }
    numbers& of_key = found->second;
    if (const auto one = std::ranges::find(of_key, as); one != of_key.end()) {
        of_key.erase(one);
    }
    if (of_key.empty()) {
        unfinished_.erase(found);
    }
}

bool resend_queue::has_overtaken(std::string_view key, number as) const {
    const auto found = unfinished_.find(std::string(key));
    if (found == unfinished_.end()) {
        return false;
    }
    const numbers& of_key = found->second;
    // If it is not found, it comes after all of them.
    const auto itself = std::ranges::find(of_key, as);
    return std::any_of(of_key.begin(), itself, [as](number other) { return other > as; });
}

void resend_queue::clear() noexcept {
    waiting_.clear();
    unfinished_.clear();
}

}  // namespace colock::instance::redis
