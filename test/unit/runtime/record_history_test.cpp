// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The history of two records in random worlds. Production clients and the production scripts run on a small
// Redis. The network loses requests and replies, and delivers copies late or twice. The server clock jumps,
// and the server loses data.
//
// The checker sees each execution of a script inside the server, with the record before and after it. It
// checks these rules:
//
// - A version names one state. Each new version is larger than all earlier ones, whatever was lost.
// - A write is executed from the version that it expects, and at most once.
// - Each operation takes effect at one of its executions, between its start and its end. A record is
//   therefore linearizable.
// - Each verdict is true: applied, refused and never executed, or unknown. It is unknown only if necessary.
// - No copy is sent after the outcome was reported.
//
// Broken variants of the script and of the client show that the checker detects errors.

#include "core/backoff.hpp"
#include "instance/redis/decode.hpp"
#include "kinds/scripts.hpp"
#include "kinds/versioned/versioned.hpp"
#include "resp/reader.hpp"
#include "resp/writer.hpp"
#include "runtime/operations/record_operation.hpp"
#include "runtime/record_spec.hpp"
#include "support/small_redis/play.hpp"
#include "virtual_world.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::time_point;
using core::vote;
using core::vote_kind;
using core::write_outcome;
using small_redis::wall_microseconds;

/// The error of a client variant, injected between the client and the network.
enum class client_mutant { none, new_id, blames_others, goes_on_after_refusal };

struct mutant {
    std::string name;
    std::string replaced{};  // A text in write.lua.
    std::string by{};
    client_mutant client = client_mutant::none;
};

std::ostream& operator<<(std::ostream& out, const mutant& m) {
    return out << m.name;
}

const std::string hybrid_clock = "math.max(record.version + step, time[1] * 2 ^ 20 + time[2])";

const std::vector<mutant> mutants{
    {"version 1 after an erase", hybrid_clock, "record.has_value and record.version + 1 or 1"},
    {"a counter without a clock", hybrid_clock, "record.version + step"},
    {"a clock without a counter", hybrid_clock, "time[1] * 2 ^ 20 + time[2]"},
    {"the id is not looked up", "if made then", "if false then"},
    {"the history is not kept", "kept = kept .. ' '", "kept = ' '"},
    {"refused where it is unknown", "is_certain and 'r ' or 'u '", "'r '"},
    {"any older version is certain", "expected >= tonumber(oldest)", "true"},
    {"values are compared", "if expected ~= record.version then",
     "if expected ~= record.version and redis.call('hget', key, 'd') == value then return "
     "record.version end\nif expected ~= record.version then"},
    {"the version is not compared", "if expected ~= record.version then", "if false then"},
    {"the end of a value has no version of its own", "record.left >= 0 and 2 or 1", "1 or 1"},
    {"the end of a value is no change", "(has_ended and 1 or 0)", "0"},
    {"each copy has a new id", "", "", client_mutant::new_id},
    {"the client blames others", "", "", client_mutant::blames_others},
    {"a copy is sent after the refusal", "", "", client_mutant::goes_on_after_refusal},
};

/// The content of a record, parsed independently by the test.
struct state {
    std::uint64_t version = 0;
    std::optional<std::string> value{};
    friend bool operator==(const state&, const state&) = default;
};

struct execution {
    time_point at;
    state before;
    state after;
    std::size_t writes_before;  // To that record.
};

/// The data of an operation that the checker needs.
struct operation_life {
    std::string key;
    runtime::record_request request;
    time_point started{};
    time_point ended = core::never;
    std::optional<write_outcome> outcome;
    state reported;
    std::vector<execution> executions;
    std::size_t writes_at_start = 0;
    bool is_told = false;       // A copy has brought the outcome.
    bool was_answered = false;  // It has ended by a vote that was not a failure.
};

/// The server, the history, and the first error in it.
class history {
public:
    explicit history(const mutant& m) {
        for (const kinds::script* one : {&kinds::scripts::read, &kinds::scripts::write}) {
            std::string text(one->text);
            const auto at = m.replaced.empty() ? std::string::npos : text.find(m.replaced);
            if (at != std::string::npos) {
                text.replace(at, m.replaced.size(), m.by);
                is_applied = true;
            }
            digests_.emplace_back(one->digest, digest_of(text));
            server.add_script(digests_.back().second,
                              std::make_shared<const std::string>(std::move(text)));
        }
    }

