// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_RECYCLING_ALLOCATOR_HPP
#define COLOCK_RUNTIME_RECYCLING_ALLOCATOR_HPP

#include <cstddef>
#include <memory>
#include <utility>

namespace colock::runtime {

/// Memory for what is made and destroyed once per lock. A block that a thread frees serves its next
/// allocation of about that size: the one freed last first, while it is still in the cache. Keeps a
/// bounded number of them; large ones come from the heap.
void* allocate_block(std::size_t size);
void deallocate_block(void* memory, std::size_t size) noexcept;

/// `allocate_block` for `std::allocate_shared` and its like.
template <typename T>
class recycling_allocator {
public:
    using value_type = T;

    recycling_allocator() noexcept = default;
    template <typename U>
    // NOLINTNEXTLINE(*-explicit-*)
    recycling_allocator(const recycling_allocator<U>& /*other*/) noexcept {}

    T* allocate(std::size_t n) {
        static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        return static_cast<T*>(allocate_block(n * sizeof(T)));
    }

    void deallocate(T* memory, std::size_t n) noexcept { deallocate_block(memory, n * sizeof(T)); }

    template <typename U>
    friend bool operator==(const recycling_allocator& /*a*/,
                           const recycling_allocator<U>& /*b*/) noexcept {
        return true;
    }
};

/// One object in such memory.
template <typename T>
struct recycling_deleter {
    void operator()(T* object) const noexcept {
        std::destroy_at(object);
        deallocate_block(object, sizeof(T));
    }
};
template <typename T>
using recycled = std::unique_ptr<T, recycling_deleter<T>>;

template <typename T, typename... Arguments>
recycled<T> make_recycled(Arguments&&... arguments) {
    T* const memory = recycling_allocator<T>().allocate(1);
    try {
        return recycled<T>(std::construct_at(memory, std::forward<Arguments>(arguments)...));
    } catch (...) {
        recycling_allocator<T>().deallocate(memory, 1);
        throw;
    }
}

}  // namespace colock::runtime

#endif
