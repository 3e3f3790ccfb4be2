#include "runtime/recycling_allocator.hpp"

#include <array>

namespace colock::runtime {
namespace {

#if defined(__SANITIZE_ADDRESS__)  // which is to see every block come and go
constexpr std::size_t most_blocks = 0;
#else
constexpr std::size_t most_blocks = 2048;
#endif

/// The sizes are rounded up to a multiple of this.
constexpr std::size_t step = 64;
constexpr std::size_t largest = 1024;

struct block {
    block* next;
};

/// Freed blocks of one size.
struct free_list {
    block* first = nullptr;
    std::size_t count = 0;
};

thread_local std::array<free_list, largest / step> free_lists;
thread_local bool thread_ended = false;

/// Empties the lists at the end of the thread, after which nothing is kept any more.
struct cleaner {
    void know_this_thread() const noexcept {}  // whose first use registers the destructor
    ~cleaner() {
        thread_ended = true;
        for (free_list& list : free_lists) {
            while (list.first != nullptr) {
                block* const next = list.first->next;
                ::operator delete(list.first);
                list.first = next;
            }
        }
    }
};
thread_local cleaner at_thread_end;

constexpr std::size_t index_of(std::size_t size) noexcept {
    return size == 0 ? 0 : (size - 1) / step;
}

}  // namespace

void* allocate_block(std::size_t size) {
    if (size > largest) {
        return ::operator new(size);
    }
    free_list& list = free_lists[index_of(size)];
    if (block* const first = list.first; first != nullptr) {
        list.first = first->next;
        --list.count;
        return first;
    }
    return ::operator new((index_of(size) + 1) * step);
}

void deallocate_block(void* memory, std::size_t size) noexcept {
    if (size > largest || thread_ended) {
        ::operator delete(memory);
        return;
    }
    at_thread_end.know_this_thread();
    free_list& list = free_lists[index_of(size)];
    if (list.count == most_blocks) {
        ::operator delete(memory);
        return;
    }
    list.first = ::new (memory) block{list.first};
    ++list.count;
}

}  // namespace colock::runtime
