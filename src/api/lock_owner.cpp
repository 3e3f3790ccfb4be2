// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/lock_owner.hpp>

#include <atomic>

namespace colock {
inline namespace v1 {
namespace {

std::atomic<std::uint64_t> last_number{0};

}  // namespace

lock_owner::lock_owner() noexcept
    : number_(last_number.fetch_add(1, std::memory_order_relaxed) + 1) {}

}  // namespace v1
}  // namespace colock
