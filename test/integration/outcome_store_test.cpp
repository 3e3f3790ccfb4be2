// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// What callers are told, and what the servers then have. Servers are killed and paused meanwhile. After each round of
// calls the servers run again, and plain commands read every name.

#include "integration/locks.hpp"
#include "kinds/once/once.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(outcome_store_test)

constexpr std::size_t quorum = 2;
constexpr milliseconds long_ttl = 1min;
constexpr milliseconds time_limit = 150ms;
constexpr milliseconds renewal = 30ms;

error_code code_of(const error& failure) {
    return failure.code();
}

error_code code_of(const std::exception_ptr& failure) {
    background ended;
    ended.thrown = failure;
    return ended.code();
}

/// How a caller is told.
enum class form { coroutine, callback, future };
constexpr std::array all_forms{form::coroutine, form::callback, form::future};

/// Two threads for the clients, and one more for each future.
class callers {
public:
    callers() {
        for (int i = 0; i != 2; ++i) {
            threads_.emplace_back([this] { context_.run(); });
        }
    }
    callers(const callers&) = delete;
    callers& operator=(const callers&) = delete;
    ~callers() {
        waiting_.clear();
        work_.reset();
    }

    [[nodiscard]] asio::io_context& context() { return context_; }

    /// Calls `start(token)`, and then `told(code, result)` on any thread.
    template <typename Start, typename Told>
    void call(form how, Start start, Told told) {
        ++pending_;
        auto done = [this, told](const auto& failure, auto result) mutable {
            told(code_of(failure), std::move(result));
            --pending_;
        };
        switch (how) {
            case form::coroutine:
                asio::co_spawn(asio::make_strand(context_), await(start, done), asio::detached);
                break;
            case form::callback:
                start(std::move(done));
                break;
            case form::future:
                waiting_.emplace_back([start, done]() mutable {
                    std::apply(done, start(asio::as_tuple(asio::use_future)).get());
                });
                break;
        }
    }

    /// Returns whether all callers were told.
    [[nodiscard]] bool all_told() const { return pending_ == 0; }
    void join() { waiting_.clear(); }

private:
    template <typename Start, typename Done>
    static asio::awaitable<void> await(Start start, Done done) {
        auto results = co_await start(asio::as_tuple(asio::use_awaitable));
        std::apply(done, std::move(results));
    }

    asio::io_context context_{2};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    std::atomic<std::size_t> pending_{0};
    std::vector<std::jthread> threads_;
    std::vector<std::jthread> waiting_;
};

/// The servers keep their data when they are killed.
struct scene {
    [[nodiscard]] config configuration(config of) const {
        of.thread_safe = true;
        of.instance_timeout = 100ms;
        of.silence_timeout = 300ms;
        return of;
    }
    [[nodiscard]] config of_one() {
        config result = config::from_uris({instances[0].uri()});
        result.restart_quarantine = 0ms;
        return result;
    }

    /// Returns the value of the key on each server.
    [[nodiscard]] std::vector<std::optional<std::string>> stored(const std::string& key) {
        std::vector<std::optional<std::string>> result;
        for (const redis_server& server : instances) {
            result.push_back(server.command({"GET", key}));
        }
        return result;
    }
    /// Returns how many servers have this value there.
    [[nodiscard]] std::size_t having(const std::string& key, const std::string& value) {
        return static_cast<std::size_t>(std::ranges::count(stored(key), std::optional(value)));
    }
    /// Returns how many servers have anything there.
    [[nodiscard]] std::size_t having_any(const std::string& key) {
        return instances.size() - static_cast<std::size_t>(std::ranges::count(
                                      stored(key), std::optional<std::string>()));
    }

    servers instances{3, {"--appendonly", "yes", "--appendfsync", "always"}};
    callers calls;
    std::mt19937 random{118};
    client locks{calls.context().get_executor(), configuration(instances.config())};
    client others{calls.context().get_executor(), configuration(instances.config())};
    client single{calls.context().get_executor(), configuration(of_one())};
    int names = 0;
    /// All commands that were sent before the latest outcomes have been executed by this time.
    steady_clock::time_point quiet_since;
};

