// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/measurement.hpp"
#include "benchmark/workloads.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;  // The same clock in all processes of a machine.
using std::chrono::milliseconds;

struct contest {
    std::size_t processes = 1;
    std::size_t tasks = 16;  ///< In each process.
    milliseconds hold{5};
    std::size_t handoff_limit = 64;

    [[nodiscard]] std::size_t contenders() const { return processes * tasks; }
};

/// One visit, as its holder saw it. The times are microseconds of the machine's steady clock.
struct visit {
    double asked = 0;
    double granted = 0;
    double let_go = 0;
};

/// One of the processes. It records the visits of its tasks between `start` and `end`.
class contender {
public:
    contender(const contest& rules, const std::vector<std::string>& instances,
              clock::time_point start, clock::time_point end)
        : rules_(rules), start_(start), end_(end), locks_(context_, configuration_for(instances)) {}

    nlohmann::json operator()() {
        run_tasks(context_, locks_, rules_.tasks, [this] { return contend(); });
        nlohmann::json list = nlohmann::json::array();
        for (const visit& each : visits_) {
            list.push_back({each.asked, each.granted, each.let_go});
        }
        return {{"holds", std::move(list)}, {"cpu_us", cpu_.count()}};
    }

private:
    asio::awaitable<void> contend() {
        co_await wait_until_ready(locks_);
        asio::steady_timer timer(context_, start_);
        co_await timer.async_wait(asio::use_awaitable);
        cpu_before_ = cpu_time();
        lock_options options;
        options.ttl = lock_ttl;
        options.handoff_limit = rules_.handoff_limit;
        const mutex lock(locks_, lock_name(0), options);
        while (clock::now() < end_) {
            visit mine;
            mine.asked = to_us(clock::now().time_since_epoch());
            lease held = co_await lock.acquire();
            mine.granted = to_us(clock::now().time_since_epoch());
            timer.expires_after(rules_.hold);
            co_await timer.async_wait(asio::use_awaitable);
            mine.let_go = to_us(clock::now().time_since_epoch());
            visits_.push_back(mine);
            if (co_await held.release() != release_result::released) {
                throw std::runtime_error("a lease was lost");
            }
        }
        cpu_ = cpu_time() - cpu_before_;  // The last task sets the final value.
    }

    contest rules_;
    clock::time_point start_;
    clock::time_point end_;
    asio::io_context context_{1};
    client locks_;
    std::chrono::microseconds cpu_before_{};
    std::chrono::microseconds cpu_{};
    std::vector<visit> visits_;
};

/// Returns the figures over all holds of all processes.
nlohmann::json figures_of(std::vector<visit>& all, double cpu_us, const contest& rules) {
    std::ranges::sort(all, {}, &visit::granted);
    std::vector<double> gaps;
    std::vector<double> waits;
    for (std::size_t i = 0; i != all.size(); ++i) {
        waits.push_back(all[i].granted - all[i].asked);
        if (i != 0) {
            gaps.push_back(all[i].granted - all[i - 1].let_go);
        }
    }
    if (gaps.empty()) {
        throw std::runtime_error("nobody got the lock from another");
    }
    if (std::ranges::min(gaps) < 0) {
        throw std::runtime_error("two had the lock at once");
    }
    const double gap = percentile(gaps, 0.5);
    const auto contenders = static_cast<double>(rules.contenders());
    const double fair = contenders * (to_us(rules.hold) + gap);
    const double p99 = percentile(waits, 0.99);
    const double longest = std::ranges::max(waits);
    return {{"gap_p50_us", gap},
            {"gap_p99_us", percentile(gaps, 0.99)},
            {"wait_p50_us", percentile(waits, 0.5)},
            {"wait_p99_us", p99},
            {"longest_wait_us", longest},
            {"fair_share_us", fair},
            {"wait_p99_of_fair_share", p99 / fair},
            {"longest_wait_of_fair_share", longest / fair},
            {"holds", all.size()},
            {"client_cpu_s_per_10000", cpu_us / 1e6 / static_cast<double>(all.size()) * 10'000}};
}

/// Returns the figures for the answers of the processes.
nlohmann::json judge(const std::vector<nlohmann::json>& answers, const contest& rules) {
    std::vector<visit> all;
    double cpu_us = 0;
    for (const nlohmann::json& each : answers) {
        cpu_us += each.at("cpu_us").get<double>();
        for (const nlohmann::json& times : each.at("holds")) {
            all.push_back({times.at(0), times.at(1), times.at(2)});
        }
    }
    return figures_of(all, cpu_us, rules);
}

nlohmann::json run_colock_once(test::servers& servers, const contest& rules,
                               milliseconds duration) {
    servers.flush();
    // All clients are connected by then.
    const auto start = clock::now() + std::chrono::seconds(1);
    std::vector<std::function<nlohmann::json()>> works;
    for (std::size_t i = 0; i != rules.processes; ++i) {
        works.emplace_back(
            [&] { return contender(rules, servers.uris(), start, start + duration)(); });
    }
    return judge(in_child_processes(works), rules);
}

nlohmann::json run_peer_once(const peer& who, const contest& rules, campaign& all) {
    all.servers().flush();
    orders work = make_orders(all.options(), all.servers(), all.servers().size(), rules.tasks);
    work.duration = all.options().hold_duration;
    return judge({run_peer_on_hot_key(who, work, rules.hold)}, rules);
}

}  // namespace

void run_hot_key_hold(campaign& all) {
    const table t{
        "hot_key_hold",
        "all want one lock all the time, and hold it for 5 ms; with two processes, for no "
        "time. The gap is from letting\ngo to the next one's grant; the fair share is the "
        "wait when each has its turn.",
        {"processes", "concurrency", "hold_ms"},
        {{"gap_p50_us", "gap p50 us", 6, 0},
         {"wait_p99_us", "wait p99 us"},
         {"fair_share_us", "fair share us"},
         {"wait_p99_of_fair_share", "wait p99/fair", 5, 2},
         {"longest_wait_of_fair_share", "longest/fair", 5, 2},
         {"client_cpu_s_per_10000", "CPU s/10000", 5, 2}},
        ""};
    print_heading(t);
    for (const contest& rules :
         {contest{1, 16, milliseconds(5), 64}, contest{2, 1, milliseconds(0), 1},
          contest{16, 1, milliseconds(5), 64}}) {
        std::vector<contestant> contestants{
            {"colock",
             [&] { return run_colock_once(all.servers(), rules, all.options().hold_duration); }}};
        for (const peer& each : all.options().peers) {
            if (rules.processes == 1 && !each.needs_one_instance) {
                contestants.push_back({each.name, [&] { return run_peer_once(each, rules, all); }});
            }
        }
        all.measure(t,
                    {{"processes", rules.processes},
                     {"concurrency", rules.tasks},
                     {"hold_ms", rules.hold.count()}},
                    contestants);
    }
}

}  // namespace colock::benchmark
