// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RESP_READER_HPP
#define COLOCK_RESP_READER_HPP

#include "resp/value.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock::resp {

/// Finds where a reply ends, in whatever pieces it arrives. It copies nothing, allocates nothing, and looks at
/// each byte once, however many pieces there are.
///
/// Streamed strings and aggregates (`$?`, `*?`), which no server sends, are malformed.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class reader {
public:
    enum class status : std::uint8_t {
        incomplete,  ///< more bytes are needed
        complete,    ///< `root` and `size` tell about the reply
        malformed,   ///< the bytes from `position` on are not RESP3
        too_large,   ///< the reply has, or will have, more than `max_size` bytes
    };

    /// How deep values may be nested.
    static constexpr std::size_t max_depth = 16;

    explicit reader(std::size_t max_size) noexcept : max_size_(max_size) {}

    /// Looks at `bytes`, which begin with a reply. After `incomplete` it is called again with the same bytes and
    /// more behind them, at whatever address; after `complete` with those behind the reply. After an error it
    /// must not be called again.
    status read(std::string_view bytes);

    /// The outermost value of the complete reply. A view of the bytes that were last read.
    [[nodiscard]] const value& root() const noexcept { return root_; }

    /// Of the complete reply, with its attributes, in bytes.
    [[nodiscard]] std::size_t size() const noexcept { return position_; }

    /// How far the reply has been understood, in bytes.
    [[nodiscard]] std::size_t position() const noexcept { return position_; }

private:
    void begin() noexcept;

    std::size_t max_size_;
    std::size_t position_ = 0;
    std::size_t line_seen_ = 0;  // no line ends between `position_` and here
    std::size_t root_at_ = 0;
    std::size_t depth_ = 0;
    std::array<std::size_t, max_depth + 1> missing_{};  // values, at each depth
    bool in_reply_ = false;
    value root_;
};

/// Walks through the values of a complete reply, in the order in which they came: each before those that it
/// contains. Leaves out attributes.
class cursor {
public:
    /// `reply` is what `reader` has found to be complete.
    explicit cursor(std::string_view reply) noexcept : rest_(reply) {}

    /// The next value. There must be one.
    value next();

    /// Leaves out the values that `v`, the last one, contains.
    void skip_children(const value& v);

private:
    std::string_view rest_;
};

}  // namespace colock::resp

#endif