/// Calls one operation in each round.
class task {
public:
    task(scene& s, form how) : scene_(s), how_(how) {}
    task(const task&) = delete;
    task& operator=(const task&) = delete;
    virtual ~task() = default;

    /// Called before the fault of the round.
    virtual void prepare() {}
    [[nodiscard]] std::string text() const { return name_ + " " + code_.message() + " loss: " + lease_.loss().message() + (lease_.owns_lock() ? " owns" : ""); }
    virtual void start() = 0;
    /// Compares the servers with what the caller was told.
    virtual void check() = 0;
    /// Returns the number of lost leases that it has not released yet.
    [[nodiscard]] virtual std::size_t lost() const { return 0; }
    /// Returns whether its client has finished what it does about the outcome.
    [[nodiscard]] virtual bool is_quiet() const { return true; }

protected:
    void rename(std::string_view kind) {
        name_ = std::string(kind) + std::to_string(++scene_.names);
    }
    /// Acquires the name with a time limit.
    void acquire() {
        rename("lock");
        const mutex lock(scene_.locks, name_, renewed_every(renewal, long_ttl));
        scene_.calls.call(
            how_,
            [lock](auto&& token) {
                return lock.try_acquire_for(time_limit, std::forward<decltype(token)>(token));
            },
            [this](const error_code& code, lease granted) {
                code_ = code;
                lease_ = std::move(granted);
            });
    }
    /// Returns whether the lock was acquired.
    [[nodiscard]] bool check_acquired() {
        if (!lease_) {
            BOOST_TEST(scene_.having_any(name_) == 0U, name_ << " was not acquired: " << code_);
            return false;
        }
        token_ = lease_.token();
        BOOST_TEST(scene_.having(name_, token_) >= quorum, name_ << " was acquired");
        return true;
    }
    void release() {
        scene_.calls.call(
            how_,
            [this](auto&& token) { return lease_.release(std::forward<decltype(token)>(token)); },
            [this](const error_code& code, release_result result) {
                code_ = code;
                released_as_ = result;
            });
    }
    void check_released() {
        lease_ = lease();
        BOOST_TEST(scene_.having_any(name_) == 0U,
                   name_ << " was released: " << code_ << ", " << to_string(released_as_));
    }

    scene& scene_;
    const form how_;
    std::string name_;
    std::string token_;
    lease lease_;
    error_code code_;
    release_result released_as_ = release_result::released;
};

/// A lock that is acquired, detached, adopted and released.
class handover_task final : public task {
public:
    using task::task;

    void start() override {
        switch (next_) {
            case step::acquire:
                acquire();
                break;
            case step::detach:
                scene_.calls.call(
                    how_,
                    [this](auto&& token) {
                        return lease_.detach(std::forward<decltype(token)>(token));
                    },
                    [this](const error_code& code, std::string text) {
                        code_ = code;
                        text_ = std::move(text);
                    });
                break;
            case step::adopt:
                scene_.calls.call(
                    how_,
                    [this](auto&& token) {
                        return adopt(scene_.others, text_, renewed_every(renewal, long_ttl),
                                     std::forward<decltype(token)>(token));
                    },
                    [this](const error_code& code, lease granted) {
                        code_ = code;
                        lease_ = std::move(granted);
                    });
                break;
            case step::release:
                release();
                break;
        }
    }

    void check() override {
        switch (next_) {
            case step::acquire:
                next_ = check_acquired() ? step::detach : step::acquire;
                break;
            case step::detach:
                BOOST_TEST(!code_, name_ << " was not detached: " << code_);
                check_detached();
                next_ = step::adopt;
                break;
            case step::adopt:
                next_ = check_adopted();
                break;
            case step::release:
                // No server has lost its data, and nobody else wants the name.
                BOOST_TEST((code_ || released_as_ == release_result::released));
                check_released();
                next_ = step::acquire;
                break;
        }
    }

private:
    enum class step { acquire, detach, adopt, release };

