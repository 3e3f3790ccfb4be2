// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Objects of every public class are moved, copied, outlived and destroyed in every order, with pending operations.
// Each operation must end as its class promises, or its handler must be destroyed. The address sanitizer checks that
// no destroyed object is used. destruction_test has the operations of a mutex in more detail.

namespace {

BOOST_AUTO_TEST_SUITE(lifetimes_test, *boost::unit_test::label("fault-137"))

using namespace colock;
using namespace colock::test;

/// Returns the configuration of clients that share `instances` instances in memory.
config in_memory(std::size_t instances, bool thread_safe) {
    config result;
    for (std::size_t i = 0; i != instances; ++i) {
        result.instances.push_back("memory://lifetimes-" + std::to_string(i));
    }
    result.thread_safe = thread_safe;
    return result;
}

/// Runs handlers until the condition is true.
template <typename Condition>
void run_until(asio::io_context& context, const Condition& condition,
               boost::source_location location = BOOST_CURRENT_LOCATION) {
    const auto deadline = steady_clock::now() + default_timeout;
    while (!condition()) {
        if (steady_clock::now() > deadline) {
            throw deadline_passed(default_timeout, location);
        }
        context.restart();
        context.run_one_for(1ms);
    }
}

/// Expects that nothing keeps the context at work.
void expect_no_work(asio::io_context& context) {
    context.restart();
    context.run_for(default_timeout);
    BOOST_TEST(context.stopped());
}

// --- Operations ---------------------------------------------------------------------------------------------

/// The result of an operation. Its handler shares it.
struct ending {
    std::optional<error_code> code;
    lease granted;
};

/// A handler for all operations.
struct record {
    std::shared_ptr<ending> to;

    void operator()(const error& failure, lease granted) const {
        to->code = failure.code();
        to->granted = std::move(granted);
    }
    template <typename... Results>
    void operator()(const error& failure, Results&&... /*results*/) const {
        to->code = failure.code();
    }
    template <typename... Results>
    void operator()(std::exception_ptr thrown, Results&&... /*results*/) const {
        to->code = background{true, thrown}.code();
    }
};

/// An operation, and its result as a word.
class attempt {
public:
    /// Starts an operation of `object` as `Operation` does.
    template <typename Operation, typename Object>
    void start(Object&& object) {
        end_ = std::make_shared<ending>();
        Operation::start(object, record{end_});
    }
    /// Does the same with a handler that runs on this executor.
    template <typename Operation, typename Object>
    void start_on(const asio::any_io_executor& executor, Object&& object) {
        end_ = std::make_shared<ending>();
        Operation::start(object, asio::bind_executor(executor, record{end_}));
    }
    /// Starts an operation that `cancel` can cancel.
    template <typename Operation, typename Object>
    void start_cancellable(Object&& object) {
        end_ = std::make_shared<ending>();
        Operation::start(object, asio::bind_cancellation_slot(signal_.slot(), record{end_}));
    }
    void cancel() { signal_.emit(asio::cancellation_type::terminal); }

    /// The lease of the operation, if it has got one.
    [[nodiscard]] lease& granted() { return end_->granted; }

    [[nodiscard]] std::string outcome() const {
        if (!end_->code) {
            return end_.use_count() == 1 ? "dropped" : "pending";
        }
        if (*end_->code == errc::client_closed) {
            return "closed";
        }
        if (*end_->code == errc::not_held) {
            return "not held";
        }
        if (*end_->code == aborted) {
            return "cancelled";
        }
        return *end_->code ? end_->code->message() : "done";
    }
    [[nodiscard]] bool is_pending() const { return outcome() == "pending"; }

    /// Runs handlers until the operation has ended.
    std::string outcome_in(asio::io_context& context) const {
        run_until(context, [&] { return !is_pending(); });
        return outcome();
    }

private:
    std::shared_ptr<ending> end_ = std::make_shared<ending>();
    asio::cancellation_signal signal_;
};

// --- Classes of locks ---------------------------------------------------------------------------------------
// Each of these has an object of a public class, and an operation that waits while `hold` holds the lock.

struct behind_a_mutex {
    static constexpr std::size_t instances = 3;
    static constexpr std::string_view after_move = "closed";

