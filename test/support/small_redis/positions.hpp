// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_POSITIONS_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_POSITIONS_HPP

#include <cstddef>
#include <cstdint>

namespace colock::small_redis {

/// The elements from `first` to `last` of a sequence. Negative positions count from the end.
struct positions {
    positions(std::int64_t first, std::int64_t last, std::size_t count) {
        const auto size = static_cast<std::int64_t>(count);
        first = first < 0 ? first + size : first;
        last = last < 0 ? last + size : last;
        first = first < 0 ? 0 : first;
        last = last >= size ? size - 1 : last;
        if (first <= last) {
            begin = static_cast<std::size_t>(first);
            end = static_cast<std::size_t>(last) + 1;
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return end - begin; }

    std::size_t begin = 0;
    std::size_t end = 0;
};

}  // namespace colock::small_redis

#endif
