// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_READ_BUFFER_HPP
#define COLOCK_INSTANCE_REDIS_READ_BUFFER_HPP

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace colock::instance::redis {

/// Received bytes that are not consumed yet, in one contiguous block.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class read_buffer {
public:
    /// Returns the space for the next bytes, which is never empty. Invalidates views of the bytes. Throws
    /// `std::bad_alloc`.
    std::span<char> room() {
        if (begin_ == end_) {
            begin_ = end_ = 0;
            if (capacity_ > kept_when_empty) {
                memory_.reset();
                capacity_ = 0;
            }
        }
        if (capacity_ - end_ < least_room) {
            make_room();
        }
        return {memory_.get() + end_, capacity_ - end_};
    }

    /// Appends the next `size` bytes of the room.
    void commit(std::size_t size) noexcept { end_ += size; }

    [[nodiscard]] std::string_view bytes() const noexcept {
        return {memory_.get() + begin_, end_ - begin_};
    }

    /// Removes the first bytes. Views of them remain valid until `room`.
    void consume(std::size_t size) noexcept { begin_ += size; }

private:
    static constexpr std::size_t first_capacity = 16384;
    static constexpr std::size_t least_room = 4096;
    static constexpr std::size_t kept_when_empty = std::size_t{1} << 20U;

    void make_room() {
        const std::size_t kept = end_ - begin_;
        if (kept + least_room <= capacity_ / 2) {
            std::memmove(memory_.get(), memory_.get() + begin_, kept);
        } else {
            const std::size_t larger = std::max(first_capacity, 2 * capacity_);
            auto memory = std::make_unique_for_overwrite<char[]>(larger);  // NOLINT(*-c-arrays)
            if (kept != 0) {
                std::memcpy(memory.get(), memory_.get() + begin_, kept);
            }
            memory_ = std::move(memory);
            capacity_ = larger;
        }
        begin_ = 0;
        end_ = kept;
    }

    std::unique_ptr<char[]> memory_;  // NOLINT(*-c-arrays)
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;  // Start of the unconsumed bytes.
    std::size_t end_ = 0;    // End of the received bytes.
};

}  // namespace colock::instance::redis

#endif