    template <typename Handler>
    static void hold(client& by, Handler handler) {
        mutex(by, "x").acquire(std::move(handler));
    }
};

struct plain_mutex : behind_a_mutex {
    static mutex make(client& of) { return {of, "x"}; }
    static void start(const mutex& lock, auto handler) { lock.acquire(std::move(handler)); }
};

struct fifo_mutex : behind_a_mutex {
    static constexpr std::size_t instances = 1;
    static mutex make(client& of) {
        lock_options options;
        options.order = queue_order::fifo;
        return {of, "x", options};
    }
    static void hold(client& by, auto handler) { make(by).acquire(std::move(handler)); }
    static void start(const mutex& lock, auto handler) { lock.acquire(std::move(handler)); }
};

/// The owner is destroyed before the operation ends.
struct mutex_for_an_owner : behind_a_mutex {
    static mutex make(client& of) { return {of, "x"}; }
    static void start(const mutex& lock, auto handler) {
        lock.acquire(lock_owner(), std::move(handler));
    }
};

struct mutex_by_with_lock : behind_a_mutex {
    static mutex make(client& of) { return {of, "x"}; }
    static void start(const mutex& lock, auto handler) {
        const auto body = [](lease& /*held*/) -> asio::awaitable<void> { co_return; };
        with_lock(lock, body, std::move(handler));
    }
};

struct mutex_by_lead : behind_a_mutex {
    static mutex make(client& of) { return {of, "x"}; }
    static void start(const mutex& lock, auto handler) {
        const auto body = [](lease& /*held*/) -> asio::awaitable<void> { co_return; };
        lead(lock, body, std::move(handler));
    }
};

struct writer : behind_a_mutex {
    static shared_mutex make(client& of) { return {of, "x"}; }
    static void hold(client& by, auto handler) { make(by).acquire(std::move(handler)); }
    static void start(const shared_mutex& lock, auto handler) { lock.acquire(std::move(handler)); }
};

struct reader : writer {
    static void start(const shared_mutex& lock, auto handler) {
        lock.acquire_shared(std::move(handler));
    }
};

struct permits : behind_a_mutex {
    static semaphore make(client& of) { return {of, "x", 2}; }
    static void hold(client& by, auto handler) { make(by).acquire(std::move(handler)); }
    static void start(const semaphore& lock, auto handler) { lock.acquire(2, std::move(handler)); }
};

struct plain_reentrant_mutex : behind_a_mutex {
    static reentrant_mutex make(client& of) { return {of, "x"}; }
    static void start(const reentrant_mutex& lock, auto handler) {
        lock.acquire(lock_owner(), std::move(handler));
    }
};

struct owned_reentrant_mutex : behind_a_mutex {
    static owned<reentrant_mutex> make(client& of) {
        return {reentrant_mutex(of, "x"), lock_owner()};
    }
    static void start(const owned<reentrant_mutex>& lock, auto handler) {
        lock.acquire(std::move(handler));
    }
};

struct several_names : behind_a_mutex {
    static multi_mutex make(client& of) { return {of, {"x", "y"}}; }
    static void hold(client& by, auto handler) { mutex(by, "y").acquire(std::move(handler)); }
    static void start(const multi_mutex& lock, auto handler) { lock.acquire(std::move(handler)); }
};

struct one_stripe : behind_a_mutex {
    static constexpr std::string_view after_move = "done";  // A move is a copy.

    static striped<mutex> make(client& of) { return {of, "x", 1}; }
    static void hold(client& by, auto handler) { make(by).of("any").acquire(std::move(handler)); }
    static void start(const striped<mutex>& locks, auto handler) {
        locks.of("any").acquire(std::move(handler));
    }
};

struct all_stripes : one_stripe {
    static void start(const striped<mutex>& locks, auto handler) {
        locks.all_of({"a", "b"}).acquire(std::move(handler));
    }
};

/// A lock class of a program, of which colock sees only what `striped` asks for.
class own_lock {
public:
    own_lock(client& of, std::string_view name) : lock_(of, name) {}
    [[nodiscard]] std::string_view resource() const { return lock_.resource(); }
    [[nodiscard]] const lock_options& options() const { return lock_.options(); }

private:
    mutex lock_;
};

struct all_stripes_of_own_locks : one_stripe {
    static striped<own_lock> make(client& of) { return {of, "x", 1}; }
    static void start(const striped<own_lock>& locks, auto handler) {
        locks.all_of(std::vector<std::string>{"a", "b"}).acquire(std::move(handler));
    }
};

using locks_of_each_class =
    std::tuple<plain_mutex, fifo_mutex, mutex_for_an_owner, mutex_by_with_lock, mutex_by_lead,
               writer, reader, permits, plain_reentrant_mutex, owned_reentrant_mutex, several_names,
               one_stripe, all_stripes, all_stripes_of_own_locks>;

// --- Values -------------------------------------------------------------------------------------------------

struct reading {
    static constexpr std::size_t instances = 1;
    static constexpr std::string_view after_move = "closed";

