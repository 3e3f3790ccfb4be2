// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/recycling_allocator.hpp"

#include "instance/thread_end.hpp"

#include <array>
#include <new>

namespace colock::runtime {
namespace {

#if defined(__SANITIZE_ADDRESS__)  // which is to see every block come and go
constexpr std::size_t most_blocks = 0;
#else
constexpr std::size_t most_blocks = 2048;
#endif

/// The sizes are rounded up to a multiple of this.
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

/// What a thread keeps.
using cache = std::array<free_list, largest / step>;

/// Null until a thread has freed something, and again when it has ended. It has no destructor: a `thread_local` with one
/// is gone before the destructors of static objects run, and those may still use locks.
constinit thread_local cache* kept = nullptr;

void empty(void* ended_thread) noexcept {
    kept = nullptr;
    auto* const lists = static_cast<cache*>(ended_thread);
    for (free_list& list : *lists) {
        while (list.first != nullptr) {
            block* const next = list.first->next;
            ::operator delete(list.first);
            list.first = next;
        }
    }
    delete lists;  // NOLINT(*-owning-memory)
}

constinit instance::thread_end thread_ends;
const instance::thread_end::registration registered(thread_ends, &empty);

/// Null if nothing would free it.
cache* new_cache() noexcept {
    auto* const lists = new (std::nothrow) cache;  // NOLINT(*-owning-memory)
    if (lists != nullptr && !thread_ends.expect(lists)) {
        delete lists;  // NOLINT(*-owning-memory)
        return nullptr;
    }
    return lists;
}

constexpr std::size_t index_of(std::size_t size) noexcept {
    return size == 0 ? 0 : (size - 1) / step;
}

}  // namespace

void* allocate_block(std::size_t size) {
    if (size > largest) {
        return ::operator new(size);
    }
    if (kept != nullptr) {
        free_list& list = (*kept)[index_of(size)];
        if (block* const first = list.first; first != nullptr) {
            list.first = first->next;
            --list.count;
            return first;
        }
    }
    return ::operator new((index_of(size) + 1) * step);
}

void deallocate_block(void* memory, std::size_t size) noexcept {
    if (size > largest || most_blocks == 0 ||
        (kept == nullptr && (kept = new_cache()) == nullptr)) {
        ::operator delete(memory);
        return;
    }
    free_list& list = (*kept)[index_of(size)];
    if (list.count == most_blocks) {
        ::operator delete(memory);
        return;
    }
    list.first = ::new (memory) block{list.first};
    ++list.count;
}

}  // namespace colock::runtime
