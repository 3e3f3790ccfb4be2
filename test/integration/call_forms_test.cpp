// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/assert/source_location.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Every public operation in each form of its call. Under AddressSanitizer, this finds a temporary of a call that is
// destroyed twice or too early.
//
// A row belongs to one public function. It makes the call with default arguments, with options in braces, with
// temporaries and with named objects. By `row::later` it makes the call in the forms that complete after the arguments
// are gone. The script test/docs/check_call_forms.py demands a row for each public function that takes a completion
// token. A form that GCC 12 cannot compile correctly has no row: see docs/locks.md and test/package/diagnostics.

namespace {

BOOST_AUTO_TEST_SUITE(call_forms_test)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;

config in_memory() {
    return config::from_uris({"memory://call_forms_test"});
}

/// Returns a name that nobody has used. It is on the heap, as are all texts here.
std::string fresh() {
    static int count = 0;
    return "a name that has no room in the string itself, number " + std::to_string(++count);
}

/// Two such names, for a call in a coroutine. GCC 12 refuses a list in braces there.
class fresh_names {
public:
    fresh_names() = default;
    fresh_names(const fresh_names&) = delete;
    fresh_names& operator=(const fresh_names&) = delete;
    [[nodiscard]] const std::array<std::string_view, 2>& views() const { return views_; }

private:
    std::string a_ = fresh();
    std::string b_ = fresh();
    std::array<std::string_view, 2> views_{a_, b_};
};

const std::string text = "a text that has no room in the string itself";

asio::awaitable<std::string> work(lease& /*held*/) {
    co_return text;
}
asio::awaitable<std::string> work_once() {
    co_return text;
}

bool succeeded(const lease& held) {
    return held.valid();
}
bool succeeded(release_result result) {
    return result == release_result::released;
}
bool succeeded(const std::string& result) {
    return result.find("itself") != std::string::npos;
}
bool succeeded(const std::vector<lease_info>& all) {
    return all.size() == 1 && succeeded(all[0].resource);
}
bool succeeded(const std::vector<waiter_info>& all) {
    return all.size() == 1 && succeeded(all[0].resource);
}
bool succeeded(const inspection& found) {
    return found.holders.size() == 1 && succeeded(found.resource);
}
bool succeeded(const break_result& result) {
    return result.was_held && result.is_ended;
}
bool succeeded(const versioned_state& state) {
    return state.value == text;
}
bool succeeded(const write_outcome& outcome) {
    return outcome.applied;
}
bool succeeded(const once_result& result) {
    return result.ran && result.value == text;
}

/// The calls of one public function.
class row {
public:
    /// Every call is to succeed, or to fail with this code.
    explicit row(const char* function, error_code expected = {})
        : function_(function), expected_(expected) {}

    /// Checks the result of a call.
    template <typename Result>
    void operator()(const Result& result,
                    boost::source_location location = BOOST_CURRENT_LOCATION) const {
        BOOST_TEST(succeeded(result), function_ << " in line " << location.line());
    }

    /// Checks what a call has completed with.
    template <typename... Completion>
    void operator()(const std::tuple<Completion...>& completion,
                    boost::source_location location = BOOST_CURRENT_LOCATION) const {
        std::apply([&](const auto&... all) { check(location, all...); }, completion);
    }

    /// Makes the call by `call(token)`, and by `call()` for the default token. The arguments are temporaries of `call`.
    template <typename Call>
    asio::awaitable<void> later(Call call,
                                boost::source_location location = BOOST_CURRENT_LOCATION) const {
        auto by_default = call();
        auto deferred = call(asio::deferred);
        auto awaitable = call(asio::as_tuple(asio::use_awaitable));
        auto future = call(asio::use_future);
        bool called_back = false;
        call([&, seen = text](const auto&... all) {
            BOOST_TEST(seen == text);
            check(location, all...);
            called_back = true;
        });
        co_await async_wait_until([&] { return called_back; });
        (*this)(co_await std::move(by_default)(asio::as_tuple(asio::deferred)), location);
        (*this)(co_await std::move(deferred)(asio::as_tuple(asio::deferred)), location);
        (*this)(co_await std::move(awaitable), location);
        co_await async_wait_until([&] { return future.wait_for(0s) == std::future_status::ready; });
        check(future, location);
    }

private:
    template <typename Failure, typename... Results>
    void check(boost::source_location location, const Failure& failure,
               const Results&... results) const {
        BOOST_TEST(code_of(failure) == expected_, function_ << " in line " << location.line());
        if (!expected_) {
            ((*this)(results, location), ...);
        }
    }

