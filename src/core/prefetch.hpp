#ifndef COLOCK_CORE_PREFETCH_HPP
#define COLOCK_CORE_PREFETCH_HPP

#include <cstddef>
#include <cstdint>
#include <memory>

namespace colock::core {

// With a thousand locks under way, what belongs to one of them has left the cache whenever it is needed
// again, and a third of a lock's time was to wait for memory. But who is next is always known a little before.

/// For functions that only prefetch. GCC takes such a one for a function without an effect, and leaves out the
/// calls of it, unless it was inlined before.
#if defined(__GNUC__)
#define COLOCK_PREFETCHES [[gnu::always_inline]] inline
#else
#define COLOCK_PREFETCHES inline
#endif

inline constexpr std::size_t cache_line = 64;

/// Begins to bring some memory into the cache, to be written. No address is a wrong one.
COLOCK_PREFETCHES void prefetch(std::uintptr_t address, std::size_t size) noexcept {
#if defined(__GNUC__)
    for (std::size_t offset = 0; offset < size; offset += cache_line) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): it is not dereferenced
        __builtin_prefetch(reinterpret_cast<const void*>(address + offset), 1);
    }
#endif
}

/// The same with an object, or with the first bytes of it.
template <typename T>
COLOCK_PREFETCHES void prefetch(const T* object, std::size_t size = sizeof(T)) noexcept {
    prefetch(reinterpret_cast<std::uintptr_t>(object), size);
}

/// The same, and with the counts that `std::make_shared` has put before it.
template <typename T>
COLOCK_PREFETCHES void prefetch_shared(const std::shared_ptr<T>& object,
                                       std::size_t size = sizeof(T)) noexcept {
    constexpr std::size_t counts = 2 * sizeof(void*);
    prefetch(reinterpret_cast<std::uintptr_t>(object.get()) - counts, counts + size);
}

}  // namespace colock::core

#endif
