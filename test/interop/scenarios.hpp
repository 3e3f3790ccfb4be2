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

// Step by step: what one library does about the locks of another one.

namespace colock::interop {

/// What was not as it must be.
class findings {
public:
    void expect(bool met, std::string what) {
        if (!met) {
            all_.push_back(std::move(what));
        }
    }
    /// Waits for it; far less than a ttl.
    template <std::predicate Predicate>
    void expect_soon(Predicate predicate, std::string what) {
        try {
            test::wait_until(predicate, std::chrono::seconds(2));
        } catch (const test::deadline_passed&) {
            expect(false, std::move(what));
        }
    }

    [[nodiscard]] const std::vector<std::string>& all() const noexcept { return all_; }

private:
    std::vector<std::string> all_;
};

/// For two workers of different libraries on the same servers. `first` has the lock first.
class scenarios {
public:
    scenarios(test::servers& servers, worker& first, worker& second, findings& findings)
        : servers_(servers), first_(first), second_(second), findings_(findings) {}

    /// A library that has the lock keeps the other out, and lets it in by a release: at its next attempt,
    /// and while it waits. Gives how long after the release the waiting one had the lock.
    std::chrono::nanoseconds hand_off();

    /// An extended lock outlives its first ttl.
    void extended();

    /// A library that has lost its lock to the other can neither extend nor release it.
    void stale();

    /// The lock of a holder that is paused can be had when its ttl is over, not before; the holder,
    /// awake again, changes nothing. Gives how long after the ttl.
    std::chrono::nanoseconds expired();

    /// For `first` = colock, `second` = node-redlock, five servers. A minority of strange keys does not
    /// keep colock out, and a failed attempt of colock keeps nobody out.
    void minorities();

    /// For `first` = colock, `second` = node-redlock, five servers. node-redlock keeps what it got of
    /// a split vote while it waits for its next attempt. That does not keep colock out, and both
    /// get the lock in the end.
    void leftovers();

private:
    /// The key's values on all servers, "none" where there is none.
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
