// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_SHARED_POOL_HPP
#define COLOCK_INSTANCE_SHARED_POOL_HPP

#include <cstddef>
#include <memory>
#include <vector>

namespace colock::instance {

/// Objects that are shared for some time and then reused, with the memory that they have. They usually become
/// free in the order in which they were taken. Only the oldest object is therefore checked.
///
/// Thread-safety: the pool and all references to its objects belong to one thread at a time.
template <typename T>
class shared_pool {
public:
    /// Returns an object without other references, in the state in which its last user left it. Otherwise
    /// returns the result of `make()`.
    template <typename Make>
    std::shared_ptr<T> take(Make&& make) {
        if (!objects_.empty()) {
            oldest_ = (oldest_ + 1) % objects_.size();
            if (objects_[oldest_].use_count() == 1) {
                return objects_[oldest_];
            }
        }
        std::shared_ptr<T> made = make();
        if (objects_.size() != most) {
            objects_.insert(objects_.begin() + static_cast<std::ptrdiff_t>(oldest_), made);
        }
        return made;
    }

private:
    static constexpr std::size_t most = 64;

    std::vector<std::shared_ptr<T>> objects_;
    std::size_t oldest_ = 0;
};

}  // namespace colock::instance

#endif
