// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/recycling_allocator.hpp"

#include "platform/thread_end.hpp"

#include <array>
#include <new>

namespace colock::runtime {
namespace {

#if defined(__SANITIZE_ADDRESS__)  // AddressSanitizer must see every allocation.
constexpr bool keeps_blocks = false;
#else
constexpr bool keeps_blocks = true;
#endif

/// Sizes are rounded up to a multiple of this.
constexpr std::size_t step = 16;
constexpr std::size_t largest = 1024;

struct block {
    block* next;
};

/// Freed blocks of one size.
struct free_list {
    block* first = nullptr;
    std::size_t count = 0;
};

/// The blocks that a thread keeps.
struct cache {
    std::array<free_list, largest / step> lists;  // By size.
    std::size_t bytes = 0;
};

/// Null until the thread has freed a block, and again after its end. It has no destructor, because the
/// destructors of static objects may still use locks. They run after a `thread_local` with a destructor is
/// gone.
constinit thread_local cache* kept = nullptr;

void empty(void* ended_thread) noexcept {
    kept = nullptr;
    auto* const blocks = static_cast<cache*>(ended_thread);
    for (free_list& list : blocks->lists) {
        while (list.first != nullptr) {
            block* const next = list.first->next;
            ::operator delete(list.first);
            list.first = next;
        }
    }
    delete blocks;  // NOLINT(*-owning-memory)
}

constinit platform::thread_end thread_ends;
const platform::thread_end::registration registered(thread_ends, &empty);

/// Returns null if nothing would free the cache.
cache* new_cache() noexcept {
    auto* const blocks = new (std::nothrow) cache;  // NOLINT(*-owning-memory)
    if (blocks != nullptr && !thread_ends.expect(blocks)) {
        delete blocks;  // NOLINT(*-owning-memory)
        return nullptr;
    }
    return blocks;
}

constexpr std::size_t index_of(std::size_t size) noexcept {
    return size == 0 ? 0 : (size - 1) / step;
}

constexpr std::size_t bytes_of(std::size_t index) noexcept {
    return (index + 1) * step;
}

/// Frees the first block of a thread without a cache. Out of line, so that the usual case needs no stack
/// frame.
[[gnu::noinline]] void deallocate_first_block(void* memory, std::size_t size) noexcept {
    kept = keeps_blocks ? new_cache() : nullptr;
    if (kept != nullptr) {
        deallocate_block(memory, size);
    } else {
        ::operator delete(memory);
    }
}

}  // namespace

void* allocate_block(std::size_t size) {
    if (size > largest) {
        return ::operator new(size);
    }
    const std::size_t index = index_of(size);
    if (cache* const mine = kept; mine != nullptr) {
        free_list& list = mine->lists[index];
        if (block* const first = list.first; first != nullptr) {
            list.first = first->next;
            --list.count;
            mine->bytes -= bytes_of(index);
            return first;
        }
    }
    return ::operator new(bytes_of(index));
}

void deallocate_block(void* memory, std::size_t size) noexcept {
    cache* const mine = kept;
    if (mine == nullptr) {
        deallocate_first_block(memory, size);
        return;
    }
    if (size <= largest) {
        const std::size_t index = index_of(size);
        free_list& list = mine->lists[index];
        const std::size_t bytes = mine->bytes + bytes_of(index);
        if (list.count != most_kept_blocks && bytes <= most_kept_bytes) {
            list.first = ::new (memory) block{list.first};
            ++list.count;
            mine->bytes = bytes;
            return;
        }
    }
    ::operator delete(memory);
}

}  // namespace colock::runtime