    /// A quorum has the keys, and nobody renews them.
    void check_detached() {
        BOOST_TEST(scene_.having(name_, token_) >= quorum, name_ << " was detached");
        for (const redis_server& server : scene_.instances) {
            const auto elapsed =
                std::chrono::duration_cast<milliseconds>(steady_clock::now() - scene_.quiet_since);
            const milliseconds left = pttl(server, name_).value_or(0ms);
            BOOST_TEST((left <= long_ttl - elapsed + 2ms),
                       name_ << " was detached, and " << left.count() << " ms are left after "
                             << elapsed.count() << " ms");
        }
    }

    step check_adopted() {
        const std::size_t having = scene_.having(name_, token_);
        if (code_ == errc::lease_lost) {
            BOOST_TEST(having < quorum, name_ << " was said to be lost");
            return step::acquire;
        }
        BOOST_TEST(having >= quorum, name_ << " was adopted: " << code_);
        BOOST_TEST((code_ ? code_ == errc::no_quorum : lease_.token() == token_), code_.message());
        return code_ ? step::adopt : step::release;
    }

    step next_ = step::acquire;
    std::string text_;
};

/// A lock that is acquired, broken by another client, and released.
class break_task final : public task {
public:
    using task::task;

    void start() override {
        switch (next_) {
            case step::acquire:
                acquire();
                break;
            case step::break_it:
                scene_.calls.call(
                    how_,
                    [this](auto&& token) {
                        return scene_.others.break_lock(name_, token_,
                                                        std::forward<decltype(token)>(token));
                    },
                    [this](const error_code& code, break_result result) {
                        code_ = code;
                        result_ = std::move(result);
                    });
                break;
            case step::release:
                release();
                break;
        }
    }

    void check() override {
        switch (next_) {
            case step::acquire:
                next_ = check_acquired() ? step::break_it : step::acquire;
                break;
            case step::break_it:
                check_broken();
                next_ = step::release;
                break;
            case step::release:
                check_released();
                next_ = step::acquire;
                break;
        }
    }

    [[nodiscard]] std::size_t lost() const override { return lease_.loss() ? 1 : 0; }
    [[nodiscard]] bool is_quiet() const override {
        return next_ != step::break_it || !result_.is_ended || lease_.loss();
    }

private:
    enum class step { acquire, break_it, release };

    void check_broken() {
        const std::size_t having = scene_.having(name_, token_);
        const std::size_t answered = result_.removed + result_.absent;
        BOOST_TEST(!code_, code_.message());
        BOOST_TEST(answered + result_.failed == scene_.instances.size());
        BOOST_TEST(result_.is_ended == (answered >= quorum));
        BOOST_TEST((!result_.was_held || result_.removed >= quorum));
        BOOST_TEST((!result_.is_ended || having < quorum), name_ << " was said to be broken");
        BOOST_TEST((answered != 0 || having >= quorum), name_ << " was not broken anywhere");
    }

    step next_ = step::acquire;
    break_result result_;
};

/// A name that is run once. The body takes as long as a fault needs to begin, or longer.
class once_task final : public task {
public:
    using task::task;

    void start() override {
        rename("once");
        once_options options;
        options.lock = renewed_every(20ms, 300ms);
        options.lock.unavailable_timeout = 200ms;
        options.keep = long_ttl;
        const milliseconds time(scene_.random() % 120);
        const auto body = [value = name_ + " done", time]() -> asio::awaitable<std::string> {
            asio::steady_timer timer(co_await asio::this_coro::executor, time);
            co_await timer.async_wait(asio::use_awaitable);
            co_return value;
        };
        scene_.calls.call(
            how_,
            [this, body, options](auto&& token) {
                return once(scene_.locks, name_, body, options,
                            std::forward<decltype(token)>(token));
            },
            [this](const error_code& code, once_result result) {
                code_ = code;
                result_ = std::move(result);
            });
    }

