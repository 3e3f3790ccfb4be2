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

/// Bytes that were received and are not consumed yet, in one piece.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class read_buffer {
public:
    /// Where the next bytes belong; never empty. Views of the bytes end. Throws `std::bad_alloc`.
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

    /// So many bytes were received there.
    void commit(std::size_t size) noexcept { end_ += size; }

    [[nodiscard]] std::string_view bytes() const noexcept {
        return {memory_.get() + begin_, end_ - begin_};
    }

    /// The first bytes are done with. Views of them live on until `room`.
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
    std::size_t begin_ = 0;  // of what is not consumed
    std::size_t end_ = 0;    // of what was received
};

}  // namespace colock::instance::redis

#endif