    template <typename Result>
    void check(std::future<Result>& future, boost::source_location location) const {
        try {
            if constexpr (std::is_void_v<Result>) {
                future.get();
            } else {
                (*this)(future.get(), location);
            }
            BOOST_TEST(!expected_, function_ << " in line " << location.line());
        } catch (const boost::system::system_error&) {
            check(location, std::current_exception());
        }
    }

    static error_code code_of(const error& failure) { return failure.code(); }
    static error_code code_of(std::exception_ptr failure) {
        background ended;
        ended.thrown = failure;
        return ended.code();
    }

    const char* function_;
    error_code expected_;
};

/// Leases for the calls of a row. Each call uses another one.
class stock {
public:
    /// Fills the stock by `acquire()`, which returns an awaitable.
    template <typename Acquire>
    asio::awaitable<void> fill(Acquire acquire) {
        leases_.clear();
        used_ = 0;
        for (int i = 0; i != 6; ++i) {
            leases_.push_back(co_await acquire());
        }
    }
    lease& next() { return leases_.at(used_++); }

private:
    std::vector<lease> leases_;
    std::size_t used_ = 0;
};

/// Acquires a lock.
asio::awaitable<lease> take(client& locks, lock_options options = {}) {
    const mutex lock(locks, fresh(), options);
    co_return co_await lock.acquire();
}

BOOST_AUTO_TEST_CASE(client_is_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, fresh());
        lease held = co_await lock.acquire();
        const row leases("client::leases");
        leases(co_await locks.leases());
        co_await leases.later([&](const auto&... token) { return locks.leases(token...); });

        pending_acquire waiting;
        waiting.start(lock);
        co_await async_wait_until([&] { return locks.counters().acquiring == 1; });
        const row waiters("client::waiters");
        waiters(co_await locks.waiters());
        co_await waiters.later([&](const auto&... token) { return locks.waiters(token...); });
        waiting.signal.emit(asio::cancellation_type::terminal);
        co_await async_wait_until([&] { return waiting.result.has_value(); });

        const std::string name(lock.resource());
        const row inspect("client::inspect");
        inspect(co_await locks.inspect(name));
        inspect(co_await locks.inspect(std::string(lock.resource())));
        co_await inspect.later([&](const auto&... token) {
            return locks.inspect(std::string(lock.resource()), token...);
        });

        stock broken;
        co_await broken.fill([&] { return take(locks); });
        const row break_lock("client::break_lock");
        const std::string holder(held.token());
        break_lock(co_await locks.break_lock(name, holder));
        lease& other = broken.next();
        break_lock(
            co_await locks.break_lock(std::string(other.resource()), std::string(other.token())));
        co_await break_lock.later([&](const auto&... token) {
            const lease& of = broken.next();
            return locks.break_lock(std::string(of.resource()), std::string(of.token()), token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(close_is_called_in_each_form, *label("fault-114")) {
    run_test([]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client named(executor, in_memory());
        const row close("client::close");
        co_await named.close();
        co_await client(executor, in_memory()).close();
        close(co_await client(executor, in_memory()).close(asio::as_tuple(asio::deferred)));
        co_await close.later(
            [&](const auto&... token) { return client(executor, in_memory()).close(token...); });
    }());
}

BOOST_AUTO_TEST_CASE(lease_is_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        stock some;
        co_await some.fill([&] { return take(locks); });
        const row extend("lease::extend");
        co_await some.next().extend(20s);
        co_await (co_await take(locks, {.ttl = 5s})).extend(20s);
        co_await extend.later(
            [&](const auto&... token) { return some.next().extend(20s, token...); });

        co_await some.fill([&] { return take(locks); });
        const row release("lease::release");
        release(co_await some.next().release());
        release(co_await (co_await take(locks, {.ttl = 5s})).release());
        auto of_temporary = (co_await take(locks)).release();
        release(co_await std::move(of_temporary));
        co_await release.later([&](const auto&... token) { return some.next().release(token...); });

        co_await some.fill([&] { return take(locks); });
        const row detach("lease::detach");
        detach(co_await some.next().detach());
        detach(co_await (co_await take(locks, {.ttl = 5s})).detach());
        co_await detach.later([&](const auto&... token) { return some.next().detach(token...); });

        co_await some.fill([&] { return take(locks, {.max_hold = 20ms}); });
        const row wait_lost("lease::wait_lost");
        co_await some.next().wait_lost();
        co_await (co_await take(locks, {.max_hold = 20ms})).wait_lost();
        co_await wait_lost.later(
            [&](const auto&... token) { return some.next().wait_lost(token...); });
    });
}

BOOST_AUTO_TEST_CASE(released_lease_is_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        lease held = co_await take(locks);
        co_await held.release();
        const row extend("lease::extend", errc::not_held);
        extend(co_await held.extend(20s, asio::as_tuple(asio::deferred)));
        co_await extend.later([&](const auto&... token) { return held.extend(20s, token...); });
        const row detach("lease::detach", errc::not_held);
        detach(co_await held.detach(asio::as_tuple(asio::deferred)));
        co_await detach.later([&](const auto&... token) { return held.detach(token...); });
        const row wait_lost("lease::wait_lost", errc::not_held);
        wait_lost(co_await held.wait_lost(asio::as_tuple(asio::deferred)));
        co_await wait_lost.later([&](const auto&... token) { return held.wait_lost(token...); });
    });
}

