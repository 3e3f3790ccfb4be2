// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Measures the parts of a client separately: the state machines, encoding and decoding, and timers. Also measures
// a client without servers, with and without an observer.

#include <colock/client.hpp>
#include <colock/mutex.hpp>
#include <colock/observer.hpp>

#include "core/lease.hpp"
#include "core/lease_step.hpp"
#include "instance/batch.hpp"
#include "instance/redis/decode.hpp"
#include "instance/redis/encoder.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "platform/fresh_random.hpp"
#include "runtime/environment.hpp"
#include "runtime/loop/timer_queue.hpp"
#include "runtime/token.hpp"

#include <boost/asio/io_context.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace {

using namespace colock;
using namespace std::chrono_literals;
using core::step;

constexpr std::size_t instances = 5;
constexpr core::time_point now{1s};

/// Measures the state machine from the attempt to the last vote on the release.
void lease_machine(benchmark::State& state) {
    using event = core::lease::event;
    using purpose = core::lease_tag::purpose_type;
    core::lease_settings settings;
    settings.instances = instances;
    settings.ttl = 10s;
    settings.instance_timeout = 50ms;
    const core::vote granted = core::vote::granted();
    for (auto _ : state) {
        core::lease machine(settings, 1);
        machine.resume(event::start({}), now);
        for (const purpose what : {purpose::acquire, purpose::release}) {
            for (std::size_t i = 0; i != instances; ++i) {
                benchmark::DoNotOptimize(
                    machine.resume(event::voted(i, core::lease_tag(what), granted), now));
            }
            if (what == purpose::acquire) {
                machine.resume(event::just(event::kind_type::release), now);
            }
        }
    }
}
BENCHMARK(lease_machine);

/// Measures the encoding of a batch in RESP. Half of its commands acquire and half release.
void encode(benchmark::State& state, kinds::native_delete releases) {
    const auto commands = static_cast<std::size_t>(state.range(0));
    instance::redis::server_facts facts;
    facts.capabilities.native_delete = releases;
    const std::string token(22, 't');
    std::deque<std::string> keys;
    const auto batch = std::make_shared<instance::batch>();
    for (std::size_t i = 0; i != commands; ++i) {
        kinds::command one;
        one.kind = &kinds::exclusive;
        one.step = i % 2 == 0 ? step::acquire : step::release;
        one.key = keys.emplace_back("benchmark:" + std::to_string(100'000 + i));
        one.token = token;
        one.ttl = 10s;
        batch->submit({nullptr, 0, core::instance_set::all(), one});
    }
    instance::redis::encoder encoder;
    for (auto _ : state) {
        benchmark::DoNotOptimize(
            encoder.encode(*batch, facts, instance::redis::script_form::shortest));
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(encode, by_script, kinds::native_delete::none)->Arg(1)->Arg(1000);
BENCHMARK_CAPTURE(encode, by_delifeq, kinds::native_delete::delifeq)->Arg(1000);

/// Measures the decoding of the replies to an acquire and to a release.
void decode(benchmark::State& state) {
    const resp::value ok{resp::type::simple_string, "OK", 0};
    const resp::value one{resp::type::number, "1", 0};
    kinds::command acquire;
    acquire.kind = &kinds::exclusive;
    kinds::command release = acquire;
    release.step = step::release;
    for (auto _ : state) {
        benchmark::DoNotOptimize(instance::redis::decode(acquire, ok));
        benchmark::DoNotOptimize(instance::redis::decode(release, one));
    }
    state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(decode);

struct dice final : runtime::environment {
    [[nodiscard]] core::time_point now() const noexcept override { return {}; }
    void defer() override {}
    void wake_at(core::time_point /*when*/) override {}
    std::uint64_t random() noexcept override { return numbers(); }

    platform::fresh_random numbers;
};

/// Measures the generation of several tokens in one turn.
void token(benchmark::State& state) {
    dice world;
    for (auto _ : state) {
        for (auto i = state.range(0); i != 0; --i) {
            benchmark::DoNotOptimize(runtime::token(world, {}, {}));
        }
        world.numbers.refresh();
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(token)->Arg(1)->Arg(100);

struct alarm final : runtime::timed {
    void on_time(core::time_point /*now*/) override {}
};

/// Measures setting and clearing a timer among `others` timers.
void timer(benchmark::State& state) {
    const auto others = static_cast<std::size_t>(state.range(0));
    runtime::timer_queue queue;
    queue.run(now);
    std::deque<alarm> alarms(others + 1);
    core::duration after = 1ms;
    for (std::size_t i = 0; i != others; ++i) {
        after = after * 5 % 30s + 1ms;
        queue.set(alarms[i], now + after);
    }
    for (auto _ : state) {
        queue.set(alarms.back(), now + 3s);
        queue.clear(alarms.back());
    }
    for (alarm& each : alarms) {
        queue.clear(each);
    }
}
BENCHMARK(timer)->Arg(0)->Arg(100'000);

class deaf final : public observer {};

/// Measures an acquire and its release on memory instances: all the work of the client, without a connection.
void cycle(benchmark::State& state) {
    boost::asio::io_context context(1);
    config configuration;
    for (auto i = state.range(0); i != 0; --i) {
        configuration.instances.push_back("memory://" + std::to_string(i));
    }
    if (state.range(1) != 0) {
        configuration.observer = std::make_shared<deaf>();
    }
    client locks(context, configuration);
    const mutex lock(locks, "x");
    for (auto _ : state) {
        bool is_released = false;
        lock.acquire([&](const error& /*none*/, lease held) {
            held.release([&](const error& /*none*/, release_result) { is_released = true; });
        });
        while (!is_released) {
            context.run_one();
        }
    }
}
BENCHMARK(cycle)
    ->ArgNames({"instances", "observer"})
    ->ArgsProduct({{1, 3}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
