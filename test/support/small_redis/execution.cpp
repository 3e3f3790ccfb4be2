// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/execution.hpp"

#include "support/small_redis/number_text.hpp"
#include "support/small_redis/server.hpp"

namespace colock::small_redis {

wall_milliseconds execution::now_in_milliseconds() const noexcept {
    return now / 1000;
}

bool execution::sees(std::string_view name) const noexcept {
    const record* const found = host.keys_.find(name);
    return found != nullptr && now_in_milliseconds() <= found->expires;
}

const record* execution::read(std::string_view name) {
    const record* const found = host.keys_.find(name);
    if (found != nullptr && now_in_milliseconds() > found->expires) {
        if (!host.state.is_replica) {
            host.remove_expired(name);
        }
        return nullptr;
    }
    return found;
}

record* execution::change(std::string_view name) {
    return read(name) == nullptr ? nullptr : host.keys_.find_to_change(name);
}

record& execution::replace(std::string_view name) {
    record& result = host.keys_.make(name);
    result.expires = no_expiry;
    return result;
}

bool execution::erase(std::string_view name) {
    if (read(name) == nullptr) {
        return false;
    }
    host.keys_.erase(name);
    has_changed(name);
    return true;
}

void execution::rename(std::string_view from, std::string_view to) {
    host.keys_.rename(from, to);
    has_changed(from);
    has_changed(to);
}

void execution::has_changed(std::string_view name) {
    host.signal(name);
}

std::optional<std::int64_t> execution::integer(std::size_t i, std::string_view error) {
    const auto result = to_integer(word(i));
    if (!result) {
        out.error(error);
    }
    return result;
}

}  // namespace colock::small_redis
