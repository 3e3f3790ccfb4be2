// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Values under colock's names that no lock could have written. Each form that colock stores is changed: numbers
// at and beyond each limit, missing and additional parts, other types, and 200 KB. Every operation meets them.
// They may be errors of their name. The connection stays, and leases of other names notice nothing.

#include "integration/locks.hpp"
#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fifo/fifo.hpp"
#include "kinds/queue/remote_queue.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(foreign_values_test, *boost::unit_test::label("fault-117"))

using strings = std::vector<std::string>;

/// Forty hexadecimal digits.
const std::string digits = "abcdef0123456789abcdef0123456789abcdef01";

/// A value that another program writes. The commands have `<key>`, `<queue>`, `<waiters>` and `<fence>` in place
/// of the names, and `<token>` in place of a token.
struct foreign_value {
    std::vector<strings> commands;
    bool is_huge = false;
};

/// Numbers at and beyond the limits of what colock stores, and texts that are no numbers.
const strings numbers{"0",
                      "1",
                      "-1",
                      "17",
                      "1025",
                      "65536",
                      "0.5",
                      "9007199254740990",
                      "9007199254740991",
                      "9007199254740992",
                      "9999999999999999",
                      "9223372036854775807",
                      "9223372036854775808",
                      "18446744073709551616",
                      "99999999999999999999",
                      "1e300"};
const strings scores_only{"inf", "-inf", "-1e300", "-9007199254740992"};
const strings texts_only{"", "x", "-", "nan", " 1", "0x10"};

strings joined(strings first, const strings& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
}

/// Makes a string of 200 KB, which begins with `before`. `write` is the rest of a call in Lua.
foreign_value huge(const std::string& write, const std::string& name, const std::string& before) {
    return {{{"EVAL",
              "local value = ARGV[1] .. string.rep('9', 200000) .. (ARGV[2] or '') redis.call(" +
                  write + ")",
              "1", name, before}},
            true};
}

class generator {
public:
    static std::vector<foreign_value> all() {
        generator made;
        made.strings_at_the_key();
        made.lives_at_the_key();
        made.sets_at_the_key();
        made.records();
        made.queues();
        made.counters();
        made.other_types();
        made.huge_values();
        return std::move(made.all_);
    }

private:
    void add(std::vector<strings> commands) { all_.push_back({std::move(commands)}); }
    void add_string(const std::string& value) { add({{"SET", "<key>", value, "PX", "60000"}}); }
    void add_set(const strings& members) {
        strings command{"ZADD", "<key>"};
        add({joined(command, members), {"PEXPIRE", "<key>", "60000"}});
    }

    void strings_at_the_key() {
        for (const std::string& n : joined(numbers, texts_only)) {
            for (const std::string& value :
                 strings{n, "done:" + n, "done:" + n + ":", "done:" + n + ":x",
                         "permit:" + n + "*1:" + digits, "permit:3*" + n + ":" + digits,
                         "permit:3*1:" + n, "reader:" + n, "writer:" + n, "semaphore:" + n}) {
                add_string(value);
            }
        }
        const std::string label(65, 'x');
        for (const std::string& value : strings{
                 "done:yes", "done:", "permit:", "reader:", digits.substr(1), digits + "0",
                 digits + "@" + label, digits + "@", "reader:" + digits + "@" + label, "<token>0",
                 "reader:<token>", "<token>/2", "a b", "x\r\n+OK\r\n", std::string("a\0b", 3)}) {
            add_string(value);
        }
    }

    /// The ttl of a key is a number, too.
    void lives_at_the_key() {
        for (const std::string& value : strings{digits + "@web", "reader:" + digits,
                                                "permit:3*1:" + digits, "done:1:fx", "<token>"}) {
            add({{"SET", "<key>", value}});
            for (const char* const life :
                 {"5000000000000", "100000000000000000", "9223370000000000000"}) {
                add({{"SET", "<key>", value, "PX", life}});
            }
        }
    }