    /// The small Redis compiles each script once, so each variant needs a digest of its own. It has the usual
    /// length.
    [[nodiscard]] std::string with_own_digests(std::string command) const {
        for (const auto& [usual, own] : digests_) {
            if (const auto at = command.find(usual); at != std::string::npos) {
                command.replace(at, usual.size(), own);
            }
        }
        return command;
    }

    state look(const std::string& key, wall_microseconds wall) {
        const std::string reply = server.execute(wall, {"HMGET", key, "v", "d", "e"});
        resp::cursor values(reply);
        values.next();
        const resp::value version = values.next();
        if (version.type == resp::type::null) {
            return {};
        }
        state result;
        result.version = std::stoull(std::string(version.text));
        const resp::value data = values.next();
        std::string value(data.text);
        const bool is_erased = values.next().text == "1";
        const std::string left = server.execute(wall, {"PTTL", key});
        const long milliseconds = std::stol(left.substr(1));
        constexpr long week = 7L * 24 * 3600 * 1000;
        if (is_erased) {
            return result;
        }
        if (milliseconds >= 0 && milliseconds <= week) {
            ++result.version;
        } else {
            result.value = std::move(value);
        }
        return result;
    }

    /// Runs a command of an operation.
    std::string run(operation_life& of, const std::string& bytes, time_point at,
                    wall_microseconds wall) {
        state before = look(of.key, wall);
        note(of.key, before);
        small_redis::session connection(server);
        connection.receive(bytes, wall);
        state after = look(of.key, wall);
        std::size_t& writes = writes_[of.key];
        of.executions.push_back({at, before, after, writes});
        if (after.version != before.version) {
            ++writes;
            if (of.request.expected != before.version || !of.request.writes ||
                of.request.value != after.value) {
                fail("a write was carried out from another version than it expects");
            }
            if (after.version <= largest_version(of.key)) {
                fail("version " + std::to_string(after.version) + " is not new");
            }
            states_[of.key].emplace(after.version, after);
        } else if (after.value != before.value) {
            fail("a value was changed without a new version");
        }
        note(of.key, after);
        return connection.output();
    }

    /// Records an observed state. A value may have expired since the last observation. If the clock was set
    /// back, it may exist again. After a loss of data, an older state may appear.
    void note(const std::string& key, const state& now) {
        const auto [known, is_new] = states_[key].try_emplace(now.version, now);
        if (!is_new) {
            if (!(known->second == now)) {
                fail("a version names two states");
            }
            return;
        }
        const auto before = states_[key].find(now.version - 1);
        const bool has_ended =
            !now.value && before != states_[key].end() && before->second.value.has_value();
        if (!has_ended && now.version != 0) {
            fail("a version came from nowhere");
        }
    }

    void data_were_lost(small_redis::keyspace rest) {
        server.replace_keys(std::move(rest));
        was_lost = true;
    }

    void judge(const operation_life& of) {
        const auto changes = std::ranges::count_if(
            of.executions, [](const execution& e) { return e.after.version != e.before.version; });
        const auto in_time = [&](const auto& is_so) {
            return std::ranges::any_of(of.executions, [&](const execution& e) {
                return e.at >= of.started && e.at <= of.ended && is_so(e);
            });
        };
        if (changes > 1 && !was_lost) {
            fail("a write was carried out twice");
        }
        if (!of.outcome) {
            fail("an operation has not ended");
            return;
        }
        ++outcomes[*of.outcome];
        switch (*of.outcome) {
            case write_outcome::applied:
                if (!of.request.writes) {
                    if (!in_time([&](const execution& e) { return e.before == of.reported; })) {
                        fail("a read reports a state that was not there");
                    }
                } else if (!in_time([&](const execution& e) {
                               return e.before.version == of.request.expected &&
                                      e.after == of.reported;
                           })) {
                    fail("a write that was not carried out is said to be applied");
                }
                break;
            case write_outcome::refused:
                if (changes != 0 && !was_lost) {
                    fail("a write that was carried out is said to be refused");
                }
                if (!in_time([&](const execution& e) { return e.before == of.reported; })) {
                    fail("a refusal reports a state that was not there");
                }
                break;
            case write_outcome::unavailable:
            case write_outcome::wrong_kind:
                if (changes != 0) {
                    fail("a write that was carried out is said not to be");
                }
                break;
            case write_outcome::unknown: {
                const bool is_early = of.ended - of.started < timeout;
                if (is_early && !was_lost && should_remember(of)) {
                    fail("an outcome is unknown that the record should remember");
                }
                break;
            }
            case write_outcome::cancelled:
            case write_outcome::closed:
                break;
        }
    }

