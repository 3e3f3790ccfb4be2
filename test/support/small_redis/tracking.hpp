// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_TRACKING_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_TRACKING_HPP

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace colock::small_redis {

class session;

/// Which sessions a server has to tell when a key changes. It tells each of them once.
class tracking {
public:
    void remember(std::string_view key, session& who);
    /// Removes the key. Returns those that have to be told.
    [[nodiscard]] std::vector<session*> take(std::string_view key);
    /// Somebody flushed all keys.
    void clear() { by_key_.clear(); }
    /// The session ends.
    void forget(const session& who);

    [[nodiscard]] bool empty() const noexcept { return by_key_.empty(); }

private:
    std::map<std::string, std::vector<session*>, std::less<>> by_key_;
};

}  // namespace colock::small_redis

#endif