    void check() override {
        const std::string value = name_ + " done";
        const std::string record = kinds::make_record({.fingerprint = "", .result = value});
        const std::size_t having = scene_.having(name_, record);
        BOOST_TEST(having == scene_.having_any(name_), name_ << " has something else");
        if (!code_) {
            BOOST_TEST((result_.ran && result_.value == value));
            BOOST_TEST(having >= quorum, name_ << " has a result, on " << having << " servers");
        } else if (code_ != errc::outcome_unknown) {
            BOOST_TEST(having == 0U, name_ << " has no result: " << code_);
        }
    }

private:
    once_result result_;
};

/// Writes of a record on one server. After an outcome that is unknown, the record is another one.
class record_task final : public task {
public:
    record_task(scene& s, form how) : task(s, how) { rename("record"); }

    void prepare() override { before_ = stored(); }

    void start() override {
        value_ = "value " + std::to_string(++scene_.names);
        is_wrong_ = scene_.random() % 4 == 0;
        versioned_options options;
        options.unavailable_timeout = 200ms;
        const versioned record(scene_.single, name_, options);
        scene_.calls.call(
            how_,
            [record, version = before_.version + (is_wrong_ ? 1 : 0),
             value = value_](auto&& token) {
                return record.compare_exchange(version, value,
                                               std::forward<decltype(token)>(token));
            },
            [this](const error_code& code, write_outcome outcome) {
                code_ = code;
                outcome_ = std::move(outcome);
            });
    }

    void check() override {
        const versioned_state now = stored();
        const bool is_written = now.value == value_;
        const bool is_as_before = now.version == before_.version && now.value == before_.value;
        if (!code_ && outcome_.applied) {
            BOOST_TEST((is_written && !is_wrong_), name_ << " was written");
            BOOST_TEST(now.version == outcome_.current.version);
        } else if (code_ == errc::outcome_unknown) {
            BOOST_TEST((is_as_before || (is_written && !is_wrong_)), name_ << " is unknown");
            rename("record");
        } else {
            BOOST_TEST((code_ ? code_ == errc::no_quorum : is_wrong_), code_.message());
            BOOST_TEST(is_as_before, name_ << " was not written: " << code_);
        }
    }

private:
    [[nodiscard]] versioned_state stored() {
        const redis_server& server = scene_.instances[0];
        versioned_state result;
        result.version = std::stoull(server.command({"HGET", name_, "v"}).value_or("0"));
        result.value = server.command({"HGET", name_, "d"});
        return result;
    }

    bool is_wrong_ = false;  // It expects another version.
    std::string value_;
    versioned_state before_;
    write_outcome outcome_;
};

/// A fault of one or two servers.
class fault {
public:
    explicit fault(scene& s) : scene_(s), kills_(s.random() % 2 == 0), first_(s.random() % 3) {
        has_quorum_ = s.random() % 2 == 0;
    }

    void begin() {
        for_each([this](redis_server& one) { kills_ ? one.kill() : one.pause(); });
    }
    /// The fault of a majority lasts until all callers were told.
    void last() const {
        if (has_quorum_) {
            std::this_thread::sleep_for(milliseconds(100 + scene_.random() % 200));
        } else {
            wait_until([this] { return scene_.calls.all_told(); });
        }
    }
    void end() {
        for_each([this](redis_server& one) { kills_ ? one.restart() : one.resume(); });
    }

private:
    template <typename Function>
    void for_each(const Function& what) {
        for (std::size_t i = 0; i != (has_quorum_ ? 1U : 2U); ++i) {
            what(scene_.instances[(first_ + i) % scene_.instances.size()]);
        }
    }

    scene& scene_;
    bool kills_;
    bool has_quorum_ = true;
    std::size_t first_;
};

