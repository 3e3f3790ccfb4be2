// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <csignal>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

// A child process created by `fork`, and its parent's client. Further cases use a client that is not
// thread-safe from two threads, which ends the program.

namespace {

BOOST_AUTO_TEST_SUITE(fork_test)

using namespace colock;
using namespace colock::test;
using asio::execution_context;

/// Runs the context until the predicate is true.
template <std::predicate Predicate>
void run_until(asio::io_context& context, Predicate predicate) {
    wait_until([&] {
        context.restart();
        context.poll();
        return predicate();
    });
}

template <std::predicate Predicate>
void run_until_notified(asio::io_context& context, Predicate predicate) {
    context.notify_fork(execution_context::fork_child);
    run_until(context, std::move(predicate));
}

/// Reads until all writers have closed the pipe, and closes this end.
std::string read_all(int pipe_end) {
    std::string result;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::read(pipe_end, buffer.data(), buffer.size())) > 0;) {
        result.append(buffer.data(), static_cast<std::size_t>(size));
    }
    ::close(pipe_end);
    return result;
}

/// Runs `work` in a child process and returns its result.
template <typename Work>
std::string in_child(const Work& work) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        throw std::runtime_error("pipe");
    }
    const pid_t child = ::fork();
    if (child < 0) {
        throw std::runtime_error("fork");
    }
    if (child == 0) {
        std::string result;
        try {
            result = work();
        } catch (const std::exception& failure) {
            result = failure.what();
        }
        const ssize_t written = ::write(ends[1], result.data(), result.size());
        ::_exit(written < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    const std::string result = read_all(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? result : result + " and the child died";
}

/// Does the same with a context that parent and child both use afterwards.
template <typename Work>
std::string in_child(asio::io_context& context, const Work& work) {
    context.notify_fork(execution_context::fork_prepare);
    std::string result = in_child(work);
    context.notify_fork(execution_context::fork_parent);
    return result;
}

/// Returns what a child writes to stderr before it dies by SIGABRT. If it does not, the result ends with "
/// and no SIGABRT".
template <typename Work>
std::string last_words(const Work& work) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        throw std::runtime_error("pipe");
    }
    const pid_t child = ::fork();
    if (child < 0) {
        throw std::runtime_error("fork");
    }
    if (child == 0) {
        ::signal(SIGABRT, SIG_DFL);  // Resets the test framework's handler.
        ::dup2(ends[1], STDERR_FILENO);
        work();
        ::_exit(0);
    }
    ::close(ends[1]);
    const std::string result = read_all(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? result : result + " and no SIGABRT";
}

/// Returns "1" for an operation that fails as expected. Otherwise returns its message.
std::string verdict(const error& e) {
    return e == errc::forked && e == condition::unavailable ? "1" : "(" + e.message() + ")";
}

/// Counts the events of a client.
struct event_counter final : observer {
    void on_acquired(const acquired_event& /*event*/) noexcept override { ++events; }
    void on_lost(const lost_event& /*event*/) noexcept override { ++events; }
    void on_instance_changed(const instance_changed_event& /*event*/) noexcept override {
        ++events;
    }
    void on_blocked(const blocked_event& /*event*/) noexcept override { ++events; }

    std::size_t events = 0;
};

/// A parent whose client is connected and holds "x".
struct parent : shared_servers<3> {
    enum class network { tcp, unix_sockets };

    explicit parent(network by) {
        config settings = instances.config();
        settings.instance_timeout = 10s;
        settings.observer = told;
        if (by == network::unix_sockets) {
            settings.instances.clear();
            for (const redis_server& server : instances) {
                settings.instances.push_back(server.unix_uri());
            }
        }
        locks.emplace(context, settings);
        run_until(context, [&] { return ready_instances(*locks) == 3; });
        held = acquire("x");
    }

    mutex lock(const std::string& name) { return {*locks, name, renewed_every(20ms, 30s)}; }

    lease acquire(const std::string& name) {
        std::optional<lease> result;
        lock(name).acquire([&](const error& e, lease l) {
            BOOST_TEST(!e, e.message());
            result = std::move(l);
        });
        run_until(context, [&] { return result.has_value(); });
        return std::move(*result);
    }

    /// Checks that the child has changed nothing: the lease is held, and connections work and are in step.
    void check_untouched() {
        BOOST_TEST(held.valid());
        BOOST_TEST(!held.loss());
        BOOST_TEST(instances.holding("x") == 3U);
        const auto renewed = locks->counters().renewed;
        run_until(context, [&] { return locks->counters().renewed >= renewed + 3; });
        for (redis_server& server : instances) {
            hold_by_hand(server, "taken", 1min);
        }
        for (int i = 0; i != 20; ++i) {
            lease one = acquire("y" + std::to_string(i));
            std::optional<bool> denied;
            mutex(*locks, "taken").try_acquire([&](const error& e, const lease& l) {
                denied = !e && !l;
            });
            std::optional<release_result> released;
            one.release([&](const error& /*e*/, release_result result) { released = result; });
            run_until(context, [&] { return denied && released; });
            BOOST_TEST(*denied);
            BOOST_TEST((*released == release_result::released));
        }
        for (const instance_info& one : locks->instances()) {
            BOOST_TEST(one.reason.empty(), one.reason);  // The connection was never down.
        }
    }

    asio::io_context context{1};
    std::shared_ptr<event_counter> told = std::make_shared<event_counter>();
    std::optional<client> locks;
    lease held;
};

struct parent_by_tcp : parent {
    parent_by_tcp() : parent(network::tcp) {}
};
struct parent_by_unix_sockets : parent {
    parent_by_unix_sockets() : parent(network::unix_sockets) {}
};
using parents = std::tuple<parent_by_tcp, parent_by_unix_sockets>;

BOOST_AUTO_TEST_CASE_TEMPLATE(every_operation_in_a_child_fails_with_forked, Parent, parents) {
    Parent p;
    const std::string said = in_child(p.context, [&] {
        std::string result;
        const auto note = [&](const error& e, const auto&... /*results*/) { result += verdict(e); };
        const mutex lock(*p.locks, "z");
        lock.acquire(note);
        lock.try_acquire(note);
        lock.try_acquire_for(1s, note);
        p.held.extend(10s, note);
        p.held.release(note);
        p.held.wait_lost(note);
        p.locks->inspect("z", note);
        p.locks->break_lock("z", "token", note);
        p.locks->close(note);
        run_until_notified(p.context, [&] { return result.size() >= 9; });
        result += verdict(p.held.loss());
        result += p.held.valid() || p.held.valid_until() > steady_clock::now() ? "valid" : "";
        result += p.locks->instances().empty() ? "" : "has instances";
        return result;
    });
    BOOST_TEST(said == "1111111111");
    p.check_untouched();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(destructors_in_a_child_do_nothing, Parent, parents) {
    Parent p;
    std::optional<lease> more = p.acquire("more");
    const std::string said = in_child(p.context, [&] {
        more.reset();
        p.held = lease();
        p.locks.reset();
        run_until_notified(p.context, [] { return true; });
        return std::string("done");
    });
    BOOST_TEST(said == "done");
    BOOST_TEST(more->valid());
    p.check_untouched();
}

BOOST_FIXTURE_TEST_CASE(a_child_reports_errors_on_the_executor_of_the_handler, parent_by_tcp) {
    const std::string said = in_child([&] {
        asio::io_context own;
        std::optional<error> result;
        mutex(*locks, "z")
            .acquire(asio::bind_executor(own.get_executor(), [&](error e, const lease& /*none*/) {
                result = std::move(e);
            }));
        run_until(own, [&] { return result.has_value(); });
        return result->message();
    });
    BOOST_TEST(said == "the lock client was made before fork(). Make a new one in the child: 'z'");
    check_untouched();
}

// The thread sanitizer does not support new threads in the child of a multithreaded process. A client starts a
// thread to resolve names.
#if !defined(__SANITIZE_THREAD__)
BOOST_FIXTURE_TEST_CASE(a_client_created_in_a_child_works, parent_by_tcp) {
    const std::string said = in_child([&] {
        std::string result;
        run_test([&]() -> asio::awaitable<void> {
            client own(co_await asio::this_coro::executor, instances.config());
            result += is_held(co_await mutex(own, "x").try_acquire()) ? "has x" : "1";
            lease other = co_await mutex(own, "z").acquire();
            result += other.valid() && instances.holding("z") >= 2 ? "1" : "no z";
            result += co_await other.release() == release_result::released ? "1" : "not released";
            co_await own.close();
        }());
        return result;
    });
    BOOST_TEST(said == "111");
    check_untouched();
}
#endif

BOOST_AUTO_TEST_CASE_TEMPLATE(operations_pending_at_the_fork_continue_only_in_the_parent, Parent,
                              parents) {
    Parent p;
    std::optional<error> waited;
    std::optional<error> lost;
    lease next;
    p.lock("x").acquire([&](error e, lease l) {
        waited = std::move(e);
        next = std::move(l);
    });
    p.held.wait_lost([&](error e) { lost = std::move(e); });
    const std::string said = in_child(p.context, [&] {
        run_until_notified(p.context, [&] { return waited && lost; });
        return verdict(*waited) + verdict(p.held.loss()) + (*lost ? lost->message() : "1");
    });
    BOOST_TEST(said == "111");
    p.check_untouched();
    BOOST_TEST(!waited.has_value());
    BOOST_TEST(!lost.has_value());
    p.held.release(asio::detached);
    run_until(p.context, [&] { return waited.has_value(); });
    BOOST_TEST(!*waited, waited->message());
    BOOST_TEST(next.valid());
    p.held = std::move(next);
    p.check_untouched();
}

// The lease, the instances and the loop would have their events there.
BOOST_FIXTURE_TEST_CASE(nothing_is_reported_in_a_child, parent_by_tcp) {
    BOOST_TEST(told->events >= 4U);  // Three instances are ready, and a lease was acquired.
    bool has_acquired = false;
    lock("y").acquire([&](const error& /*e*/, const lease& /*l*/) { has_acquired = true; });
    const std::string said = in_child(context, [&] {
        const std::size_t before = told->events;
        run_until_notified(context, [&] { return has_acquired; });
        held = lease();
        locks.reset();
        run_until_notified(context, [] { return true; });
        return std::to_string(told->events - before);
    });
    BOOST_TEST(said == "0");
    const std::size_t before = told->events;
    run_until(context, [&] { return has_acquired; });
    BOOST_TEST(told->events > before);
    check_untouched();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_child_consumes_no_reply_of_its_parent, Parent, parents) {
    Parent p;
    for (redis_server& server : p.instances) {
        server.command({"CONFIG", "RESETSTAT"});
        server.pause();
    }
    std::optional<error> result;
    lease granted;
    mutex(*p.locks, "z").acquire([&](error e, lease l) {
        result = std::move(e);
        granted = std::move(l);
    });
    p.context.restart();
    p.context.poll();  // The commands are in flight.
    const std::string said = in_child(p.context, [&] {
        for (redis_server& server : p.instances) {
            server.resume();
        }
        run_until_notified(p.context, [&] { return executed(p.instances, "set") >= 3; });
        for (int i = 0; i != 100; ++i) {
            p.context.restart();
            p.context.poll();
        }
        return result ? verdict(*result) : "nothing";
    });
    BOOST_TEST(said == "1");
    run_until(p.context, [&] { return result.has_value(); });
    BOOST_TEST(!*result, result->message());
    BOOST_TEST(granted.valid());
    p.check_untouched();
}

/// The context is run by a thread that does not exist in the child. The fork may interrupt this thread at any
/// point.
BOOST_AUTO_TEST_CASE(a_fork_is_safe_while_another_thread_runs_the_client) {
    for (const bool thread_safe : {false, true}) {
        asio::io_context context;
        config settings = config::from_uris({"memory://a", "memory://b", "memory://c"});
        settings.thread_safe = thread_safe;
        std::optional<client> locks(std::in_place, context, settings);
        std::vector<lease> held(20);
        for (std::size_t i = 0; i != held.size(); ++i) {
            mutex(*locks, "x" + std::to_string(i), renewed_every(1ms, 10s))
                .acquire([&held, i](const error& /*e*/, lease l) { held[i] = std::move(l); });
        }
        run_until(context, [&] { return locks->counters().held == held.size(); });
        run_until(context, [&] {
            return std::ranges::all_of(held, [](const lease& l) { return l.valid(); });
        });
        context.restart();
        std::optional<std::jthread> runner(std::in_place, [&] { context.run(); });
        for (int i = 0; i != 20; ++i) {
            const auto renewed = locks->counters().renewed;
            wait_until([&] { return locks->counters().renewed > renewed; });
            const std::string said = in_child([&] {
                ::alarm(20);
                asio::io_context own;
                std::optional<error> result;
                mutex(*locks, "z")
                    .acquire(asio::bind_executor(
                        own.get_executor(), [&](error e, const lease& /*none*/) { result = e; }));
                run_until(own, [&] { return result.has_value(); });
                held.clear();
                locks.reset();
                return verdict(*result);
            });
            BOOST_TEST(said == "1");
        }
        BOOST_TEST(held.front().valid());
        asio::post(context, [&] {
            held.clear();
            locks.reset();
        });
        runner.reset();
    }
}

/// One thread is inside a handler that the client has called. From there it starts another thread, which uses
/// the client.
template <typename Start>
std::string words_of_two_threads(const Start& start) {
    return last_words([&] {
        asio::io_context context;
        client locks(context, config::from_uris({"memory://a"}));
        lease held;
        mutex(locks, "x").acquire([&](const error& /*e*/, lease l) {
            held = std::move(l);
            std::jthread another([&] { start(locks, held); });
        });
        context.run_for(30s);
    });
}

BOOST_AUTO_TEST_CASE(concurrent_use_without_thread_safe_aborts_the_program) {
    const auto ignore = [](const auto&...) {};
    const std::vector<std::function<void(client&, lease&)>> uses{
        [&](client& locks, lease&) { mutex(locks, "y").acquire(ignore); },
        [&](client&, lease& held) { held.extend(5s, ignore); },
        [&](client&, lease& held) { held = lease(); },
        [&](client& locks, lease&) { locks.close(ignore); },
    };
    for (const auto& use : uses) {
        const std::string said = words_of_two_threads(use);
        BOOST_TEST(said.starts_with("colock: two threads"), said);
        BOOST_TEST(said.find("config::thread_safe") != std::string::npos, said);
        BOOST_TEST(said.find("no SIGABRT") == std::string::npos, said);
    }
    // These functions may be called by any thread.
    BOOST_TEST(words_of_two_threads([](client& locks, lease& held) {
                   ::_exit(held.valid() && locks.counters().held == 1 ? 0 : 1);
               }) == " and no SIGABRT");
}

BOOST_AUTO_TEST_CASE(use_by_one_thread_after_another_is_allowed) {
    asio::io_context context;
    client locks(context, config::from_uris({"memory://a"}));
    lease held;
    std::jthread([&] {
        mutex(locks, "x").acquire([&](const error& /*e*/, lease l) { held = std::move(l); });
    }).join();
    run_until(context, [&] { return held.valid(); });
    std::jthread([gone = std::move(held)] {}).join();
    run_until(context, [&] { return locks.counters().held == 0; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