    void fail(std::string what) {
        if (!fault) {
            fault = std::move(what);
        }
    }

    [[nodiscard]] std::size_t writes(const std::string& key) { return writes_[key]; }

    static constexpr core::duration timeout = 400ms;

    small_redis::server server;
    std::optional<std::string> fault;
    bool is_applied = false;
    bool was_lost = false;

    std::map<write_outcome, std::size_t> outcomes;

private:
    std::uint64_t largest_version(const std::string& key) {
        return states_[key].empty() ? 0 : states_[key].rbegin()->first;
    }

    /// Returns true if the write expected the version of the record, and only few writes followed.
    static bool should_remember(const operation_life& of) {
        const auto last_in_time =
            std::find_if(of.executions.rbegin(), of.executions.rend(),
                         [&](const execution& e) { return e.at <= of.ended; });
        if (last_in_time == of.executions.rend()) {
            return false;
        }
        const execution& last = *last_in_time;
        return last.writes_before - of.writes_at_start < kinds::remembered_writes &&
               of.request.expected >= of.executions.front().before.version &&
               of.request.expected <= last.before.version;
    }

    static std::string digest_of(const std::string& text) {
        constexpr std::size_t digits = 40;
        std::string result = std::to_string(std::hash<std::string>()(text));
        result.resize(digits, '0');
        return result;
    }

    std::vector<std::pair<std::string, std::string>> digests_;
    std::map<std::string, std::size_t> writes_;
    std::map<std::string, std::map<std::uint64_t, state>>
        states_;  // By version, whatever was lost.
};

struct world : virtual_world {
    world(unsigned seed, const mutant& m) : told(m), random(seed), wrong(m.client) {}

    [[nodiscard]] wall_microseconds wall() const {
        const auto passed = now() - time_point(std::chrono::hours(1000));
        return small_redis::start_of_time + skew +
               std::chrono::duration_cast<std::chrono::microseconds>(passed).count();
    }
    std::uint64_t roll(std::uint64_t sides) { return random() % sides; }
    bool rolls(unsigned percent) { return roll(100) < percent; }
    core::duration up_to(core::duration most) {
        return core::duration(
            static_cast<core::duration::rep>(roll(static_cast<std::uint64_t>(most.count()) + 1)));
    }

    history told;
    std::mt19937_64 random;
    client_mutant wrong;
    wall_microseconds skew = 0;
    wall_microseconds latest_wall = 0;
};

/// An operation that records its result.
class noted_operation final : public runtime::record_operation {
public:
    noted_operation(world& in, std::shared_ptr<const runtime::record_spec> spec,
                    const runtime::record_request& request)
        : record_operation(spec, request), world_(in) {
        life.key = spec->key;
        life.request = request;
        life.started = in.now();
        life.writes_at_start = in.told.writes(life.key);
    }

    void deliver() override {
        life.ended = world_.now();
        life.outcome = result();
        life.reported = {version(), take_value()};
        done = true;
    }

    operation_life life;
    bool done = false;

private:
    world& world_;
};

/// The path from a client to the server, with its faults.
class bad_network final : public instance::instance {
public:
    explicit bad_network(world& in) : world_(in) {}

    void start() override {}
    void stop() override {}
    void send(const std::shared_ptr<const colock::instance::batch>& commands,
              time_point /*now*/) override {
        for (const auto& one : commands->submissions()) {
            pass_on(one);
        }
    }
    [[nodiscard]] bool ready() const noexcept override { return true; }
    [[nodiscard]] bool starting() const noexcept override { return false; }
    [[nodiscard]] colock::instance::status snapshot() const override { return {}; }

private:
    void answer(const colock::instance::submission& to, vote with, core::duration after) {
        world_.after(after, [this, to, with = std::move(with)] {
            to.receiver->on_vote(0, to.tag, with, world_.now());
        });
    }

