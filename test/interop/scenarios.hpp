// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INTEROP_SCENARIOS_HPP
#define COLOCK_INTEROP_SCENARIOS_HPP

#include "interop/worker.hpp"
#include "support/deadline.hpp"
#include "support/servers.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

// Scenarios that check, step by step, how one library reacts to the locks of another.

namespace colock::interop {

/// Collects the failed checks.
class findings {
public:
    void expect(bool met, std::string what) {
        if (!met) {
            all_.push_back(std::move(what));
        }
    }
    /// Waits until the predicate is true, for a time that is far shorter than a ttl.
    template <std::predicate Predicate>
    void expect_soon(Predicate predicate, std::string what) {
        try {
            test::wait_until(predicate, std::chrono::seconds(2));
        } catch (const test::deadline_passed&) {
            expect(false, std::move(what));
        }
    }

    /// Like `expect`, for something that colock is not responsible for. It is reported, and fails no run.
    void remark(bool met, std::string what) {
        if (!met) {
            remarks_.push_back(std::move(what));
        }
    }

    [[nodiscard]] const std::vector<std::string>& all() const noexcept { return all_; }
    [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return remarks_; }

private:
    std::vector<std::string> all_;
    std::vector<std::string> remarks_;
};

/// The scenarios for two workers of different libraries on the same servers. `first` acquires the lock first.
class scenarios {
public:
    scenarios(test::servers& servers, worker& first, worker& second, findings& findings)
        : servers_(servers), first_(first), second_(second), findings_(findings) {}

    /// A library that holds the lock keeps the other out until it releases. The other then acquires it at its
    /// next attempt, or while it waits. Returns the time from the release to the acquisition by the waiter.
    std::chrono::nanoseconds hand_off();

    /// An extended lock outlives its first ttl.
    void extended();

    /// A library that has lost its lock to the other can neither extend nor release it.
    void stale();

    /// The lock of a paused holder becomes free when its ttl is over, and not before. When the holder
    /// resumes, it changes nothing. Returns the time from the end of the ttl to the acquisition.
    std::chrono::nanoseconds expired();

    /// For `first` = colock, `second` = node-redlock, five servers. Foreign keys on a minority do not keep
    /// colock out. A failed attempt of colock keeps no other client out.
    void minorities();

    /// For `first` = colock, `second` = node-redlock, five servers. After a split vote, node-redlock keeps
    /// its partial grants while it waits for its next attempt. This does not keep colock out, and both get
    /// the lock in the end.
    void leftovers();

private:
    /// Returns the key's value on each server, "none" where the key does not exist.
    [[nodiscard]] std::vector<std::string> values(const std::string& key) const;

    void plant(const std::string& key, std::size_t count);
    void remove(const std::string& key, std::size_t count);

    void expect_word(const reply& got, const char* word, const std::string& what);
    [[nodiscard]] std::string label(const std::string& scenario) const;

    test::servers& servers_;
    worker& first_;
    worker& second_;
    findings& findings_;
};

}  // namespace colock::interop

#endif