    static versioned make(client& of) { return {of, "v"}; }
    static void start(const versioned& value, auto handler) { value.read(std::move(handler)); }
};

struct writing : reading {
    static void start(const versioned& value, auto handler) {
        value.compare_exchange(1, "text", std::move(handler));
    }
};

struct updating : reading {
    static void start(const versioned& value, auto handler) {
        const auto function = [](const versioned_state& now) -> std::optional<std::string> {
            return now.value.value_or("") + "text";
        };
        value.update(function, std::move(handler));
    }
};

using objects_of_each_class =
    decltype(std::tuple_cat(locks_of_each_class(), std::tuple<reading, writing, updating>()));

template <typename Class>
using object_of = decltype(Class::make(std::declval<client&>()));

// --- In each order ------------------------------------------------------------------------------------------

/// Moves an object to other addresses and back, and assigns it to itself. The objects that it leaves are destroyed.
template <typename T>
void move_about(T& what) {
    T elsewhere(std::move(what));
    what = T(std::move(elsewhere));
    T& the_same = what;
    what = std::move(the_same);
}

enum class part { context, client, object, lease, waiter };

std::string to_text(const std::array<part, 5>& order) {
    std::string result;
    for (const part one : order) {
        result.append(result.empty() ? "" : ", ") +=
            std::array{"context", "client", "object", "lease", "waiter"}.at(
                static_cast<std::size_t>(one));
    }
    return result;
}

/// Returns what becomes of the waiter if the parts are destroyed in this order: the first of them decides.
std::string_view expected_of(const std::array<part, 5>& order) {
    for (const part one : order) {
        switch (one) {
            case part::context:
                return "dropped";
            case part::client:
                return "closed";
            case part::lease:
                return "done";
            case part::waiter:
                return "cancelled";
            case part::object:
                break;
        }
    }
    return {};
}

/// How the parts are destroyed: all at once, or with handlers that run in between. Before that, they may be moved.
enum class manner { at_once, one_by_one, one_by_one_after_a_move };

/// A lease, an operation that waits for it, and the objects to which these belong.
template <typename Class>
class scene {
public:
    scene(bool thread_safe, manner how)
        : how_(how),
          locks_(std::in_place, *context_, in_memory(Class::instances, thread_safe)),
          object_(Class::make(*locks_)) {
        holder_.start<holding>(*locks_);
        BOOST_TEST_REQUIRE(holder_.outcome_in(*context_) == "done");
        waiter_.start_cancellable<Class>(*object_);
        const auto waits = [&] { return locks_->counters().acquiring == 1; };
        run_until(*context_, waits);
        if (how == manner::one_by_one_after_a_move) {
            move_about(*locks_);
            move_about(*object_);
            move_about(holder_.granted());
        }
        BOOST_TEST_REQUIRE(waiter_.outcome() == "pending");
    }

    void destroy_in(const std::array<part, 5>& order) {
        const std::string_view expected = how_ == manner::at_once ? "dropped" : expected_of(order);
        for (const part one : order) {
            if (one == part::context && one == order.back() && how_ != manner::at_once) {
                // No object is left, so the context runs out of work.
                context_->restart();
                context_->run_for(default_timeout);
                BOOST_TEST(context_->stopped());
            }
            destroy(one);
            if (context_ && how_ != manner::at_once) {
                context_->restart();
                context_->poll();
                if (one != part::object && waiter_.is_pending()) {
                    BOOST_TEST(waiter_.outcome_in(*context_) == expected);
                }
            }
        }
        BOOST_TEST(waiter_.outcome() == expected);
    }

private:
    struct holding {
        static void start(client& by, auto handler) { Class::hold(by, std::move(handler)); }
    };

    void destroy(part one) {
        switch (one) {
            case part::context:
                context_.reset();
                break;
            case part::client:
                locks_.reset();
                break;
            case part::object:
                object_.reset();
                break;
            case part::lease:
                holder_.granted() = lease();
                break;
            case part::waiter:
                waiter_.cancel();
                waiter_.granted() = lease();
                break;
        }
    }

