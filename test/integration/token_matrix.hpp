// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_TOKEN_MATRIX_HPP
#define COLOCK_TEST_INTEGRATION_TOKEN_MATRIX_HPP

// All operations, each of which can be started with any completion token, on memory instances.

#include "support/deadline.hpp"

#include <colock/colock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace colock::test::matrix {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// The objects that an operation needs.
class scene {
public:
    struct needs {
        bool lease = false;    ///< Of the mutex.
        bool text = false;     ///< Of a lease of the mutex, which was detached.
        bool readers = false;  ///< A reader's, of the shared mutex.
        bool writers = false;  ///< A writer's, of the shared mutex.
        std::chrono::milliseconds max_hold{0};
    };

    /// The client runs on `executor`, whose context runs elsewhere. By default it runs on the scene's own
    /// context, which `run_until` runs.
    explicit scene(needs what, std::optional<asio::any_io_executor> executor = std::nullopt,
                   bool thread_safe = false)
        : locks(executor.value_or(context.get_executor()), settings(thread_safe)),
          lock(locks, "x", options(what)),
          shared(locks, "y") {
        const auto hold = [this](const error& e, lease granted) {
            BOOST_TEST(!e, e.message());
            held = std::move(granted);
            ready = true;
        };
        if (what.lease || what.text) {
            lock.acquire(hold);
        } else if (what.readers) {
            shared.acquire_shared(hold);
        } else if (what.writers) {
            shared.acquire(hold);
        } else {
            ready = true;
        }
        run_until([this] { return ready.load(); });
        if (what.text) {
            detach();
        }
    }
    ~scene() {
        std::atomic<bool> closed{false};
        held = lease();
        locks.close([&](const error& /*e*/) { closed = true; });
        run_until([&] { return closed.load(); });
    }
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;

    template <std::predicate Predicate>
    void run_until(Predicate predicate) {
        wait_until([&] {
            context.restart();
            context.poll();
            return predicate();
        });
    }

    asio::io_context context{1};
    client locks;
    mutex lock;
    shared_mutex shared;
    lease held;
    std::string text;
    std::atomic<bool> ready{false};

private:
    void detach() {
        ready = false;
        held.detach([this](const error& e, std::string detached) {
            BOOST_TEST(!e, e.message());
            text = std::move(detached);
            ready = true;
        });
        run_until([this] { return ready.load(); });
    }

    static config settings(bool thread_safe) {
        config result = config::from_uris({"memory://a", "memory://b", "memory://c"});
        result.key_prefix = "token_matrix:";
        result.thread_safe = thread_safe;
        return result;
    }
    static lock_options options(const needs& what) {
        lock_options result;
        result.max_hold = what.max_hold;
        return result;
    }
};

// An operation: the objects it needs, its signature, `start` with a token, and `check` of its results. Some
// results are a lease, and some operations complete only when there is no lease.

template <typename... Results>
struct with_error {
    using signature = void(error, Results...);
    static constexpr bool gives_nothing = sizeof...(Results) == 0;
    static constexpr scene::needs needs{};
};
struct checks_lease : with_error<lease> {
    static void check(const lease& result) { BOOST_TEST(result.valid()); }
};
struct checks_nothing : with_error<> {
    static void check() {}
};
struct checks_number {
    using signature = void(std::exception_ptr, int);
    static constexpr bool gives_nothing = false;
    static constexpr scene::needs needs{};
    static void check(int result) { BOOST_TEST(result == 42); }
    static asio::awaitable<int> body(lease& held) { co_return held.valid() ? 42 : 0; }
};

#define COLOCK_START(expression) \
    template <typename Token> \
    static auto start(scene& s, Token&& token) { \
        return (expression); \
    }
#define COLOCK_TOKEN std::forward<Token>(token)

