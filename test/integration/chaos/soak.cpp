// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/soak.hpp"

#include "integration/chaos/fleet.hpp"
#include "integration/chaos/storm.hpp"
#include "support/deadline.hpp"
#include "support/proxies.hpp"
#include "support/servers.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

namespace colock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t instances = 5;
constexpr std::size_t processes = 4;
constexpr std::size_t tasks_each = 60;
constexpr std::size_t names = 48;  // About five tasks compete for each.
// The longest ttl of a ticket. A client that dies after a long wait leaves one.
constexpr milliseconds longest_ticket = 16s;

constexpr auto step = 5ms;
constexpr auto between_progress = 5s;
constexpr auto between_looks = 1s;
constexpr auto longest_recovery = 30s;

std::chrono::nanoseconds since_boot(steady_clock::time_point time) {
    return time.time_since_epoch();
}

class soak {
public:
    soak(const soak_options& options, const std::atomic<bool>& stop)
        : options_(options),
          stop_(stop),
          ttl_(options.broken == breakage::no_quarantine ? 6s : 2s),
          random_(options.seed),
          clients_(options.client, all_settings()),
          storm_(servers_, network_, clients_, ttl_, options.only, random_engine(random_())) {}

    observations run() {
        observations seen;
        seen.seconds = options_.seconds;
        seen.seed = options_.seed;
        seen.tasks = processes * tasks_each;
        wait_until_well();
        seen.began = since_boot(steady_clock::now());
        rage();
        seen.ended = since_boot(steady_clock::now());
        storm_.calm_down();
        wait_until_well();
        seen.faults = storm_.faults();
        clients_.finish();
        seen.clients = clients_.total();
        seen.keys_at_close = servers_.keys();
        if (!is_broken()) {
            count_leftovers(seen);
        }
        read(seen);
        return seen;
    }

private:
    std::vector<client_settings> all_settings() {
        std::vector<client_settings> all;
        for (std::size_t i = 0; i != processes; ++i) {
            client_settings one;
            one.name = std::to_string(i);
            one.instances = network_.config().instances;
            one.seed = random_();
            one.tasks = tasks_each;
            one.names = names;
            one.ttl_ms = ttl_.count();
            one.quarantine_ms = options_.broken == breakage::no_quarantine ? 0 : ttl_.count();
            one.renews = !is_broken();
            one.hold_past_validity = options_.broken == breakage::hold_past_validity;
            one.sections = file("sections", i).string();
            one.probes = file("probes", i).string();
            all.push_back(one);
        }
        return all;
    }

    [[nodiscard]] bool is_broken() const { return options_.broken != breakage::none; }

    [[nodiscard]] std::filesystem::path file(const std::string& kind, std::size_t client) const {
        return folder_.path() / (kind + std::to_string(client));
    }

    void pass_time() {
        if (stop_) {
            throw interrupted();
        }
        clients_.poll();
        std::this_thread::sleep_for(step);
    }

    /// Waits until all instances are well. This is also needed at the start, because servers that have just
    /// started are quarantined.
    void wait_until_well() {
        const auto deadline = steady_clock::now() + longest_recovery;
        while (!storm_.over()) {
            if (steady_clock::now() > deadline) {
                throw std::runtime_error("the instances do not recover: " + storm_.to_text());
            }
            pass_time();
        }
    }

    void rage() {
        const auto begin = steady_clock::now();
        const auto duration = std::chrono::duration_cast<steady_clock::duration>(
            std::chrono::duration<double>(options_.seconds));
        auto next_progress = begin + between_progress;
        auto next_look = begin + between_looks;
        for (auto now = begin; now < begin + duration; now = steady_clock::now()) {
            storm_.blow(now);
            if (now >= next_progress) {
                tell_progress(now - begin);
                next_progress += between_progress;
            }
            if (is_broken() && now >= next_look) {
                observations so_far;
                read(so_far);
                if (!test::find_overlaps(so_far.sections).empty()) {
                    return;
                }
                next_look = steady_clock::now() + between_looks;
            }
            pass_time();
        }
    }

    void tell_progress(steady_clock::duration passed) const {
        std::size_t faults = 0;
        for (const auto& [kind, count] : storm_.faults()) {
            faults += count;
        }
        const auto so_far = clients_.total();
        std::printf(
            "   %4lld s: %zu sections, %zu faults, %zu leases lost; now %s\n",
            static_cast<long long>(std::chrono::floor<std::chrono::seconds>(passed).count()),
            so_far.sections, faults, so_far.lost, storm_.to_text().c_str());
        std::fflush(stdout);
    }

    /// Counts the keys that remain when no lock can be held any longer.
    void count_leftovers(observations& seen) {
        const auto is_lock = [](const std::string& key) {
            return key.find(":colock:") == std::string::npos;
        };
        seen.leftover_keys = leftovers(is_lock, ttl_ + 1s);
        if (seen.leftover_keys == 0) {
            const auto any = [](const std::string& /*key*/) { return true; };
            seen.leftover_keys = leftovers(any, longest_ticket + 1s);
        }
    }

    /// Waits until no such key is left, for `after` at most. Returns the number of keys that remain.
    template <typename Predicate>
    std::size_t leftovers(Predicate counts, milliseconds after) {
        const auto number = [&] {
            std::size_t result = 0;
            for (const test::redis_server& server : servers_) {
                result += static_cast<std::size_t>(std::ranges::count_if(server.keys(), counts));
            }
            return result;
        };
        try {
            test::wait_until([&] { return stop_ || number() == 0; }, after);
            return 0;
        } catch (const test::deadline_passed&) {
            return number();
        }
    }

    void read(observations& seen) const {
        for (std::size_t i = 0; i != processes; ++i) {
            const auto who = "client " + std::to_string(i);
            std::ranges::move(test::read_sections(file("sections", i), who),
                              std::back_inserter(seen.sections));
            std::ranges::move(test::read_sections(file("probes", i), who),
                              std::back_inserter(seen.probes));
        }
    }

    const soak_options& options_;
    const std::atomic<bool>& stop_;
    const milliseconds ttl_;
    random_engine random_;
    test::temporary_folder folder_;
    // The number of milliseconds after which a script counts as busy and can be killed.
    test::servers servers_{instances, {"--lua-time-limit", "50"}};
    test::proxies network_{servers_};
    fleet clients_;
    storm storm_;
};

}  // namespace

observations run(const soak_options& options, const std::atomic<bool>& stop) {
    return soak(options, stop).run();
}

}  // namespace colock::chaos