    void sets_at_the_key() {
        const std::string clock = "-1700000060000";  // The time 1700000000000.
        const std::string later = "1700000060000";
        for (const std::string& n : joined(numbers, scores_only)) {
            add_set({n, "reader:" + digits});
            add_set({n, "<token>"});
            add_set({n, "<token>", later, "reader:" + digits + "@web"});
            add_set({n, "writer:7"});
            add_set({n, "writer:7", later, "<token>"});
            add_set({n, "semaphore:3"});
            add_set({n, "semaphore:3", later, "<token>"});
            add_set({clock, "semaphore:3", n, "<token>"});
            add_set({clock, "semaphore:3", n, "permit:3*1:" + digits, later, "<token>"});
        }
        for (const std::string& n : joined(numbers, texts_only)) {
            add_set({clock, "semaphore:" + n, later, "<token>"});
            add_set({"-1700000000500", "writer:" + n, later, "<token>"});
            add_set({later, "reader:" + digits, "1700000059999", "reader:" + n, "1700000050000",
                     "reader:" + digits.substr(1) + "0"});
            add_set({clock, "semaphore:3", later, "permit:3*" + n + ":" + digits});
        }
        add_set({later, "<token>", later, "<token>/2", later, "x"});
        add({{"ZADD", "<key>", later, "reader:" + digits}});  // Without a ttl.
        add({{"ZADD", "<key>", clock, "semaphore:3", later, "<token>"}});
    }

    void add_record(const std::string& field, const std::string& value) {
        const strings usual{"HSET", "<key>", "v", "1782579200000000",        "d", "x",
                            "e",    "0",     "w", " abc:0:1782579200000000", "n", "1"};
        const strings change = value == "missing" ? strings{"HDEL", "<key>", field}
                                                  : strings{"HSET", "<key>", field, value};
        // No ttl, the last week after the value's end, or a value that has not ended, in turn.
        const std::array<const char*, 3> lives{"", "60000", "700000000"};
        const std::string life = lives.at(all_.size() % lives.size());
        std::vector<strings> commands{usual, change};
        if (!life.empty()) {
            commands.push_back({"PEXPIRE", "<key>", life});
        }
        add(std::move(commands));
    }

    void records() {
        for (const std::string& n : joined(joined(numbers, texts_only), {"missing", "inf"})) {
            for (const char* const field : {"v", "e", "n"}) {
                add_record(field, n);
            }
            add_record("w", " abc:0:" + n);
            add_record("w", " abc:" + n + ":5");
            add_record("w", n);
        }
        for (const char* const field : {"d", "w"}) {
            add_record(field, "missing");
        }
        add_record("more", "x");
    }

    /// The lock is held, so that clients queue. The foreign waiter has a ticket, so it counts as alive.
    void add_queue(std::vector<strings> commands) {
        commands.push_back({"SET", "<key>", digits, "PX", "60000"});
        add(std::move(commands));
    }

    void queues() {
        for (const std::string& n : joined(numbers, texts_only)) {
            const strings ticket{"SET", "<ticket>" + n, "", "PX", "60000"};
            const strings waiting{"SET", "<waiters>:" + n, "", "PX", "60000"};
            add_queue({{"RPUSH", "<queue>", "ticket:" + n}, ticket});
            add_queue({{"RPUSH", "<queue>", "ticket:7", "ticket:" + n, "ticket:8"}, ticket});
            add_queue({{"ZADD", "<waiters>", "1", n + ".1"}, waiting});
            add_queue({{"ZADD", "<waiters>", "1", "7." + n}, waiting});
            add_queue({{"ZADD", "<waiters>", "1", "7.1", "2", n + ".1", "3", "8.1"}, waiting});
        }
        for (const std::string& n : joined(numbers, scores_only)) {
            add_queue({{"ZADD", "<waiters>", n, "7.1"}, {"SET", "<waiters>:7", ""}});
        }
    }