    void pass_on(const colock::instance::submission& one) {
        if (!one.receiver->wanted(0, one.tag)) {
            answer(one, vote::failed(core::failure::withdrawn), 0ms);
            return;
        }
        if (world_.now() < down_until_) {
            answer(one, vote::failed(core::failure::down), 0ms);
            return;
        }
        auto* const sender = dynamic_cast<noted_operation*>(one.receiver);
        const auto of = std::static_pointer_cast<noted_operation>(sender->self());
        if (of->life.is_told) {
            world_.told.fail("a copy was sent after the outcome was told");
        }
        const std::string bytes = encoded(one);
        const core::duration there = world_.up_to(2ms);
        const unsigned what = static_cast<unsigned>(world_.roll(100));
        if (what < 70) {
            execute(of, bytes, there, one);
        } else if (what < 74) {  // It is delivered twice.
            execute(of, bytes, there, one);
            execute(of, bytes, there + world_.up_to(150ms), std::nullopt);
        } else {
            if (what < 88) {  // The reply is lost.
                execute(of, bytes, there, std::nullopt);
            } else if (what < 94) {  // The request is delayed.
                execute(of, bytes, there + world_.up_to(300ms), std::nullopt);
            }
            answer(one, vote::failed(core::failure::connection_lost), there + world_.up_to(3ms));
            if (world_.rolls(50)) {
                down_until_ = world_.now() + world_.up_to(350ms);
            }
        }
    }

    std::string encoded(const colock::instance::submission& one) {
        kinds::command command = one.command;
        const std::string another = "ff" + std::to_string(++copies_);
        if (world_.wrong == client_mutant::new_id && !command.token.empty()) {
            command.token = another;
        }
        std::string buffer;
        resp::command_writer writer(buffer);
        command.kind->encode(command, {}, kinds::script_form::digest, writer);
        return world_.told.with_own_digests(std::string(writer.text()));
    }

    void execute(const std::shared_ptr<noted_operation>& of, const std::string& bytes,
                 core::duration after, std::optional<colock::instance::submission> reply_to) {
        world_.after(after, [this, of, bytes, reply_to] {
            world_.latest_wall = std::max(world_.latest_wall, world_.wall());
            const std::string reply = world_.told.run(of->life, bytes, world_.now(), world_.wall());
            if (!reply_to || of->done) {
                if (reply_to) {
                    answer(*reply_to, vote::failed(core::failure::connection_lost), 0ms);
                }
                return;
            }
            resp::reader reader(std::size_t{1} << 20U);
            reader.read(reply);
            vote said = colock::instance::redis::decode(reply_to->command, reader.root());
            if (said.kind == vote_kind::failed) {
                world_.told.fail("the server said " + (said.detail ? *said.detail : ""));
            }
            world_.after(world_.up_to(2ms), [this, of, reply_to, said]() mutable {
                of->life.is_told =
                    said.kind == vote_kind::granted || said.key == core::key_state::foreign;
                if (said.kind == vote_kind::denied) {
                    if (world_.wrong == client_mutant::blames_others) {
                        said.key = core::key_state::foreign;
                    } else if (world_.wrong == client_mutant::goes_on_after_refusal) {
                        said = vote::failed(core::failure::connection_lost);
                    }
                }
                reply_to->receiver->on_vote(0, reply_to->tag, said, world_.now());
            });
        });
    }

    world& world_;
    time_point down_until_ = time_point::min();
    std::size_t copies_ = 0;
};

/// Reads and writes two records at random.
class client {
public:
    client(world& in, std::uint64_t seed) : world_(in), environment_(in, seed) {
        engine_ = std::make_shared<runtime::engine>(environment_, runtime::engine_settings());
        environment_.engine = engine_.get();
        runtime::instance_group::list instances;
        instances.push_back(std::make_unique<bad_network>(in));
        engine_->take(std::move(instances));
        engine_->start();
        engine_->observer().on_state_change(0);
        for (std::size_t i = 0; i != specs_.size(); ++i) {
            auto spec = std::make_shared<runtime::record_spec>();
            spec->owner = {engine_, &engine_->parts()};
            spec->kind = &kinds::versioned;
            spec->key = i < 2 ? "often" : "rarely";
            spec->ttl = i % 2 == 0 ? 0ms : 30ms;
            spec->retry = {1ms, 16ms};
            spec->unavailable_timeout = history::timeout;
            specs_.at(i) = std::move(spec);
        }
    }
    ~client() { engine_->abandon(); }
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    void begin(time_point until) {
        if (world_.now() >= until) {
            return;
        }
        const std::size_t which = world_.rolls(80) ? world_.roll(2) : 2 + world_.roll(2);
        std::uint64_t& known = known_.at(which / 2);
        runtime::record_request request;
        request.writes = world_.rolls(65);
        if (request.writes) {
            if (world_.rolls(80)) {
                request.value = std::to_string(world_.roll(3));
            }
            request.expected = world_.rolls(90) ? known : world_.rolls(50) ? 0 : known + 1;
        }
        const auto one = std::make_shared<noted_operation>(world_, specs_.at(which), request);
        all_.push_back(one);
        one->start(one);
        if (world_.rolls(5)) {
            world_.after(world_.up_to(5ms), [one] { one->cancel(); });
        }
        wait_for(one, until, known);
    }

