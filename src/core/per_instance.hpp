// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_PER_INSTANCE_HPP
#define COLOCK_CORE_PER_INSTANCE_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace colock::core {

/// One `T` for each instance: an array whose size is fixed at construction. Up to five elements, enough for
/// nearly every client, are stored inline without a heap allocation.
template <typename T>
class per_instance {
public:
    explicit per_instance(std::size_t size, const T& value = T())
        : rest_(size > inline_size ? std::make_unique<T[]>(size) : nullptr),
          size_(static_cast<std::uint32_t>(size)) {
        assign(value);
    }

    per_instance(const per_instance& other) : per_instance(other.size_) {
        std::copy(other.begin(), other.end(), begin());
    }
    per_instance& operator=(const per_instance&) = delete;
    ~per_instance() = default;

    /// Sets all elements.
    void assign(const T& value) { std::fill(begin(), end(), value); }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return begin()[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return begin()[i]; }
    [[nodiscard]] T* begin() noexcept { return rest_ ? rest_.get() : inline_.data(); }
    [[nodiscard]] const T* begin() const noexcept { return rest_ ? rest_.get() : inline_.data(); }
    [[nodiscard]] T* end() noexcept { return begin() + size_; }
    [[nodiscard]] const T* end() const noexcept { return begin() + size_; }

private:
    static constexpr std::size_t inline_size = 5;

    std::unique_ptr<T[]> rest_;
    std::uint32_t size_;
    std::array<T, inline_size> inline_{};
};

}  // namespace colock::core

#endif
