// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace colock::benchmark {
namespace {

std::uint64_t count = 0;

void* allocate(std::size_t size) {
    ++count;
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}

void* allocate(std::size_t size, std::align_val_t alignment) {
    ++count;
    const auto multiple = static_cast<std::size_t>(alignment);
    if (void* const memory =
            std::aligned_alloc(multiple, (size + multiple - 1) / multiple * multiple)) {
        return memory;
    }
    throw std::bad_alloc();
}

}  // namespace

std::uint64_t allocations() noexcept {
    return count;
}

}  // namespace colock::benchmark

// The replacement for the whole program. All other forms of `operator new` call it.

void* operator new(std::size_t size) {
    return colock::benchmark::allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return colock::benchmark::allocate(size, alignment);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