    manner how_;
    attempt holder_;
    attempt waiter_;
    std::optional<asio::io_context> context_{std::in_place};
    std::optional<client> locks_;
    std::optional<object_of<Class>> object_;
};

BOOST_AUTO_TEST_CASE_TEMPLATE(the_parts_of_a_scene_are_destroyed_in_each_order, Class,
                              locks_of_each_class) {
    for (const bool thread_safe : {false, true}) {
        for (const manner how :
             {manner::at_once, manner::one_by_one, manner::one_by_one_after_a_move}) {
            std::array order{part::context, part::client, part::object, part::lease, part::waiter};
            do {
                BOOST_TEST_CONTEXT(to_text(order) << ", manner " << static_cast<int>(how)
                                                  << ", thread_safe " << thread_safe) {
                    scene<Class>(thread_safe, how).destroy_in(order);
                }
            } while (std::next_permutation(order.begin(), order.end()));
        }
    }
}

// --- Moved, copied and outlived -----------------------------------------------------------------------------

/// An operation on an object in its own context. The handler runs there, even if the object has no client any more.
template <typename Class, typename Object>
std::string outcome_of(asio::io_context& context, Object&& object) {
    attempt one;
    one.start_on<Class>(context.get_executor(), object);
    return one.outcome_in(context);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_operation_continues_when_its_objects_are_moved, Class,
                              objects_of_each_class) {
    for (const bool thread_safe : {false, true}) {
        asio::io_context context;
        client locks(context, in_memory(Class::instances, thread_safe));
        auto object = Class::make(locks);
        attempt first;
        first.start<Class>(object);
        move_about(object);
        move_about(locks);
        BOOST_TEST(first.outcome_in(context) == "done");
        move_about(first.granted());
        first.granted() = lease();
        BOOST_TEST(outcome_of<Class>(context, object) == "done");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_object_that_was_moved_from_behaves_as_its_class_says, Class,
                              objects_of_each_class) {
    asio::io_context context;
    client locks(context, in_memory(Class::instances, false));
    client others(context, in_memory(Class::instances, false));
    auto first = Class::make(locks);
    auto second(std::move(first));
    // NOLINTBEGIN(bugprone-use-after-move)
    BOOST_TEST(outcome_of<Class>(context, first) == Class::after_move);
    BOOST_TEST(outcome_of<Class>(context, second) == "done");
    auto third = Class::make(others);
    third = std::move(second);
    BOOST_TEST(outcome_of<Class>(context, second) == Class::after_move);
    BOOST_TEST(outcome_of<Class>(context, third) == "done");
    first = third;  // It may be used again.
    BOOST_TEST(outcome_of<Class>(context, first) == "done");
    // NOLINTEND(bugprone-use-after-move)
}

BOOST_AUTO_TEST_CASE(an_object_that_was_moved_from_has_no_names_or_the_same) {
    asio::io_context context;
    client locks(context, in_memory(1, false));
    multi_mutex both(locks, {"x", "y"});
    striped<mutex> stripes(locks, "x", 4);
    versioned value(locks, "v");
    const multi_mutex other_both(std::move(both));
    const striped<mutex> other_stripes(std::move(stripes));
    const versioned other_value(std::move(value));
    // NOLINTBEGIN(bugprone-use-after-move)
    BOOST_TEST(both.resource() == "");
    BOOST_TEST(both.resources().empty());
    BOOST_TEST(other_both.resources().size() == 2U);
    BOOST_TEST(stripes.size() == 4U);
    BOOST_TEST(&stripes.of("a") == &other_stripes.of("a"));
    BOOST_TEST(value.resource() == "");
    BOOST_TEST(other_value.resource() == "v");
    // NOLINTEND(bugprone-use-after-move)
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_copy_lives_on, Class, objects_of_each_class) {
    asio::io_context context;
    client locks(context, in_memory(Class::instances, false));
    std::optional original(Class::make(locks));
    const auto copy = *original;  // NOLINT(performance-unnecessary-copy-initialization)
    BOOST_TEST(outcome_of<Class>(context, *original) == "done");
    original.reset();
    BOOST_TEST(outcome_of<Class>(context, copy) == "done");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_object_may_outlive_its_client, Class, objects_of_each_class) {
    for (const bool thread_safe : {false, true}) {
        asio::io_context context;
        const config configuration = in_memory(Class::instances, thread_safe);
        std::optional<client> first(std::in_place, context, configuration);
        const auto object = Class::make(*first);
        BOOST_TEST(outcome_of<Class>(context, object) == "done");
        std::optional<client> second(std::move(*first));
        const auto made_late = Class::make(*first);
        BOOST_TEST(outcome_of<Class>(context, made_late) == "closed");
        first.reset();
        BOOST_TEST(outcome_of<Class>(context, object) == "done");
        *second = client(context, configuration);  // This closes the client that it was.
        BOOST_TEST(outcome_of<Class>(context, object) == "closed");
        const auto copy = object;
        BOOST_TEST(outcome_of<Class>(context, copy) == "closed");
        const auto made_anew = Class::make(*second);
        BOOST_TEST(outcome_of<Class>(context, made_anew) == "done");
        second.reset();
        // The objects do not keep the context at work.
        expect_no_work(context);
    }
}

/// `with_lock` and `lead` then run on the system executor, on another thread.
BOOST_AUTO_TEST_CASE_TEMPLATE(an_object_may_outlive_its_context, Class, objects_of_each_class) {
    for (const bool thread_safe : {false, true}) {
        std::optional<asio::io_context> context(std::in_place);
        client locks(*context, in_memory(Class::instances, thread_safe));
        auto object = Class::make(locks);
        attempt pending;
        pending.start<Class>(object);
        context.reset();
        BOOST_TEST(pending.outcome() == "dropped");
        auto made_late = Class::make(locks);
        move_about(locks);
        move_about(object);
        for (auto* const one : {&object, &made_late}) {
            attempt late;
            late.start<Class>(*one);
            wait_until([&] { return !late.is_pending(); });
            BOOST_TEST(late.outcome() == "dropped");
        }
        BOOST_TEST((locks.get_executor() == asio::system_executor()));
    }
}

// --- Bodies -------------------------------------------------------------------------------------------------

asio::awaitable<void> wait_until_lost(lease& held) {
    co_await held.wait_lost();
}

struct body_of_with_lock {
    static void start(client& of, auto handler) {
        with_lock(mutex(of, "x"), wait_until_lost, std::move(handler));
    }
};
struct body_of_with_shared_lock {
    static void start(client& of, auto handler) {
        with_shared_lock(shared_mutex(of, "x"), wait_until_lost, std::move(handler));
    }
};
struct body_of_lead {
    static void start(client& of, auto handler) {
        lead(mutex(of, "x"), wait_until_lost, std::move(handler));
    }
};
struct body_of_once {
    static void start(client& of, auto handler) {
        const auto body = [](lease& held) -> asio::awaitable<std::string> {
            co_await held.wait_lost();
            co_return "";
        };
        once(of, "x", body, std::move(handler));
    }
};
using bodies = std::tuple<body_of_with_lock, body_of_with_shared_lock, body_of_lead, body_of_once>;

/// The client is moved while the body runs. Then either part is destroyed first, or the body is cancelled.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_body_ends_with_its_parts, Operation, bodies) {
    for (const bool thread_safe : {false, true}) {
        for (const part first : {part::context, part::client, part::waiter}) {
            std::optional<asio::io_context> context(std::in_place);
            std::optional<client> locks(std::in_place, *context, in_memory(3, thread_safe));
            attempt one;
            one.start_cancellable<Operation>(*locks);
            run_until(*context, [&] { return locks->counters().held == 1; });
            move_about(*locks);
            context->poll();
            BOOST_TEST(one.is_pending());
            if (first == part::context) {
                context.reset();
                one.cancel();
                BOOST_TEST(one.outcome() == "dropped");
            } else if (first == part::client) {
                locks.reset();
                BOOST_TEST(one.outcome_in(*context) == "closed");
            } else {
                one.cancel();
                BOOST_TEST(one.outcome_in(*context) == "cancelled");
            }
        }
    }
}

// --- Leases -------------------------------------------------------------------------------------------------

struct extending {
    static constexpr std::string_view without_client = "closed";
    static void start(lease& held, auto handler) { held.extend(9s, std::move(handler)); }
};
struct releasing {
    static constexpr std::string_view without_client = "done";
    static void start(lease& held, auto handler) { held.release(std::move(handler)); }
};
struct detaching {
    static constexpr std::string_view without_client = "closed";
    static void start(lease& held, auto handler) { held.detach(std::move(handler)); }
};
struct watching {
    static constexpr std::string_view without_client = "done";
    static void start(const lease& held, auto handler) { held.wait_lost(std::move(handler)); }
};
using operations_of_a_lease = std::tuple<extending, releasing, detaching, watching>;

/// A lease, its client and its context.
struct leased {
    explicit leased(bool thread_safe) : locks(std::in_place, *context, in_memory(3, thread_safe)) {
        attempt first;
        first.start<plain_mutex>(mutex(*locks, "x"));
        BOOST_TEST_REQUIRE(first.outcome_in(*context) == "done");
        held = std::move(first.granted());
    }