    void counters() {
        for (const std::string& n : joined(numbers, texts_only)) {
            add({{"SET", "<fence>", n, "PX", "60000"}});
        }
    }

    void other_types() {
        for (const char* const name : {"<key>", "<queue>", "<waiters>", "<fence>"}) {
            add({{"RPUSH", name, "x"}});
            add({{"SADD", name, "x"}});
            add({{"HSET", name, "x", "y"}});
            add({{"ZADD", name, "1", "x"}});
            add({{"XADD", name, "*", "x", "y"}});
            add({{"SET", name, "x"}});
            add({{"SETBIT", name, "7", "1"}});
        }
    }

    void huge_values() {
        for (const char* const before :
             {"", "done:", "done:1:", "permit:", "permit:3*1:", "reader:", "<token>", "x"}) {
            all_.push_back(huge("'SET', KEYS[1], value, 'PX', 60000", "<key>", before));
        }
        for (const char* const before :
             {"reader:", "semaphore:", "permit:3*1:", "writer:", "<token>"}) {
            all_.push_back(huge("'ZADD', KEYS[1], 5, value", "<key>", before));
            all_.push_back(
                huge("'ZADD', KEYS[1], 1700000000000, value, 1700000060000, 'reader:" + digits +
                         "', -1700000060000, 'semaphore:3') "
                         "redis.call('PEXPIRE', KEYS[1], 60000",
                     "<key>", before));
        }
        all_.push_back(huge("'ZADD', KEYS[1], 1700000050000, 'reader:" + digits +
                                "', 1700000055000, value, 1700000060000, 'reader:" + digits +
                                "@web') redis.call('PEXPIRE', KEYS[1], 60000",
                            "<key>", "reader:"));
        for (const char* const field : {"v", "d", "e", "w", "n"}) {
            all_.push_back(
                huge("'HSET', KEYS[1], 'v', '5', 'd', 'x', 'e', '0', 'w', ' abc:0:5', 'n', "
                     "'1', '" +
                         std::string(field) + "', value",
                     "<key>", std::string(field) == "w" ? " abc:0:" : "1"));
        }
        all_.push_back(huge("'RPUSH', KEYS[1], value", "<queue>", "ticket:"));
        all_.push_back(huge("'ZADD', KEYS[1], 1, value", "<waiters>", "7."));
        all_.push_back(huge("'SET', KEYS[1], value", "<fence>", ""));
    }

    std::vector<foreign_value> all_;
};

