// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_WATCHER_HPP
#define COLOCK_RUNTIME_KEY_WATCHER_HPP

#include <cstddef>

namespace colock::runtime {

/// Receives the changes of a key, registered in `members::watched`.
class watcher {
public:
    watcher() = default;
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

    /// That key on instance number `index` may have changed.
    virtual void on_watched_changed(std::size_t index) = 0;

protected:
    ~watcher() = default;
};

}  // namespace colock::runtime

#endif
