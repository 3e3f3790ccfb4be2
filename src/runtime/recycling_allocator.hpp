// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_RECYCLING_ALLOCATOR_HPP
#define COLOCK_RUNTIME_RECYCLING_ALLOCATOR_HPP

#include <cstddef>
#include <memory>
#include <utility>

namespace colock::runtime {

/// Limit per size, so that one size does not use up all bytes. The sizes of acquire and release need about 3
/// MiB.
inline constexpr std::size_t most_kept_blocks = 2048;
inline constexpr std::size_t most_kept_bytes = std::size_t{4} * 1024 * 1024;

/// Allocates memory for the objects of an acquire and a release. A block that a thread frees serves its next
/// allocation of about that size. The last freed block is used first, while it is still in the processor's
/// cache.
///
/// A thread keeps at most `most_kept_blocks` of a size, and `most_kept_bytes` in total. The overhead of the
/// heap is not counted. Blocks of more than 1,024 bytes are not kept. All are freed when the thread ends.
///
/// `boost::asio::recycling_allocator` keeps only a few blocks per thread. With it, the client needed the
/// following multiple of the CPU time for a lock acquired and released:
///
/// | servers | tasks | CPU time |
/// |---|---|---|
/// | 1 | 1,000 | 1.07 |
/// | 5 | 64 | 1.13 |
/// | 5 | 1,000 | 1.17 |
/// | 1 | 100,000 | 0.89 |
///
/// Measured in five rounds that alternated between the two, with the program that `test/benchmark/run.sh`
/// builds: `colock_benchmark run --workload uncontended --instances 5 --concurrency 1000`, and so on for each
/// row.
void* allocate_block(std::size_t size);
void deallocate_block(void* memory, std::size_t size) noexcept;

/// Uses `allocate_block` for `std::allocate_shared` and similar functions.
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

/// Deletes one object in such memory.
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
