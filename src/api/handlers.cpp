// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/detail/handlers.hpp>

#include "runtime/recycling_allocator.hpp"

namespace colock {
inline namespace v1 {
namespace detail {

void* allocate_block(std::size_t size) {
    return runtime::allocate_block(size);
}

void deallocate_block(void* memory, std::size_t size) noexcept {
    runtime::deallocate_block(memory, size);
}

}  // namespace detail
}  // namespace v1
}  // namespace colock