/// Waits until all callers were told, all servers are connected, and no command is under way.
void wait_until_quiet(scene& s, const std::vector<std::unique_ptr<task>>& tasks) {
    wait_until([&] { return s.calls.all_told(); });
    s.calls.join();
    const auto dbg = steady_clock::now();
    bool printed = false;
    wait_until([&] {
        std::size_t lost = 0;
        bool is_quiet = true;
        for (const auto& one : tasks) {
            lost += one->lost();
            is_quiet = is_quiet && one->is_quiet();
        }
        for (const client* const one : {&s.locks, &s.others, &s.single}) {
            is_quiet = is_quiet && ready_instances(*one) == one->instances().size() &&
                       one->counters().acquiring == 0;
        }
        if (!printed && steady_clock::now() - dbg > 8s) {
            printed = true;
            std::fprintf(stderr, "DBG lost %zu quiet %d ready %zu %zu %zu acq %llu %llu %llu rel %llu %llu held %llu %llu\n", lost, int(is_quiet),
                ready_instances(s.locks), ready_instances(s.others), ready_instances(s.single),
                (unsigned long long)s.locks.counters().acquiring, (unsigned long long)s.others.counters().acquiring, (unsigned long long)s.single.counters().acquiring,
                (unsigned long long)s.locks.counters().releasing, (unsigned long long)s.others.counters().releasing,
                (unsigned long long)s.locks.counters().held, (unsigned long long)s.others.counters().held);
            for (const auto& one : tasks) { std::fprintf(stderr, "  task %s lost %zu quiet %d\n", one->text().c_str(), one->lost(), int(one->is_quiet())); }
        }
        return is_quiet && s.locks.counters().releasing + s.others.counters().releasing == lost;
    });
    for (const client* const one : {&s.locks, &s.others, &s.single}) {
        wait_until([&] { return idle(*one); });
    }
    s.quiet_since = steady_clock::now();
}

/// Fault 118: `once` says `lease_lost`, and its result is recorded. More generally, each outcome is compared with the
/// servers.
BOOST_AUTO_TEST_CASE(servers_have_what_callers_were_told, *boost::unit_test::label("fault-118")) {
    constexpr int least_rounds = 8;
    constexpr int most_rounds = 24;
    constexpr milliseconds enough = 5s;
    scene s;
    std::vector<std::unique_ptr<task>> tasks;
    for (const form how : all_forms) {
        tasks.push_back(std::make_unique<handover_task>(s, how));
        tasks.push_back(std::make_unique<break_task>(s, how));
        tasks.push_back(std::make_unique<once_task>(s, how));
        tasks.push_back(std::make_unique<record_task>(s, how));
    }
    wait_until_quiet(s, tasks);
    // Its renewals show how much time the client has had to renew others.
    const mutex lock(s.locks, "canary", renewed_every(renewal, long_ttl));
    lease canary = lock.acquire(asio::use_future).get();
    const stopwatch time;
    for (int round = 0; round != most_rounds && (round < least_rounds || time.elapsed() < enough);
         ++round) {
        for (const auto& one : tasks) {
            one->prepare();
        }
        fault of_round(s);
        const bool is_before = s.random() % 2 == 0;
        if (is_before) {
            of_round.begin();
        }
        for (const auto& one : tasks) {
            one->start();
        }
        if (!is_before) {
            of_round.begin();
        }
        of_round.last();
        of_round.end();
        wait_until_quiet(s, tasks);
        const std::uint64_t renewed = s.locks.counters().renewed;
        wait_until([&] { return s.locks.counters().renewed >= renewed + 4; });
        for (const auto& one : tasks) {
            one->check();
        }
    }
    BOOST_TEST(canary.valid());
    tasks.clear();
    canary.release(asio::use_future).get();
    for (client* const one : {&s.locks, &s.others, &s.single}) {
        one->close(asio::use_future).get();
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