struct acquires : checks_lease {
    COLOCK_START(s.lock.acquire(COLOCK_TOKEN))
};
struct tries : checks_lease {
    COLOCK_START(s.lock.try_acquire(COLOCK_TOKEN))
};
struct tries_for : checks_lease {
    COLOCK_START(s.lock.try_acquire_for(10s, COLOCK_TOKEN))
};
struct tries_until : checks_lease {
    COLOCK_START(s.lock.try_acquire_until(std::chrono::steady_clock::now() + 10s, COLOCK_TOKEN))
};
struct extends : checks_nothing {
    static constexpr scene::needs needs{.lease = true};
    COLOCK_START(s.held.extend(20s, COLOCK_TOKEN))
};
struct releases : with_error<release_result> {
    static constexpr scene::needs needs{.lease = true};
    static void check(release_result result) { BOOST_TEST((result == release_result::released)); }
    COLOCK_START(s.held.release(COLOCK_TOKEN))
};
struct waits_lost : checks_nothing {
    static constexpr scene::needs needs{.lease = true, .max_hold = 20ms};
    COLOCK_START(s.held.wait_lost(COLOCK_TOKEN))
};
struct detaches : with_error<std::string> {
    static constexpr scene::needs needs{.lease = true};
    static void check(const std::string& text) { BOOST_TEST(!text.empty()); }
    COLOCK_START(s.held.detach(COLOCK_TOKEN))
};
struct adopts : checks_lease {
    static constexpr scene::needs needs{.text = true};
    COLOCK_START(colock::adopt(s.locks, s.text, {}, COLOCK_TOKEN))
};
struct closes : checks_nothing {
    COLOCK_START(s.locks.close(COLOCK_TOKEN))
};
struct inspects : with_error<inspection> {
    static constexpr scene::needs needs{.lease = true};
    static void check(const inspection& result) { BOOST_TEST(result.holders.size() == 1U); }
    COLOCK_START(s.locks.inspect(s.held.resource(), COLOCK_TOKEN))
};
struct breaks : with_error<break_result> {
    static constexpr scene::needs needs{.lease = true};
    static void check(const break_result& result) { BOOST_TEST(result.was_held); }
    COLOCK_START(s.locks.break_lock(s.held.resource(), s.held.token(), COLOCK_TOKEN))
};
struct locks_for : checks_number {
    COLOCK_START(colock::with_lock(s.lock, &body, COLOCK_TOKEN))
};
struct reads : checks_lease {
    COLOCK_START(s.shared.acquire_shared(COLOCK_TOKEN))
};
struct tries_to_read : checks_lease {
    COLOCK_START(s.shared.try_acquire_shared_for(10s, COLOCK_TOKEN))
};
struct shares : checks_lease {
    static constexpr scene::needs needs{.readers = true};
    COLOCK_START(s.shared.share(s.held, COLOCK_TOKEN))
};
struct downgrades : checks_nothing {
    static constexpr scene::needs needs{.writers = true};
    COLOCK_START(s.shared.downgrade(s.held, COLOCK_TOKEN))
};
struct reads_for : checks_number {
    COLOCK_START(colock::with_shared_lock(s.shared, &body, COLOCK_TOKEN))
};

#undef COLOCK_TOKEN
#undef COLOCK_START

/// One operation of each signature, for tests that are slow to compile. A token depends on the signature
/// only.
using one_of_each_signature = std::tuple<acquires, tries, extends, releases, locks_for>;

/// The operations whose first result is a `colock::error`, and all operations. The first tier of the tests has one of
/// each signature.
#ifndef COLOCK_TEST_ALL_OPERATIONS
using operations = std::tuple<acquires, tries, extends, releases>;
using all_operations = one_of_each_signature;
#else
using operations =
    std::tuple<acquires, tries, tries_for, tries_until, extends, releases, waits_lost, detaches,
               adopts, closes, inspects, breaks, reads, tries_to_read, shares, downgrades>;
using all_operations = std::tuple<acquires, tries, tries_for, tries_until, extends, releases,
                                  waits_lost, detaches, adopts, closes, inspects, breaks, reads,
                                  tries_to_read, shares, downgrades, locks_for, reads_for>;
#endif

/// Returns a handler that checks the results of an operation and destroys them where it runs.
template <typename Operation>
auto receiver(std::atomic<int>& calls) {
    return [&calls](const auto& failure, auto... results) {
        BOOST_TEST(!failure);
        Operation::check(results...);
        { [[maybe_unused]] const auto dropped = std::make_tuple(std::move(results)...); }
        ++calls;
    };
}

/// Calls `start(scene, receiver)`, which starts an operation, and waits until it has completed exactly once.
template <typename Operation, typename Start>
void expect_one_call(Start start) {
    std::atomic<int> calls{0};
    scene s(Operation::needs);
    start(s, receiver<Operation>(calls));
    BOOST_TEST(calls == 0);
    s.run_until([&] { return calls != 0; });
    s.context.poll();
    BOOST_TEST(calls == 1);
}

}  // namespace colock::test::matrix

#endif