    void judge() const {
        for (const auto& one : all_) {
            world_.told.judge(one->life);
        }
    }

private:
    /// Waits for an operation, and remembers the version that it has reported.
    void wait_for(const std::shared_ptr<noted_operation>& one, time_point until,
                  std::uint64_t& known) {
        world_.after(1ms, [this, one, until, &known] {
            if (!one->done) {
                wait_for(one, until, known);
                return;
            }
            if (one->life.outcome == write_outcome::applied ||
                one->life.outcome == write_outcome::refused) {
                known = one->life.reported.version;
            }
            begin(until);
        });
    }

    world& world_;
    virtual_environment environment_;
    std::shared_ptr<runtime::engine> engine_;
    std::array<std::shared_ptr<const runtime::record_spec>, 4> specs_;
    std::array<std::uint64_t, 2> known_{};
    std::vector<std::shared_ptr<noted_operation>> all_;
};

/// Makes the clock jump in both directions while the data remain. If data are lost, the clock is not behind
/// afterwards.
void disturb(world& in, time_point until, bool loses_data) {
    in.after(in.up_to(400ms), [&in, until, loses_data] {
        if (in.now() >= until) {
            return;
        }
        if (!loses_data) {
            in.skew += static_cast<wall_microseconds>(in.roll(40'000'000)) - 20'000'000;
        } else {
            const small_redis::keyspace older = in.told.server.keys();
            in.after(in.up_to(100ms), [&in, older] {
                in.told.data_were_lost(in.rolls(50) ? older : small_redis::keyspace());
                in.skew += std::max<wall_microseconds>(0, in.latest_wall + 1 - in.wall());
            });
        }
        disturb(in, until, loses_data);
    });
}

/// Returns the first error in the history of that seed, or nothing. Counts the outcomes in `seen`.
std::optional<std::string> play(unsigned seed, const mutant& m,
                                std::map<write_outcome, std::size_t>& seen) {
    world all(seed, m);
    const bool loses_data = seed % 3 == 0;
    if (!m.replaced.empty()) {
        BOOST_TEST_REQUIRE(all.told.is_applied, m.name << " is not applied");
    }
    std::vector<std::unique_ptr<client>> clients;
    const time_point until = all.now() + 2s;
    for (std::uint64_t i = 0; i != 4; ++i) {
        clients.push_back(std::make_unique<client>(all, seed * 16ULL + i));
        clients.back()->begin(until);
    }
    if (seed % 3 != 1) {
        disturb(all, until, loses_data);
    }
    all.run_for(4s);
    for (const auto& one : clients) {
        one->judge();
    }
    for (const auto& [outcome, count] : all.told.outcomes) {
        seen[outcome] += count;
    }
    return all.told.fault;
}

constexpr unsigned worlds = 60;

}  // namespace

BOOST_AUTO_TEST_SUITE(record_history)

BOOST_AUTO_TEST_CASE(histories_are_linearizable_and_verdicts_are_true, *label("fault-61")) {
    std::map<write_outcome, std::size_t> seen;
    for (unsigned seed = 0; seed != worlds; ++seed) {
        const auto fault = play(seed, {"none"}, seen);
        BOOST_TEST(!fault, "seed " << seed << ": " << fault.value_or(""));
    }
    for (const write_outcome one : {write_outcome::applied, write_outcome::refused,
                                    write_outcome::unknown, write_outcome::cancelled}) {
        BOOST_TEST(seen[one] > worlds, static_cast<int>(one) << ": " << seen[one]);
        BOOST_TEST_MESSAGE(static_cast<int>(one) << ": " << seen[one]);
    }
}

BOOST_DATA_TEST_CASE(broken_variants_are_noticed, boost::unit_test::data::make(mutants)) {
    std::optional<std::string> fault;
    std::map<write_outcome, std::size_t> seen;
    unsigned seed = 0;
    for (; seed != worlds && !fault; ++seed) {
        fault = play(seed, sample, seen);
    }
    BOOST_TEST(fault.has_value(), sample.name << " was not noticed");
    BOOST_TEST_MESSAGE(sample.name << ": seed " << seed - 1 << ", " << fault.value_or(""));
}

BOOST_AUTO_TEST_SUITE_END()
