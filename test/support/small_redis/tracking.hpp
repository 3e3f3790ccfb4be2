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

/// The sessions that a server must notify when a key changes. Each is notified once.
class tracking {
public:
    void remember(std::string_view key, session& who);
    /// Removes the key. Returns the sessions to notify.
    [[nodiscard]] std::vector<session*> take(std::string_view key);
    /// Removes all keys after a flush.
    void clear() { by_key_.clear(); }
    /// Removes a session that ends.
    void forget(const session& who);

    [[nodiscard]] bool empty() const noexcept { return by_key_.empty(); }

private:
    std::map<std::string, std::vector<session*>, std::less<>> by_key_;
};

}  // namespace colock::small_redis

#endif
