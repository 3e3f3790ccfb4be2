// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// One allocation after the other fails, in an instance that sends and in each operation of a client.

#include "instance_rig.hpp"
#include "integration/locks.hpp"
#include "support/redis_server.hpp"

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

/// The number of allocations that succeed before one fails. If it is negative, none fails.
long allocations_left = -1;
bool has_failed = false;

}  // namespace

// NOLINTBEGIN(*-no-malloc, misc-new-delete-overloads)
void* operator new(std::size_t size) {
    if (allocations_left >= 0 && allocations_left-- == 0) {
        has_failed = true;
        throw std::bad_alloc();
    }
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
// NOLINTEND(*-no-malloc, misc-new-delete-overloads)

BOOST_AUTO_TEST_SUITE(out_of_memory)

/// Each allocation in the processing of a batch fails once. Every command must still get exactly one vote,
/// which the rig checks. The instance must continue to serve.
BOOST_AUTO_TEST_CASE(every_command_gets_a_vote_if_an_allocation_fails) {
    using namespace colock::test;
    using colock::core::step;
    const redis_server server;
    instance_rig rig(server.uri());
    // A batch with a withdrawn command is not sent unchanged.
    for (const bool withdraws : {false, true}) {
        long allocations = 0;
        for (bool failed = true; failed; ++allocations) {
            rig.run_until_ready();
            rig.submit(step::acquire, "k", "ann");
            rig.submit(step::remaining, "k");
            const auto last = rig.submit(step::acquire, "l", "ann");
            if (withdraws) {
                rig.withdraw(last);
            }
            has_failed = false;
            rig.before_send = [allocations] { allocations_left = allocations; };
            rig.flush();
            allocations_left = -1;
            rig.before_send = nullptr;
            failed = has_failed;
            rig.run_until_voted();
            rig.run_until_ready();
            BOOST_TEST((rig.release("k", "ann") == "granted" || failed));
            rig.release("l", "ann");
            server.flush();
        }
        BOOST_TEST_MESSAGE((withdraws ? "withdrawn: " : "as it is: ") << allocations - 1);
        BOOST_TEST(allocations > 1);
    }
}

namespace {

using namespace colock;
using namespace colock::test;

using work = std::function<asio::awaitable<void>(client&, client&)>;

/// Runs the context until the condition holds. A failed allocation may come out of a handler.
void run_until(asio::io_context& context, const char* what,
               const std::function<bool()>& condition) {
    const auto deadline = steady_clock::now() + 20s;
    while (!condition() && steady_clock::now() < deadline) {
        try {
            context.restart();
            context.run_one_for(100ms);
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): see above
        }
    }
    BOOST_TEST_REQUIRE(condition(), what);
}

/// Runs the work again and again. Each time, the next allocation fails. The work must end with
/// `std::bad_alloc` or go on, and leave nothing behind. Returns the number of allocations.
std::size_t fail_each_allocation(const config& configuration, const work& job, const char* name) {
    constexpr std::size_t most = 2000;
    bool failed = true;
    std::size_t number = 0;
    for (; failed && number != most; ++number) {
        BOOST_TEST_CONTEXT(name << ": allocation " << number) {
            asio::io_context context;
            client first(context, configuration);
            client second(context, configuration);
            const auto all_ready = [](const client& of) {
                return ready_instances(of) == of.instances().size();
            };
            run_until(context, "connected", [&] { return all_ready(first) && all_ready(second); });
            bool done = false;
            std::exception_ptr thrown;
            has_failed = false;
            // If an operation cannot be initiated, Asio destroys the coroutine, and the event loop throws.
            const auto begin = [&]() -> asio::awaitable<void> {
                const struct at_end {
                    bool& ended;
                    ~at_end() { ended = true; }
                } end{done};
                allocations_left = static_cast<long>(number);
                co_await job(first, second);
            };
            asio::co_spawn(context, begin(), [&](std::exception_ptr e) { thrown = std::move(e); });
            run_until(context, "ended", [&] { return done; });
            allocations_left = -1;
            failed = has_failed;
            try {
                if (thrown) {
                    std::rethrow_exception(thrown);
                }
            } catch (const std::bad_alloc&) {
                BOOST_TEST(failed);
            } catch (const lock_error& other) {  // The command was not sent, or its answer is lost.
                BOOST_TEST(
                    (other.code() == errc::no_quorum || other.code() == errc::outcome_unknown ||
                     other.code() == asio::error::operation_aborted),
                    other.what());
            }
            for (client* const one : {&first, &second}) {
                run_until(context, "settled", [&] {
                    const counters now = one->counters();
                    return now.held == 0 && now.acquiring == 0 && now.releasing == 0;
                });
            }
            // Nobody holds the names.
            bool is_free = false;
            const multi_mutex all(second, {"a", "b", "c"});
            all.acquire([&](error failure, lease held) {
                BOOST_TEST(!failure);
                is_free = held.owns_lock();
            });
            run_until(context, "free", [&] { return is_free; });
        }
    }
    BOOST_TEST_MESSAGE(name << ": " << number - 1 << " allocations");
    BOOST_TEST(number > 1);
    return number;
}

struct job {
    const char* name;
    work run;
};

asio::awaitable<void> take_and_release(client& first, client& /*second*/) {
    lease held = co_await mutex(first, "a").acquire();
    co_await held.release();
}

/// An acquire beside the coroutine, and its end. It is no coroutine, because Asio may lose one of these.
struct waiting {
    asio::awaitable<void> end() {
        co_await async_wait_until([this] { return done; });
        if (failure) {
            throw lock_error(failure);
        }
        co_await got.release();
    }

    bool done = false;
    error failure;
    lease got;
};

std::shared_ptr<waiting> begin_to_wait(client& locks) {
    auto result = std::make_shared<waiting>();
    mutex(locks, "a").acquire([result](error failure, lease got) {
        result->failure = std::move(failure);
        result->got = std::move(got);
        result->done = true;
    });
    return result;
}

asio::awaitable<void> wait_for_another_client(client& first, client& second) {
    lease held = co_await mutex(second, "a").acquire();
    const auto waiter = begin_to_wait(first);
    co_await held.release();
    co_await waiter->end();
}

asio::awaitable<void> hand_off(client& first, client& /*second*/) {
    lease held = co_await mutex(first, "a").acquire();
    const auto waiter = begin_to_wait(first);
    held = lease();
    co_await waiter->end();
}

asio::awaitable<void> fail_in_time(client& first, client& second) {
    const lease held = co_await mutex(second, "a").acquire();
    BOOST_TEST(!is_held(co_await mutex(first, "a").try_acquire()));
    BOOST_TEST(!is_held(co_await mutex(first, "a").try_acquire_for(5ms)));
}

asio::awaitable<void> renew(client& first, client& /*second*/) {
    lease held = co_await mutex(first, "a", renewed_every(5ms, 10s)).acquire();
    co_await renewed_more(first, 2);
    co_await held.extend(5s);
    co_await held.release();
}

asio::awaitable<void> read_and_write(client& first, client& /*second*/) {
    const shared_mutex both(first, "a");
    lease reader = co_await both.acquire_shared();
    lease second = co_await both.share(reader);
    co_await reader.release();
    co_await second.release();
    lease writer = co_await both.acquire();
    co_await both.downgrade(writer);
    co_await writer.release();
}

asio::awaitable<void> take_permits(client& first, client& second) {
    lease some = co_await semaphore(first, "permits", 4).acquire(2);
    lease one = co_await semaphore(second, "permits", 4).acquire();
    co_await some.release();
    co_await one.release();
}

asio::awaitable<void> take_several(client& first, client& /*second*/) {
    const multi_mutex lock(first, {"a", "b", "c"});
    lease all = co_await lock.acquire();
    co_await all.release();
}

asio::awaitable<void> enter_again(client& first, client& /*second*/) {
    const reentrant_mutex lock(first, "a");
    const lock_owner me;
    lease outer = co_await lock.acquire(me);
    lease inner = co_await lock.acquire(me);
    co_await inner.release();
    co_await outer.release();
}

/// If the text is lost, nobody can release the lease, and it ends with its ttl.
asio::awaitable<void> move_to_another_client(client& first, client& second) {
    lease held = co_await mutex(first, "a", with_ttl(300ms)).acquire();
    const std::string text = co_await held.detach();
    lease adopted = co_await adopt(second, text);
    co_await adopted.release();
}

asio::awaitable<void> look_and_break(client& first, client& second) {
    const lease held = co_await mutex(second, "a").acquire();
    co_await first.inspect("a");
    co_await first.break_lock("a", held.token());
}

asio::awaitable<void> run_with_lock(client& first, client& /*second*/) {
    co_await with_lock(mutex(first, "a"), [](lease& held) -> asio::awaitable<void> {
        BOOST_TEST(held.valid());
        co_return;
    });
}

asio::awaitable<void> write_versions(client& first, client& /*second*/) {
    const versioned value(first, "value");
    const auto add = [](const versioned_state& old) { return old.value.value_or("") + "x"; };
    co_await value.update(add);
    co_await value.read();
    co_await value.erase((co_await value.read()).version);
}

const std::vector<job> jobs{
    {"mutex", take_and_release}, {"another client", wait_for_another_client},
    {"hand-off", hand_off},      {"in time", fail_in_time},
    {"renewal", renew},          {"readers", read_and_write},
    {"permits", take_permits},   {"several names", take_several},
    {"reentrant", enter_again},  {"detach", move_to_another_client},
    {"inspect", look_and_break}, {"with_lock", run_with_lock},
};

}  // namespace

/// Fault 130: each allocation of each operation fails once.
BOOST_AUTO_TEST_CASE(each_operation_survives_each_failed_allocation,
                     *boost::unit_test::label("fault-130")) {
    for (const job& one : jobs) {
        config configuration;
        configuration.instances = {"memory://one", "memory://two", "memory://three"};
        configuration.instance_timeout = 20ms;
        fail_each_allocation(configuration, one.run, one.name);
    }
    config single;
    single.instances = {"memory://one"};
    fail_each_allocation(single, write_versions, "versioned");
}

BOOST_AUTO_TEST_CASE(a_lock_on_a_server_survives_each_failed_allocation,
                     *boost::unit_test::label("fault-130")) {
    servers one(1);
    fail_each_allocation(one.config(), take_and_release, "server");
}

BOOST_AUTO_TEST_SUITE_END()