    lease held;
    std::optional<asio::io_context> context{std::in_place};
    std::optional<client> locks;
};

BOOST_AUTO_TEST_CASE_TEMPLATE(an_operation_continues_when_its_lease_is_moved, Operation,
                              operations_of_a_lease) {
    for (const bool thread_safe : {false, true}) {
        leased all(thread_safe);
        attempt pending;
        pending.start<Operation>(all.held);
        move_about(all.held);
        move_about(*all.locks);
        lease moved(std::move(all.held));
        // NOLINTBEGIN(bugprone-use-after-move)
        BOOST_TEST(!all.held.valid());
        BOOST_TEST((all.held.get_executor() == all.context->get_executor()));
        BOOST_TEST(outcome_of<Operation>(*all.context, all.held) == "not held");
        // NOLINTEND(bugprone-use-after-move)
        if constexpr (std::is_same_v<Operation, watching>) {
            BOOST_TEST(pending.is_pending());
            all.locks.reset();
        }
        BOOST_TEST(pending.outcome_in(*all.context) == "done");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_operation_ends_when_its_lease_is_destroyed, Operation,
                              operations_of_a_lease) {
    for (const bool thread_safe : {false, true}) {
        leased all(thread_safe);
        attempt pending;
        pending.start<Operation>(all.held);
        all.held = lease();
        const std::string outcome = pending.outcome_in(*all.context);
        if constexpr (std::is_same_v<Operation, watching>) {
            BOOST_TEST(outcome == "not held");
        } else if constexpr (std::is_same_v<Operation, extending>) {
            BOOST_TEST((outcome == "done" || outcome == "not held"), outcome);
        } else {
            BOOST_TEST(outcome == "done");
        }
        BOOST_TEST(outcome_of<plain_mutex>(*all.context, mutex(*all.locks, "y")) == "done");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_lease_may_outlive_its_client, Operation, operations_of_a_lease) {
    for (const bool thread_safe : {false, true}) {
        leased all(thread_safe);
        all.locks.reset();
        run_until(*all.context, [&] { return !all.held.owns_lock(); });
        BOOST_TEST((all.held.loss() == errc::client_closed));
        BOOST_TEST(outcome_of<Operation>(*all.context, all.held) == Operation::without_client);
        move_about(all.held);
        BOOST_TEST(all.held.resource() == "x");
        all.held = lease();
        expect_no_work(*all.context);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_lease_may_outlive_its_context, Operation, operations_of_a_lease) {
    for (const bool thread_safe : {false, true}) {
        for (const bool with_client : {false, true}) {
            leased all(thread_safe);
            attempt pending;
            pending.start<Operation>(all.held);
            all.context.reset();
            BOOST_TEST(pending.outcome() == "dropped");
            if (!with_client) {
                all.locks.reset();
            }
            pending.start<Operation>(all.held);
            BOOST_TEST(pending.outcome() == "dropped");
            move_about(all.held);
            BOOST_TEST((all.held.get_executor() == asio::system_executor()));
            BOOST_TEST(all.held.resource() == "x");
            lease moved(std::move(all.held));
            moved.abandon();
            BOOST_TEST(moved.resource() == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_assigned_to_is_released) {
    for (const bool thread_safe : {false, true}) {
        leased all(thread_safe);
        attempt second;
        second.start<plain_mutex>(mutex(*all.locks, "y"));
        BOOST_TEST_REQUIRE(second.outcome_in(*all.context) == "done");
        attempt waiter;
        waiter.start<plain_mutex>(mutex(*all.locks, "x"));
        all.held = std::move(second.granted());
        BOOST_TEST(waiter.outcome_in(*all.context) == "done");
        BOOST_TEST(all.held.valid());
        BOOST_TEST(all.held.resource() == "y");
    }
}

/// A lock and one of its leases.
struct of_readers {
    shared_mutex& lock;
    lease& held;
};
struct downgrading {
    static void start(const of_readers& what, auto handler) {
        what.lock.downgrade(what.held, std::move(handler));
    }
};
struct sharing {
    static void start(const of_readers& what, auto handler) {
        what.lock.share(what.held, std::move(handler));
    }
};
/// A writer's lease becomes a reader's, which is then shared.
using operations_of_readers = std::tuple<downgrading, sharing>;

BOOST_AUTO_TEST_CASE_TEMPLATE(an_operation_of_readers_ends_with_its_parts, Operation,
                              operations_of_readers) {
    for (const bool thread_safe : {false, true}) {
        for (const part first : {part::context, part::client, part::object, part::lease}) {
            leased all(thread_safe);
            shared_mutex lock(*all.locks, "s");
            attempt writer_first;
            writer_first.start<writer>(lock);
            BOOST_TEST_REQUIRE(writer_first.outcome_in(*all.context) == "done");
            lease held = std::move(writer_first.granted());
            if (std::is_same_v<Operation, sharing>) {
                BOOST_TEST(outcome_of<downgrading>(*all.context, of_readers{lock, held}) == "done");
            }
            attempt pending;
            pending.start<Operation>(of_readers{lock, held});
            move_about(*all.locks);
            move_about(lock);
            move_about(held);
            if (first == part::context) {
                all.context.reset();
                BOOST_TEST(pending.outcome() == "dropped");
                pending.start<Operation>(of_readers{lock, held});
                BOOST_TEST(pending.outcome() == "dropped");
            } else if (first == part::client) {
                all.locks.reset();
                const std::string outcome = pending.outcome_in(*all.context);
                BOOST_TEST((outcome == "done" || outcome == "closed"), outcome);
                run_until(*all.context, [&] { return !held.owns_lock(); });
                BOOST_TEST(outcome_of<Operation>(*all.context, of_readers{lock, held}) == "closed");
            } else if (first == part::object) {
                const shared_mutex moved(std::move(lock));
                BOOST_TEST(pending.outcome_in(*all.context) == "done");
                // NOLINTNEXTLINE(bugprone-use-after-move)
                BOOST_TEST(outcome_of<Operation>(*all.context, of_readers{lock, held}) == "closed");
            } else {
                held = lease();
                const std::string outcome = pending.outcome_in(*all.context);
                BOOST_TEST((outcome == "done" || outcome == "not held"), outcome);
                BOOST_TEST(outcome_of<Operation>(*all.context, of_readers{lock, held}) ==
                           "not held");
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(an_owner_enters_again_as_long_as_its_parts_exist) {
    for (const part first : {part::context, part::client, part::object}) {
        leased all(false);
        reentrant_mutex lock(*all.locks, "r");
        lock_owner anna;
        lease held;
        lock.acquire(anna, [&](const error&, lease granted) { held = std::move(granted); });
        run_until(*all.context, [&] { return held.valid(); });
        move_about(*all.locks);
        move_about(lock);
        move_about(anna);
        move_about(held);
        const lock_owner the_same = anna;
        BOOST_TEST(is_held(lock.try_reenter(the_same)));
        if (first == part::context) {
            all.context.reset();
        } else if (first == part::client) {
            all.locks.reset();
            run_until(*all.context, [&] { return !held.owns_lock(); });
        } else {
            const reentrant_mutex moved(std::move(lock));
            BOOST_TEST(is_held(moved.try_reenter(anna)));
        }
        BOOST_TEST(!is_held(lock.try_reenter(anna)));  // NOLINT(bugprone-use-after-move)
    }
}

// --- Clients ------------------------------------------------------------------------------------------------

struct listing_leases {
    static constexpr std::string_view after_move = "closed";
    static void start(client& of, auto handler) { of.leases(std::move(handler)); }
};
struct listing_waiters {
    static constexpr std::string_view after_move = "closed";
    static void start(client& of, auto handler) { of.waiters(std::move(handler)); }
};
struct inspecting {
    static constexpr std::string_view after_move = "closed";
    static void start(client& of, auto handler) {
        of.inspect(std::string("x"), std::move(handler));
    }
};
struct breaking {
    static constexpr std::string_view after_move = "closed";
    static void start(client& of, auto handler) {
        of.break_lock(std::string("x"), std::string("nobody"), std::move(handler));
    }
};
struct closing {
    static constexpr std::string_view after_move = "done";
    static void start(client& of, auto handler) { of.close(std::move(handler)); }
};
/// The key, the options and the body are destroyed before the operation ends.
struct doing_once {
    static constexpr std::string_view after_move = "closed";
    static void start(client& of, auto handler) {
        once_options options;
        options.fingerprint = std::string("fingerprint");
        const auto body = []() -> asio::awaitable<std::string> { co_return "result"; };
        once(of, std::string("once"), body, options, std::move(handler));
    }
};
using operations_of_a_client =
    std::tuple<listing_leases, listing_waiters, inspecting, breaking, closing, doing_once>;

BOOST_AUTO_TEST_CASE_TEMPLATE(an_operation_continues_when_its_client_is_moved, Operation,
                              operations_of_a_client) {
    for (const bool thread_safe : {false, true}) {
        asio::io_context context;
        client locks(context, in_memory(3, thread_safe));
        attempt pending;
        pending.start<Operation>(locks);
        move_about(locks);
        client moved(std::move(locks));
        BOOST_TEST(pending.outcome_in(context) == "done");
        // NOLINTNEXTLINE(bugprone-use-after-move)
        BOOST_TEST(outcome_of<Operation>(context, locks) == Operation::after_move);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_operation_ends_when_its_client_is_destroyed, Operation,
                              operations_of_a_client) {
    for (const bool thread_safe : {false, true}) {
        for (std::size_t turns = 0; turns != 5; ++turns) {
            asio::io_context context;
            std::optional<client> locks(std::in_place, context, in_memory(3, thread_safe));
            attempt pending;
            pending.start<Operation>(*locks);
            for (std::size_t i = 0; i != turns; ++i) {
                context.poll_one();
            }
            locks.reset();
            const std::string outcome = pending.outcome_in(context);
            BOOST_TEST((outcome == "done" || outcome == "closed"), outcome);
            expect_no_work(context);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_client_may_outlive_its_context, Operation, operations_of_a_client) {
    for (const bool thread_safe : {false, true}) {
        std::optional<asio::io_context> context(std::in_place);
        client locks(*context, in_memory(3, thread_safe));
        attempt pending;
        pending.start<Operation>(locks);
        context.reset();
        BOOST_TEST(pending.outcome() == "dropped");
        move_about(locks);
        pending.start<Operation>(locks);
        wait_until([&] { return !pending.is_pending(); });
        BOOST_TEST(pending.outcome() == "dropped");
    }
}

struct waiting_once {
    static void start(client& of, auto handler) {
        const auto body = []() -> asio::awaitable<std::string> { co_return "result"; };
        once(of, std::string("x"), body, std::move(handler));
    }
};

BOOST_AUTO_TEST_CASE(once_waits_for_a_lock_while_its_client_is_moved_or_destroyed) {
    for (const bool thread_safe : {false, true}) {
        for (const bool is_destroyed : {false, true}) {
            leased all(thread_safe);
            attempt waiter;
            waiter.start<waiting_once>(*all.locks);
            run_until(*all.context, [&] { return all.locks->counters().acquiring == 1; });
            move_about(*all.locks);
            BOOST_TEST(waiter.is_pending());
            if (is_destroyed) {
                all.locks.reset();
                BOOST_TEST(waiter.outcome_in(*all.context) == "closed");
            } else {
                all.held = lease();
                BOOST_TEST(waiter.outcome_in(*all.context) == "done");
            }
        }
    }
}

// --- Texts of leases ----------------------------------------------------------------------------------------

struct handover {
    client& to;
    const std::string& text;
};
/// The text and the options are destroyed before the operation ends.
struct adopting {
    static void start(const handover& what, auto handler) {
        adopt(what.to, std::string(what.text), with_ttl(9s), std::move(handler));
    }
};

BOOST_AUTO_TEST_CASE(a_detached_lease_may_outlive_its_client_and_be_adopted_by_one_that_moves) {
    for (const bool thread_safe : {false, true}) {
        leased all(thread_safe);
        std::optional<client> second(std::in_place, *all.context, in_memory(3, thread_safe));
        std::string text;
        all.held.detach([&](const error&, std::string detached) { text = std::move(detached); });
        run_until(*all.context, [&] { return !text.empty(); });
        all.locks.reset();
        all.held = lease();

        attempt adopted;
        adopted.start<adopting>(handover{*second, text});
        move_about(*second);
        BOOST_TEST(adopted.outcome_in(*all.context) == "done");
        BOOST_TEST(adopted.granted().valid());
        const client moved(std::move(*second));
        BOOST_TEST(outcome_of<adopting>(*all.context, handover{*second, text}) == "closed");
        second.reset();
        BOOST_TEST(adopted.granted().valid());
    }
}

BOOST_AUTO_TEST_CASE(an_adoption_ends_when_its_client_or_its_context_is_destroyed) {
    for (const bool thread_safe : {false, true}) {
        for (const bool with_context : {false, true}) {
            leased all(thread_safe);
            std::optional<client> second(std::in_place, *all.context, in_memory(3, thread_safe));
            std::string text;
            all.held.detach(
                [&](const error&, std::string detached) { text = std::move(detached); });
            run_until(*all.context, [&] { return !text.empty(); });
            attempt pending;
            pending.start<adopting>(handover{*second, text});
            if (with_context) {
                second.reset();
                const std::string outcome = pending.outcome_in(*all.context);
                BOOST_TEST((outcome == "done" || outcome == "closed"), outcome);
            } else {
                all.context.reset();
                BOOST_TEST(pending.outcome() == "dropped");
                pending.start<adopting>(handover{*second, text});
                BOOST_TEST(pending.outcome() == "dropped");
            }
        }
    }
}

// --- Configurations, observers and results ------------------------------------------------------------------

struct counting_observer final : observer {
    void on_acquired(const acquired_event& /*event*/) noexcept override { ++acquired; }
    int acquired = 0;
};

BOOST_AUTO_TEST_CASE(a_client_keeps_its_observer_until_its_work_has_ended) {
    for (const bool thread_safe : {false, true}) {
        asio::io_context context;
        auto told = std::make_shared<counting_observer>();
        const std::weak_ptr<counting_observer> watched = told;
        auto configuration = std::make_unique<config>(in_memory(3, thread_safe));
        configuration->observer = std::move(told);
        std::optional<client> locks(std::in_place, context, std::move(*configuration));
        configuration.reset();
        BOOST_TEST(!watched.expired());
        const mutex lock(*locks, "x");
        attempt first;
        first.start<plain_mutex>(lock);
        BOOST_TEST(first.outcome_in(context) == "done");
        BOOST_TEST(watched.lock()->acquired == 1);
        locks.reset();
        first.granted() = lease();
        expect_no_work(context);
        BOOST_TEST(watched.expired());  // Although the lock lives on.
    }
}

BOOST_AUTO_TEST_CASE(an_observer_is_released_with_its_context) {
    for (const bool thread_safe : {false, true}) {
        std::optional<asio::io_context> context(std::in_place);
        auto told = std::make_shared<counting_observer>();
        const std::weak_ptr<counting_observer> watched = told;
        config configuration = in_memory(3, thread_safe);
        configuration.observer = std::move(told);
        const client locks(*context, std::move(configuration));
        context->poll();
        context.reset();
        BOOST_TEST(watched.expired());
    }
}

BOOST_AUTO_TEST_CASE(results_outlive_the_client) {
    leased all(false);
    const std::vector<instance_info> instances = all.locks->instances();
    const counters counted = all.locks->counters();
    const histograms times = all.locks->histograms();
    std::vector<lease_info> leases;
    inspection seen;
    int done = 0;
    all.locks->leases([&](const error&, std::vector<lease_info> listed) {
        leases = std::move(listed);
        ++done;
    });
    all.locks->inspect("x", [&](const error&, inspection inspected) {
        seen = std::move(inspected);
        ++done;
    });
    run_until(*all.context, [&] { return done == 2; });
    all.locks.reset();
    run_until(*all.context, [&] { return !all.held.owns_lock(); });
    const error loss = all.held.loss();
    const std::string token(all.held.token());
    all.held = lease();
    all.context.reset();
    BOOST_TEST(instances.size() == 3U);
    BOOST_TEST(instances.back().address == "memory://lifetimes-2");
    BOOST_TEST(counted.acquired == 1U);
    BOOST_TEST(times.waits.count == 1U);
    BOOST_TEST_REQUIRE(leases.size() == 1U);
    BOOST_TEST(leases.front().token == token);
    BOOST_TEST(seen.instances.size() == 3U);
    BOOST_TEST((loss == errc::client_closed));
    BOOST_TEST(loss.details() == "'x'");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
