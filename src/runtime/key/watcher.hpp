// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_WATCHER_HPP
#define COLOCK_RUNTIME_KEY_WATCHER_HPP

#include <cstddef>

namespace colock::runtime {

/// What is told of the changes of a key that `members::watched` has it under.
class watcher {
public:
    watcher() = default;
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

    /// Something has happened to that key at instance number `index`.
    virtual void on_watched_changed(std::size_t index) = 0;

protected:
    ~watcher() = default;
};

}  // namespace colock::runtime

#endif
