// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// What threads keep of the memory that they have freed.

#include "runtime/recycling_allocator.hpp"

#include <boost/test/unit_test.hpp>

#include <malloc.h>

#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

using namespace colock::runtime;

namespace {

/// Returns the bytes that a thread keeps after it has freed this many blocks of each size.
std::size_t kept_bytes(const std::vector<std::size_t>& sizes, std::size_t blocks_of_each) {
    std::vector<std::pair<void*, std::size_t>> blocks;
    blocks.reserve(sizes.size() * blocks_of_each);
    const std::size_t before = ::mallinfo2().uordblks;
    for (const std::size_t size : sizes) {
        for (std::size_t i = 0; i != blocks_of_each; ++i) {
            blocks.emplace_back(::operator new(size), size);  // In the arena of the main thread.
        }
    }
    std::size_t result = 0;
    std::jthread([&] {
        for (const auto& [block, size] : blocks) {
            deallocate_block(block, size);
        }
        result = ::mallinfo2().uordblks - before;
    }).join();
    return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(thread_cache)

BOOST_AUTO_TEST_CASE(blocks_cached_by_a_thread_are_freed_when_it_ends) {
    constexpr std::size_t size = 1000;
    const std::size_t before = ::mallinfo2().uordblks;
    for (int thread = 0; thread != 20; ++thread) {
        std::vector<void*> blocks(1000);
        for (void*& block : blocks) {
            block =
                // Allocated in the arena of the main thread, whose size can be queried.
                ::operator new(1024);
        }
        std::jthread([&] {
            for (void* const block : blocks) {
                deallocate_block(block, size);
            }
            void* const same = allocate_block(size);
            BOOST_TEST(same == blocks.back());
            deallocate_block(same, size);
        }).join();
    }
    BOOST_TEST(::mallinfo2().uordblks < before + 2000 * size);
}

BOOST_AUTO_TEST_CASE(a_thread_caches_a_bounded_number_of_bytes) {
    // Covers the overhead of the heap for each block, and the cache of the heap.
    constexpr std::size_t overhead = std::size_t{512} * 1024;
    std::vector<std::size_t> sizes;
    for (std::size_t size = 16; size <= 1024; size += 16) {
        sizes.push_back(size);
    }
    const std::size_t of_all_sizes = kept_bytes(sizes, 300);  // 10 MB.
    BOOST_TEST(of_all_sizes > most_kept_bytes - 1024);
    BOOST_TEST(of_all_sizes < most_kept_bytes + overhead);

    const std::size_t of_one_size = kept_bytes({1024}, 2 * most_kept_blocks);
    BOOST_TEST(of_one_size >= most_kept_blocks * 1024);
    BOOST_TEST(of_one_size < most_kept_blocks * 1024 + overhead);
}

BOOST_AUTO_TEST_SUITE_END()