std::string replaced(std::string text, std::string_view from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

/// Returns the other name of a lock with two names.
std::string second_name(const std::string& name) {
    return "{" + name + "}2";
}

/// Returns the commands that write the value under a name. They replace what is there.
std::vector<strings> commands_for(const foreign_value& value, const std::string& name,
                                  const std::string& token) {
    std::vector<strings> result{
        {"DEL", name, kinds::queue_key(name), kinds::waiters_key(name), kinds::fence_key(name)}};
    if (value.commands.empty()) {
        result.front().push_back(second_name(name));
    }
    for (strings command : value.commands) {
        for (std::string& word : command) {
            word = replaced(std::move(word), "<key>", name);
            word = replaced(std::move(word), "<queue>", kinds::queue_key(name));
            word = replaced(std::move(word), "<ticket>", kinds::ticket_prefix(name));
            word = replaced(std::move(word), "<waiters>", kinds::waiters_key(name));
            word = replaced(std::move(word), "<fence>", kinds::fence_key(name));
            word = replaced(std::move(word), "<token>", token);
        }
        result.push_back(std::move(command));
    }
    return result;
}

std::string text_of(const foreign_value& value) {
    std::string result;
    for (const strings& command : value.commands) {
        for (const std::string& word : command) {
            result += word + ' ';
        }
        result += "| ";
    }
    return result;
}

/// The ids of the client's connections. The only connections that track keys are those that carry commands.
strings connections(const redis_server& server) {
    strings result;
    std::istringstream lines(server.command({"CLIENT", "LIST"}).value());
    for (std::string line; std::getline(lines, line);) {
        const bool is_tracking = line.find(" flags=t") != std::string::npos;
        if (is_tracking && line.find(" name=colock ") != std::string::npos) {
            result.push_back(line.substr(0, line.find(' ')));
        }
    }
    return result;
}

/// No operation has to end well in this time. Each has reached the server by then.
constexpr auto moment = 15ms;

lock_options impatient(bool fencing = false, queue_order order = queue_order::hint) {
    lock_options result = with_ttl(1min);
    result.fencing = fencing;
    result.order = order;
    result.unavailable_timeout = moment;
    return result;
}

template <typename Lock>
asio::awaitable<void> try_it(Lock lock) {
    if (lease held = co_await lock.try_acquire_for(moment)) {
        co_await held.release();
    }
    if (lease held = co_await lock.try_acquire()) {
        co_await held.release();
    }
}

/// The reader's side of a shared mutex.
struct reading {
    shared_mutex lock;

    auto try_acquire_for(milliseconds time) const { return lock.try_acquire_shared_for(time); }
    auto try_acquire() const { return lock.try_acquire_shared(); }
    auto acquire() const { return lock.acquire_shared(); }
};

/// Several permits of a semaphore.
struct several {
    semaphore lock;

    auto try_acquire_for(milliseconds time) const { return lock.try_acquire_for(2, time); }
    auto try_acquire() const { return lock.try_acquire(2); }
    auto acquire() const { return lock.acquire(2); }
};

asio::awaitable<void> run_once(client& locks, std::string name) {
    once_options options;
    options.lock = impatient();
    auto body = []() -> asio::awaitable<std::string> { co_return "result"; };
    auto call = once(locks, name, body, options, asio::cancel_after(moment, asio::use_awaitable));
    co_await std::move(call);
}

asio::awaitable<void> read_and_write(client& locks, std::string name) {
    versioned_options options;
    options.unavailable_timeout = moment;
    options.longest_value = std::size_t{64} << 10U;
    const versioned value(locks, name, options);
    std::uint64_t version = 0;
    try {
        version = (co_await value.read()).version;
    } catch (const lock_error&) {  // The write comes all the same.
    }
    co_await value.compare_exchange(version, "y");
    co_await value.compare_exchange(7, "y");
    co_await value.erase(version);
}

/// Everything that can be done with a name, on a client.
class every_operation {
public:
    explicit every_operation(client& locks) : locks_(locks) {
        for (const bool fencing : {false, true}) {
            const auto hint = impatient(fencing);
            const auto fifo = impatient(fencing, queue_order::fifo);
            add([&locks, hint](const std::string& name) { return mutex(locks, name, hint); });
            add([&locks, fifo](const std::string& name) { return mutex(locks, name, fifo); });
            add([&locks, hint](const std::string& name) {
                return shared_mutex(locks, name, hint);
            });
            add([&locks, hint](const std::string& name) {
                return reading{shared_mutex(locks, name, hint)};
            });
        }
        add([&locks](const std::string& name) { return semaphore(locks, name, 3, impatient()); });
        add([&locks](const std::string& name) {
            return several{semaphore(locks, name, 3, impatient())};
        });
        add([&locks](const std::string& name) {
            const strings names{name, second_name(name)};
            return multi_mutex(locks, names, impatient());
        });
        add_other([&locks](std::string name) { return run_once(locks, std::move(name)); });
        add_other([&locks](std::string name) { return read_and_write(locks, std::move(name)); });
        add_other(
            [&locks](std::string name) -> asio::awaitable<void> { co_await locks.inspect(name); });
        for (const std::string& holder :
             strings{digits, "reader:" + digits, "permit:3*1:" + digits, "writer:7"}) {
            add_other([&locks, holder](std::string name) -> asio::awaitable<void> {
                co_await locks.break_lock(name, holder);
            });
        }
    }

    /// All operations meet the value, each under a name of its own. Other values may be met at the same time.
    asio::awaitable<void> meet(const foreign_value& value, const redis_server& server) {
        const std::string names = "foreign-" + std::to_string(++values_met_) + "-";
        const std::size_t at_once = value.is_huge ? 6 : jobs_.size();
        for (std::size_t i = 0; i < jobs_.size(); i += at_once) {
            co_await meet(value, server, names, i, std::min(i + at_once, jobs_.size()));
        }
    }

    [[nodiscard]] const strings& details() const noexcept { return details_; }

private:
    using job = std::function<asio::awaitable<void>(std::string)>;

    struct holding {
        std::string name;
        lease held;
        std::string token = "reader:" + digits;
        std::string detached;
    };

    struct entry {
        job run;
        std::function<asio::awaitable<lease>(std::string)> hold;  // Empty if nothing is held.
        bool detaches = false;
    };

    template <typename Make>
    void add(Make make) {
        jobs_.push_back({[make](std::string name) { return try_it(make(name)); }, {}, false});
        const auto hold = [make](std::string name) -> asio::awaitable<lease> {
            const auto lock = make(name);
            co_return co_await lock.acquire();
        };
        for (const bool detaches : {false, true}) {
            jobs_.push_back({{}, hold, detaches});
        }
    }
    void add_other(job run) { jobs_.push_back({std::move(run), {}, false}); }

    asio::awaitable<void> meet(const foreign_value& value, const redis_server& server,
                               std::string names, std::size_t first, std::size_t last) {
        std::vector<strings> commands;
        std::vector<holding> all(last - first);
        std::vector<std::shared_ptr<background>> begun;
        for (std::size_t i = first; i != last; ++i) {
            holding& one = all[i - first];
            one.name = names + std::to_string(i);
            add_to(commands, commands_for({}, one.name, ""));
        }
        static_cast<void>(server.replies(commands));
        for (std::size_t i = first; i != last; ++i) {
            if (jobs_[i].hold) {
                auto begins = hold(jobs_[i], all[i - first]);
                begun.push_back(co_await start(std::move(begins)));
            }
        }
        co_await end_of(begun);
        commands.clear();
        for (const holding& one : all) {
            add_to(commands, commands_for(value, one.name, one.token));
        }
        static_cast<void>(server.replies(commands));
        begun.clear();
        for (std::size_t i = first; i != last; ++i) {
            holding& one = all[i - first];
            auto begins = jobs_[i].hold ? use(one) : jobs_[i].run(one.name);
            begun.push_back(co_await start(std::move(begins)));
        }
        co_await end_of(begun);
        commands.clear();
        for (const holding& one : all) {
            add_to(commands, commands_for({}, one.name, ""));
        }
        static_cast<void>(server.replies(commands));
    }

    static void add_to(std::vector<strings>& all, const std::vector<strings>& more) {
        all.insert(all.end(), more.begin(), more.end());
    }

    static asio::awaitable<void> hold(entry& what, holding& to) {
        to.held = co_await what.hold(to.name);
        to.token = to.held.token();
        if (what.detaches) {
            to.detached = co_await to.held.detach();
        }
    }

    /// Extends and releases a lease whose value is gone, or adopts it before.
    asio::awaitable<void> use(holding& of) {
        if (!of.detached.empty()) {
            of.held = co_await adopt(locks_, of.detached, impatient());
        }
        try {
            co_await of.held.extend(2min);
        } catch (const lock_error& failure) {
            details_.emplace_back(failure.what());
        }
        co_await of.held.release();
    }

    /// Each operation may end with an error of its name.
    asio::awaitable<void> end_of(const std::vector<std::shared_ptr<background>>& all) {
        co_await async_wait_until(
            [&] { return std::ranges::all_of(all, [](const auto& one) { return one->done; }); });
        for (const auto& one : all) {
            try {
                if (one->thrown) {
                    std::rethrow_exception(one->thrown);
                }
            } catch (const boost::system::system_error& failure) {
                details_.emplace_back(failure.what());
            }
        }
    }

    client& locks_;
    std::size_t values_met_ = 0;
    std::vector<entry> jobs_;
    strings details_;
};

bool is_about_connection(const std::string& details) {
    return details.find("unexpected reply") != std::string::npos ||
           details.find("connection lost") != std::string::npos;
}

/// Leases of other names on the same client.
struct others {
    asio::awaitable<void> acquire(client& locks) {
        for (std::size_t i = 0; i != 100; ++i) {
            const mutex lock(locks, "other-" + std::to_string(i), with_ttl(1min));
            leases.push_back(co_await lock.acquire());
        }
    }
    [[nodiscard]] bool are_valid() const {
        return std::ranges::all_of(leases, [](const lease& one) { return one.valid(); });
    }
    [[nodiscard]] bool are_held(const redis_server& server) const {
        return std::ranges::all_of(leases, [&](const lease& one) {
            return server.command({"GET", std::string(one.resource())}) == one.token();
        });
    }
    std::vector<lease> leases;
};

config calm(const std::string& uri) {
    config result = config::from_uris({uri});
    result.restart_quarantine = result.failover_quarantine = 0ms;
    result.silence_timeout = result.instance_timeout = 1min;
    result.max_reply_size = std::size_t{128} << 10U;  // Huge values exceed it.
    return result;
}

/// It takes longer on a busy machine.
constexpr auto longest = 550s;

asio::awaitable<void> meet_all(config configuration, const redis_server& server, std::size_t step) {
    client locks(co_await asio::this_coro::executor, std::move(configuration));
    co_await all_ready(locks);
    others untouched;
    co_await untouched.acquire(locks);
    strings before = connections(server);
    BOOST_TEST_REQUIRE(before.size() == 1U);
    every_operation operations(locks);
    std::vector<foreign_value> values = generator::all();
    if (step != 1) {
        std::erase_if(values, [](const foreign_value& one) { return one.is_huge; });
    }
    for (std::size_t i = 0; i < values.size();) {
        std::string texts;
        std::vector<std::shared_ptr<background>> met;
        const std::size_t known = operations.details().size();
        do {  // Most of the time passes while operations wait, so several values are met at once.
            texts += text_of(values[i]) + "; ";
            auto meeting = operations.meet(values[i], server);
            met.push_back(co_await start(std::move(meeting)));
            i += step;
        } while (i < values.size() && met.size() != 16 && !values[i].is_huge);
        BOOST_TEST_CONTEXT(texts) {
            co_await async_wait_until(
                [&] { return std::ranges::all_of(met, [](const auto& one) { return one->done; }); },
                longest);
            for (const auto& one : met) {
                if (one->thrown) {
                    std::rethrow_exception(one->thrown);
                }
            }
            for (std::size_t k = known; k != operations.details().size(); ++k) {
                BOOST_TEST(!is_about_connection(operations.details()[k]), operations.details()[k]);
            }
            const strings now = connections(server);
            BOOST_TEST(now == before, boost::test_tools::per_element());
            before = now;
            BOOST_TEST_REQUIRE(untouched.are_valid());
        }
    }
    BOOST_TEST(untouched.are_held(server));
    untouched.leases.clear();
    co_await locks.close();
}

BOOST_AUTO_TEST_CASE(foreign_values_end_no_connection_and_no_lease_of_another_name) {
    const redis_server server;
    run_test(meet_all(calm(server.uri()), server, 1), longest);
}

/// The scripts and the replies are the same on a Cluster, so this meets every seventh value, and no huge one.
BOOST_AUTO_TEST_CASE(foreign_values_end_no_connection_to_a_cluster) {
    redis_cluster cluster(1);
    run_test(meet_all(calm(cluster.uri(1)), cluster[0], 7), longest);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
