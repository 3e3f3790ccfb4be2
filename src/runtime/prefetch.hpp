#ifndef COLOCK_RUNTIME_PREFETCH_HPP
#define COLOCK_RUNTIME_PREFETCH_HPP

#include <cstddef>

namespace colock::runtime {

/// Begins to bring an object into the cache, to be written.
template <typename T>
void prefetch_object(const T& object) noexcept {
#if defined(__GNUC__)
    constexpr std::size_t cache_line = 64;
    const auto* const begin = reinterpret_cast<const std::byte*>(&object);
    for (std::size_t offset = 0; offset < sizeof(T); offset += cache_line) {
        __builtin_prefetch(begin + offset, 1);
    }
#endif
}

}  // namespace colock::runtime

#endif