BOOST_AUTO_TEST_CASE(mutex_is_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const lock_options options{.ttl = 20s};
        const mutex named(locks, fresh(), options);
        const lock_owner owner;

        const row try_acquire("mutex::try_acquire");
        try_acquire(co_await named.try_acquire());
        try_acquire(co_await mutex(locks, fresh()).try_acquire());
        try_acquire(co_await mutex(locks, fresh(), {.ttl = 20s}).try_acquire());
        co_await try_acquire.later([&](const auto&... token) {
            return mutex(locks, fresh(), {.ttl = 20s}).try_acquire(token...);
        });

        const row acquire("mutex::acquire");
        acquire(co_await named.acquire());
        acquire(co_await mutex(locks, fresh()).acquire());
        acquire(co_await mutex(locks, fresh(), {.ttl = 20s}).acquire());
        acquire(co_await striped<mutex>(locks, fresh(), 2, options).of(fresh()).acquire());
        co_await acquire.later([&](const auto&... token) {
            return mutex(locks, fresh(), {.ttl = 20s}).acquire(token...);
        });

        const row acquire_for_owner("mutex::acquire");
        acquire_for_owner(co_await named.acquire(owner));
        acquire_for_owner(co_await mutex(locks, fresh()).acquire(lock_owner()));
        acquire_for_owner(co_await mutex(locks, fresh(), {.ttl = 20s}).acquire(lock_owner()));
        acquire_for_owner(co_await mutex(locks, fresh(), {.ttl = 20s}).acquire({}, asio::deferred));
        co_await acquire_for_owner.later([&](const auto&... token) {
            return mutex(locks, fresh(), {.ttl = 20s}).acquire(lock_owner(), token...);
        });

        const row try_acquire_for("mutex::try_acquire_for");
        try_acquire_for(co_await named.try_acquire_for(10s));
        try_acquire_for(co_await mutex(locks, fresh()).try_acquire_for(10s));
        try_acquire_for(co_await mutex(locks, fresh(), {.ttl = 20s}).try_acquire_for(10s));
        co_await try_acquire_for.later([&](const auto&... token) {
            return mutex(locks, fresh(), {.ttl = 20s}).try_acquire_for(10s, token...);
        });

        const row try_acquire_until("mutex::try_acquire_until");
        const auto deadline = steady_clock::now() + 20s;
        try_acquire_until(co_await named.try_acquire_until(deadline));
        try_acquire_until(
            co_await mutex(locks, fresh()).try_acquire_until(steady_clock::now() + 20s));
        try_acquire_until(co_await mutex(locks, fresh(), {.ttl = 20s}).try_acquire_until(deadline));
        co_await try_acquire_until.later([&](const auto&... token) {
            return mutex(locks, fresh(), {.ttl = 20s}).try_acquire_until(deadline, token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(shared_mutex_is_called_by_writers_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const lock_options options{.ttl = 20s};
        const shared_mutex named(locks, fresh(), options);

        const row try_acquire("shared_mutex::try_acquire");
        try_acquire(co_await named.try_acquire());
        try_acquire(co_await shared_mutex(locks, fresh()).try_acquire());
        try_acquire(co_await shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire());
        co_await try_acquire.later([&](const auto&... token) {
            return shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire(token...);
        });

        const row acquire("shared_mutex::acquire");
        acquire(co_await named.acquire());
        acquire(co_await shared_mutex(locks, fresh()).acquire());
        acquire(co_await shared_mutex(locks, fresh(), {.ttl = 20s}).acquire());
        co_await acquire.later([&](const auto&... token) {
            return shared_mutex(locks, fresh(), {.ttl = 20s}).acquire(token...);
        });

        const row try_acquire_for("shared_mutex::try_acquire_for");
        try_acquire_for(co_await named.try_acquire_for(10s));
        try_acquire_for(co_await shared_mutex(locks, fresh()).try_acquire_for(10s));
        try_acquire_for(co_await shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_for(10s));
        co_await try_acquire_for.later([&](const auto&... token) {
            return shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_for(10s, token...);
        });

        const row try_acquire_until("shared_mutex::try_acquire_until");
        const auto deadline = steady_clock::now() + 20s;
        try_acquire_until(co_await named.try_acquire_until(deadline));
        try_acquire_until(
            co_await shared_mutex(locks, fresh()).try_acquire_until(steady_clock::now() + 20s));
        try_acquire_until(
            co_await shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_until(deadline));
        co_await try_acquire_until.later([&](const auto&... token) {
            return shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_until(deadline, token...);
        });

        stock some;
        co_await some.fill(
            [&] { return shared_mutex(locks, fresh()).acquire(asio::use_awaitable); });
        const row downgrade("shared_mutex::downgrade");
        lease held = co_await named.acquire();
        co_await named.downgrade(held);
        lease& other = some.next();
        co_await shared_mutex(locks, std::string(other.resource()), {.ttl = 20s}).downgrade(other);
        co_await downgrade.later([&](const auto&... token) {
            lease& of = some.next();
            return shared_mutex(locks, std::string(of.resource()), {.ttl = 20s})
                .downgrade(of, token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(shared_mutex_is_called_by_readers_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const lock_options options{.ttl = 20s};
        const shared_mutex named(locks, fresh(), options);

        const row try_acquire("shared_mutex::try_acquire_shared");
        try_acquire(co_await named.try_acquire_shared());
        try_acquire(co_await shared_mutex(locks, fresh()).try_acquire_shared());
        try_acquire(co_await shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_shared());
        co_await try_acquire.later([&](const auto&... token) {
            return shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_shared(token...);
        });

        const row acquire("shared_mutex::acquire_shared");
        acquire(co_await named.acquire_shared());
        acquire(co_await shared_mutex(locks, fresh()).acquire_shared());
        acquire(co_await shared_mutex(locks, fresh(), {.ttl = 20s}).acquire_shared());
        co_await acquire.later([&](const auto&... token) {
            return shared_mutex(locks, fresh(), {.ttl = 20s}).acquire_shared(token...);
        });

        const row try_acquire_for("shared_mutex::try_acquire_shared_for");
        try_acquire_for(co_await named.try_acquire_shared_for(10s));
        try_acquire_for(co_await shared_mutex(locks, fresh()).try_acquire_shared_for(10s));
        try_acquire_for(
            co_await shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_shared_for(10s));
        co_await try_acquire_for.later([&](const auto&... token) {
            return shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_shared_for(10s, token...);
        });

        const row try_acquire_until("shared_mutex::try_acquire_shared_until");
        const auto deadline = steady_clock::now() + 20s;
        try_acquire_until(co_await named.try_acquire_shared_until(deadline));
        try_acquire_until(co_await shared_mutex(locks, fresh())
                              .try_acquire_shared_until(steady_clock::now() + 20s));
        try_acquire_until(
            co_await shared_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_shared_until(deadline));
        co_await try_acquire_until.later([&](const auto&... token) {
            return shared_mutex(locks, fresh(), {.ttl = 20s})
                .try_acquire_shared_until(deadline, token...);
        });

        lease held = co_await named.acquire_shared();
        const row share("shared_mutex::share");
        share(co_await named.share(held));
        share(co_await shared_mutex(locks, std::string(held.resource())).share(held));
        share(co_await shared_mutex(locks, std::string(held.resource()), {.ttl = 20s}).share(held));
        co_await share.later([&](const auto&... token) {
            return shared_mutex(locks, std::string(held.resource()), {.ttl = 20s})
                .share(held, token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(semaphore_is_called_for_one_permit_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const lock_options options{.ttl = 20s};
        const semaphore named(locks, fresh(), 2, options);

        const row try_acquire("semaphore::try_acquire");
        try_acquire(co_await named.try_acquire());
        try_acquire(co_await semaphore(locks, fresh(), 2).try_acquire());
        try_acquire(co_await semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire());
        co_await try_acquire.later([&](const auto&... token) {
            return semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire(token...);
        });

        const row acquire("semaphore::acquire");
        acquire(co_await named.acquire());
        acquire(co_await semaphore(locks, fresh(), 2).acquire());
        acquire(co_await semaphore(locks, fresh(), 2, {.ttl = 20s}).acquire());
        co_await acquire.later([&](const auto&... token) {
            return semaphore(locks, fresh(), 2, {.ttl = 20s}).acquire(token...);
        });

        const row try_acquire_for("semaphore::try_acquire_for");
        try_acquire_for(co_await named.try_acquire_for(10s));
        try_acquire_for(co_await semaphore(locks, fresh(), 2).try_acquire_for(10s));
        try_acquire_for(co_await semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire_for(10s));
        co_await try_acquire_for.later([&](const auto&... token) {
            return semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire_for(10s, token...);
        });

        const row try_acquire_until("semaphore::try_acquire_until");
        const auto deadline = steady_clock::now() + 20s;
        try_acquire_until(co_await named.try_acquire_until(deadline));
        try_acquire_until(
            co_await semaphore(locks, fresh(), 2).try_acquire_until(steady_clock::now() + 20s));
        try_acquire_until(
            co_await semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire_until(deadline));
        co_await try_acquire_until.later([&](const auto&... token) {
            return semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire_until(deadline, token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(semaphore_is_called_for_several_permits_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const lock_options options{.ttl = 20s};
        const semaphore named(locks, fresh(), 2, options);

        const row try_acquire("semaphore::try_acquire");
        try_acquire(co_await named.try_acquire(2));
        try_acquire(co_await semaphore(locks, fresh(), 2).try_acquire(2));
        try_acquire(co_await semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire(2));
        co_await try_acquire.later([&](const auto&... token) {
            return semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire(2, token...);
        });

        const row acquire("semaphore::acquire");
        acquire(co_await named.acquire(2));
        acquire(co_await semaphore(locks, fresh(), 2).acquire(2));
        acquire(co_await semaphore(locks, fresh(), 2, {.ttl = 20s}).acquire(2));
        co_await acquire.later([&](const auto&... token) {
            return semaphore(locks, fresh(), 2, {.ttl = 20s}).acquire(2, token...);
        });

        const row try_acquire_for("semaphore::try_acquire_for");
        try_acquire_for(co_await named.try_acquire_for(2, 10s));
        try_acquire_for(co_await semaphore(locks, fresh(), 2).try_acquire_for(2, 10s));
        try_acquire_for(
            co_await semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire_for(2, 10s));
        co_await try_acquire_for.later([&](const auto&... token) {
            return semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire_for(2, 10s, token...);
        });

        const row try_acquire_until("semaphore::try_acquire_until");
        const auto deadline = steady_clock::now() + 20s;
        try_acquire_until(co_await named.try_acquire_until(2, deadline));
        try_acquire_until(
            co_await semaphore(locks, fresh(), 2).try_acquire_until(2, steady_clock::now() + 20s));
        try_acquire_until(
            co_await semaphore(locks, fresh(), 2, {.ttl = 20s}).try_acquire_until(2, deadline));
        co_await try_acquire_until.later([&](const auto&... token) {
            return semaphore(locks, fresh(), 2, {.ttl = 20s})
                .try_acquire_until(2, deadline, token...);
        });

        const row acquire_too_many("semaphore::acquire", errc::invalid_argument);
        acquire_too_many(co_await semaphore(locks, fresh(), 2, {.ttl = 20s})
                             .acquire(3, asio::as_tuple(asio::deferred)));
        co_await acquire_too_many.later([&](const auto&... token) {
            return semaphore(locks, fresh(), 2, {.ttl = 20s}).acquire(3, token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(reentrant_mutex_is_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const lock_options options{.ttl = 20s};
        const reentrant_mutex named(locks, fresh(), options);
        const lock_owner owner;

        const row try_acquire("reentrant_mutex::try_acquire");
        try_acquire(co_await named.try_acquire(owner));
        try_acquire(co_await reentrant_mutex(locks, fresh()).try_acquire(lock_owner()));
        try_acquire(
            co_await reentrant_mutex(locks, fresh(), {.ttl = 20s}).try_acquire(lock_owner()));
        co_await try_acquire.later([&](const auto&... token) {
            return reentrant_mutex(locks, fresh(), {.ttl = 20s})
                .try_acquire(lock_owner(), token...);
        });

        const row acquire("reentrant_mutex::acquire");
        acquire(co_await named.acquire(owner));
        acquire(co_await reentrant_mutex(locks, fresh()).acquire(lock_owner()));
        acquire(co_await reentrant_mutex(locks, fresh(), {.ttl = 20s}).acquire({}));
        co_await acquire.later([&](const auto&... token) {
            return reentrant_mutex(locks, fresh(), {.ttl = 20s}).acquire(lock_owner(), token...);
        });

        const row try_acquire_for("reentrant_mutex::try_acquire_for");
        try_acquire_for(co_await named.try_acquire_for(owner, 10s));
        try_acquire_for(
            co_await reentrant_mutex(locks, fresh()).try_acquire_for(lock_owner(), 10s));
        try_acquire_for(
            co_await reentrant_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_for({}, 10s));
        co_await try_acquire_for.later([&](const auto&... token) {
            return reentrant_mutex(locks, fresh(), {.ttl = 20s})
                .try_acquire_for(lock_owner(), 10s, token...);
        });

        const row try_acquire_until("reentrant_mutex::try_acquire_until");
        const auto deadline = steady_clock::now() + 20s;
        try_acquire_until(co_await named.try_acquire_until(owner, deadline));
        try_acquire_until(
            co_await reentrant_mutex(locks, fresh()).try_acquire_until(lock_owner(), deadline));
        try_acquire_until(
            co_await reentrant_mutex(locks, fresh(), {.ttl = 20s}).try_acquire_until({}, deadline));
        co_await try_acquire_until.later([&](const auto&... token) {
            return reentrant_mutex(locks, fresh(), {.ttl = 20s})
                .try_acquire_until(lock_owner(), deadline, token...);
        });

        const row owned_acquire("owned::acquire");
        const owned named_pair(named, owner);
        owned_acquire(co_await named_pair.acquire());
        owned_acquire(co_await owned(named, owner).acquire());
        owned_acquire(co_await owned{mutex(locks, fresh(), {.ttl = 20s}), lock_owner()}.acquire());
        owned_acquire(
            co_await owned<reentrant_mutex>({locks, fresh(), {.ttl = 20s}}, {}).acquire());
        co_await owned_acquire.later([&](const auto&... token) {
            return owned(mutex(locks, fresh(), {.ttl = 20s}), lock_owner()).acquire(token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(multi_mutex_is_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const fresh_names names;
        const lock_options options{.ttl = 20s};
        const multi_mutex named(locks, names.views(), options);

        const row try_acquire("multi_mutex::try_acquire");
        try_acquire(co_await named.try_acquire());
        try_acquire(co_await multi_mutex(locks, fresh_names().views()).try_acquire());
        try_acquire(co_await multi_mutex(locks, fresh_names().views(), {.ttl = 20s}).try_acquire());
        co_await try_acquire.later([&](const auto&... token) {
            return multi_mutex(locks, {fresh(), fresh()}, {.ttl = 20s}).try_acquire(token...);
        });

        const row acquire("multi_mutex::acquire");
        acquire(co_await named.acquire());
        acquire(co_await multi_mutex(locks, fresh_names().views()).acquire());
        acquire(co_await multi_mutex(locks, fresh_names().views(), {.ttl = 20s}).acquire());
        acquire(co_await striped<mutex>(locks, fresh(), 2).all_of(fresh_names().views()).acquire());
        co_await acquire.later([&](const auto&... token) {
            return multi_mutex(locks, {fresh(), fresh()}, {.ttl = 20s}).acquire(token...);
        });

        const row try_acquire_for("multi_mutex::try_acquire_for");
        try_acquire_for(co_await named.try_acquire_for(10s));
        try_acquire_for(co_await multi_mutex(locks, fresh_names().views()).try_acquire_for(10s));
        try_acquire_for(
            co_await multi_mutex(locks, fresh_names().views(), {.ttl = 20s}).try_acquire_for(10s));
        co_await try_acquire_for.later([&](const auto&... token) {
            return multi_mutex(locks, {fresh(), fresh()}, {.ttl = 20s})
                .try_acquire_for(10s, token...);
        });

        const row try_acquire_until("multi_mutex::try_acquire_until");
        const auto deadline = steady_clock::now() + 20s;
        try_acquire_until(co_await named.try_acquire_until(deadline));
        try_acquire_until(co_await multi_mutex(locks, fresh_names().views())
                              .try_acquire_until(steady_clock::now() + 20s));
        try_acquire_until(co_await multi_mutex(locks, fresh_names().views(), {.ttl = 20s})
                              .try_acquire_until(deadline));
        co_await try_acquire_until.later([&](const auto&... token) {
            return multi_mutex(locks, {fresh(), fresh()}, {.ttl = 20s})
                .try_acquire_until(deadline, token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(versioned_is_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const std::string name = fresh();
        const versioned_options options{.ttl = 1h};
        const versioned named(locks, name, options);

        const row compare_exchange("versioned::compare_exchange");
        compare_exchange(co_await named.compare_exchange(0, text));
        compare_exchange(co_await versioned(locks, fresh()).compare_exchange(0, std::string(text)));
        compare_exchange(
            co_await versioned(locks, fresh(), {.ttl = 1h}).compare_exchange(0, fresh()));
        co_await compare_exchange.later([&](const auto&... token) {
            return versioned(locks, fresh(), {.ttl = 1h}).compare_exchange(0, fresh(), token...);
        });

        const row read("versioned::read");
        read(co_await named.read());
        read(co_await versioned(locks, std::string(name)).read());
        read(co_await versioned(locks, std::string(name), {.ttl = 1h}).read());
        co_await read.later([&](const auto&... token) {
            return versioned(locks, std::string(name), {.ttl = 1h}).read(token...);
        });

        const row erase("versioned::erase");
        const std::uint64_t version = (co_await named.read()).version;
        erase(co_await named.erase(version));
        erase(co_await versioned(locks, fresh()).erase(0));
        erase(co_await versioned(locks, fresh(), {.ttl = 1h}).erase(0));
        co_await erase.later([&](const auto&... token) {
            return versioned(locks, fresh(), {.ttl = 1h}).erase(0, token...);
        });

        const row update("versioned::update");
        const auto change = [value = text](const versioned_state&) { return value; };
        update(co_await named.update(change));
        update(co_await versioned(locks, fresh()).update(change));
        update(co_await versioned(locks, fresh(), {.ttl = 1h}).update(change));
        update(co_await versioned(locks, fresh(), {.ttl = 1h}).update([](const versioned_state&) {
            return text;
        }));
        update(
            co_await versioned(locks, fresh(), {.ttl = 1h}).update([&](const versioned_state& now) {
                return change(now);
            }));
        co_await update.later([&](const auto&... token) {
            return versioned(locks, fresh(), {.ttl = 1h}).update(change, token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(once_is_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const std::string key = fresh();
        const once_options options{.keep = 1h};
        const auto body = [value = text]() -> asio::awaitable<std::string> { co_return value; };

        const row run("once");
        run(co_await once(locks, key, body, options));
        run(co_await once(locks, fresh(), body, {}));
        run(co_await once(locks, fresh(), body, {.keep = 1h}));
        run(co_await once(locks, fresh(), body, {.lock = {.ttl = 20s}, .fingerprint = fresh()}));
        run(co_await once(locks, fresh(), work, {.fingerprint = fresh()}, asio::deferred));
        co_await run.later([&](const auto&... token) {
            return once(locks, fresh(), body, {.keep = 1h, .fingerprint = fresh()}, token...);
        });

        const row run_without_options("once");
        run_without_options(co_await once(locks, fresh(), body));
        run_without_options(co_await once(locks, fresh(), work_once));
        run_without_options(
            co_await once(locks, fresh(),
                          [](lease& held) -> asio::awaitable<std::string> { return work(held); }));
        run_without_options(co_await once(locks, fresh(), body, asio::use_awaitable));
        co_await run_without_options.later(
            [&](const auto&... token) { return once(locks, fresh(), body, token...); });
    });
}

BOOST_AUTO_TEST_CASE(with_lock_and_lead_are_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        const mutex named(locks, fresh(), {.ttl = 20s});
        const lock_owner owner;
        const auto body = [value = text](lease&) -> asio::awaitable<std::string> {
            co_return value;
        };

        const row run("with_lock");
        run(co_await with_lock(named, body));
        run(co_await with_lock(mutex(locks, fresh()), work));
        run(co_await with_lock(mutex(locks, fresh(), {.ttl = 20s}), body));
        run(co_await with_lock(owned{named, owner}, body));
        run(co_await with_lock(owned{reentrant_mutex(locks, fresh()), lock_owner()}, body));
        run(co_await with_lock(multi_mutex(locks, fresh_names().views(), {.ttl = 20s}), body));
        run(co_await with_lock(striped<mutex>(locks, fresh(), 2).of(fresh()), body));
        run(co_await with_lock(
            semaphore(locks, fresh(), 2, {.ttl = 20s}),
            [](lease& held) -> asio::awaitable<std::string> { return work(held); }));
        co_await run.later([&](const auto&... token) {
            return with_lock(mutex(locks, fresh(), {.ttl = 20s}), body, token...);
        });

        const row run_shared("with_shared_lock");
        const shared_mutex shared(locks, fresh(), {.ttl = 20s});
        run_shared(co_await with_shared_lock(shared, body));
        run_shared(co_await with_shared_lock(shared_mutex(locks, fresh()), work));
        run_shared(co_await with_shared_lock(shared_mutex(locks, fresh(), {.ttl = 20s}), body));
        co_await run_shared.later([&](const auto&... token) {
            return with_shared_lock(shared_mutex(locks, fresh(), {.ttl = 20s}), body, token...);
        });

        const row run_lead("lead");
        run_lead(co_await lead(named, body));
        run_lead(co_await lead(mutex(locks, fresh()), work));
        run_lead(co_await lead(mutex(locks, fresh(), {.ttl = 20s}), body));
        run_lead(co_await lead(owned{mutex(locks, fresh()), lock_owner()}, body));
        co_await run_lead.later([&](const auto&... token) {
            return lead(mutex(locks, fresh(), {.ttl = 20s}), body, token...);
        });
    });
}

BOOST_AUTO_TEST_CASE(adopt_is_called_in_each_form, *label("fault-114")) {
    run_test(in_memory(), [](client& locks) -> asio::awaitable<void> {
        std::vector<std::string> texts;
        for (int i = 0; i != 7; ++i) {
            texts.push_back(co_await (co_await take(locks)).detach());
        }
        std::size_t used = 0;
        const lock_options options{.ttl = 20s};

        const row run("adopt");
        run(co_await adopt(locks, texts.at(used++), options));
        run(co_await adopt(locks, std::string(texts.at(used++)), {.ttl = 20s}));
        run(co_await adopt(locks, co_await (co_await take(locks)).detach()));
        co_await run.later([&](const auto&... token) {
            return adopt(locks, std::string(texts.at(used++)), {.ttl = 20s}, token...);
        });

        const row run_without_lease("adopt", errc::invalid_argument);
        run_without_lease(co_await adopt(locks, fresh(), {}, asio::as_tuple(asio::deferred)));
        co_await run_without_lease.later(
            [&](const auto&... token) { return adopt(locks, fresh(), {.ttl = 20s}, token...); });
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
