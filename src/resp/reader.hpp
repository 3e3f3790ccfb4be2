// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RESP_READER_HPP
#define COLOCK_RESP_READER_HPP

#include "resp/value.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock::resp {

/// Finds the end of a reply that arrives in any number of pieces. It copies nothing and allocates nothing. It
/// looks at each byte once, however many pieces there are.
///
/// Streamed strings and aggregates (`$?`, `*?`) are malformed. No server sends them.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class reader {
public:
    enum class status : std::uint8_t {
        incomplete,  ///< More bytes are needed.
        complete,    ///< `root` and `size` describe the reply.
        malformed,   ///< The bytes from `position` on are not RESP3.
        too_large,   ///< The reply has, or will have, more than `max_size` bytes.
    };

    /// The maximum depth of nested values.
    static constexpr std::size_t max_depth = 16;

    explicit reader(std::size_t max_size) noexcept : max_size_(max_size) {}

    /// Looks at `bytes`, which begin with a reply. After `incomplete`, call it again with the same bytes and
    /// more behind them, at any address. After `complete`, call it with the bytes behind the reply. After an
    /// error, do not call it again.
    status read(std::string_view bytes);

    /// Returns the outermost value of the complete reply. It is a view of the bytes that were last read.
    [[nodiscard]] const value& root() const noexcept { return root_; }

    /// Returns the size of the complete reply with its attributes, in bytes.
    [[nodiscard]] std::size_t size() const noexcept { return position_; }

    /// Returns how far the reply has been understood, in bytes.
    [[nodiscard]] std::size_t position() const noexcept { return position_; }

private:
    void begin() noexcept;

    std::size_t max_size_;
    std::size_t position_ = 0;
    std::size_t line_seen_ = 0;  // No line ends between `position_` and here.
    std::size_t root_at_ = 0;
    std::size_t depth_ = 0;
    // The number of missing values at each depth.
    std::array<std::size_t, max_depth + 1> missing_{};
    bool in_reply_ = false;
    value root_;
};

/// Walks through the values of a complete reply in the order in which they came. A value comes before the
/// values that it contains. Attributes are left out.
class cursor {
public:
    /// `reader` must have found `reply` to be complete.
    explicit cursor(std::string_view reply) noexcept : rest_(reply) {}

    /// Returns the next value. There must be one.
    value next();

    /// Skips the values that `v`, the last value, contains.
    void skip_children(const value& v);

private:
    std::string_view rest_;
};

}  // namespace colock::resp

#endif
