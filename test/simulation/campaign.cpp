// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/campaign.hpp"

#include "simulation/schedule.hpp"

#include <array>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

namespace colock::simulation {
namespace {

/// Returns the faults that a model must cause if it runs often enough.
std::array<bool, fault_count> expected_of(const fault_model& m) {
    std::array<bool, fault_count> result{};
    const auto expect = [&result](bool in_force, std::initializer_list<fault> faults) {
        for (const fault f : faults) {
            result[static_cast<std::size_t>(f)] |= in_force;
        }
    };
    expect(true, {fault::withdrawn});
    expect(m.slow_messages > 0, {fault::slow_message, fault::late_grant});
    expect(m.error_replies > 0, {fault::error_reply});
    expect(m.second_connections > 0, {fault::reordered});
    expect(m.resets > 0, {fault::reset_before, fault::reset_after, fault::refused});
    expect(m.resets > 0 && m.stragglers > 0, {fault::straggler});
    expect(m.partitions > 0, {fault::partition, fault::partition_to_server,
                              fault::partition_to_client, fault::flapping});
    expect(m.instance_pauses > 0, {fault::instance_pause});
    expect(m.restarts_with_data > 0, {fault::restart_with_data});
    expect(m.restarts_without_data > 0, {fault::restart_without_data});
    expect(m.rollbacks > 0, {fault::rollback});
    expect(m.quarantine > duration::zero(), {fault::quarantined});
    expect(m.failovers > 0 && m.dead_masters > 0, {fault::failover_from_dead});
    expect(m.failovers > 0 && m.dead_masters < 1, {fault::failover_from_alive});
    expect(m.failovers > 0 && m.quarantine > duration::zero(), {fault::lock_lost});
    expect(m.failovers > 0, {fault::renewal_lost});
    expect(m.replication_cuts > 0, {fault::replication_cut});
    expect(m.sentinel_cuts > 0, {fault::sentinel_cut});
    expect(m.slot_moves > 0, {fault::slot_move, fault::moved});
    expect(m.slot_migrations > 0, {fault::slot_migration, fault::asked, fault::divided});
    expect(m.memory_shortages > 0, {fault::out_of_memory});
    expect(m.rights_lost > 0, {fault::right_lost});
    expect(m.write_refusals > 0, {fault::writes_refused});
    expect(m.scripts_lost > 0, {fault::scripts_lost});
    expect(m.names_taken > 0, {fault::name_taken});
    expect(m.restarts_with_data > 0 || m.scripts_lost > 0, {fault::sent_again});
    expect(m.clock_jumps > 0, {fault::clock_jump_forward, fault::clock_jump_back});
    expect(m.clock_rates > 0.001, {fault::clock_drift});
    expect(m.foreign_deletes > 0, {fault::foreign_delete});
    expect(m.foreign_expiries > 0, {fault::foreign_expiry});
    expect(m.client_pauses > 0, {fault::client_pause, fault::client_hiccup});
    expect(m.client_crashes > 0, {fault::client_crash});
    expect(m.client_closes > 0, {fault::client_close});
    expect(m.cancellations > 0, {fault::cancellation});
    return result;
}

class runner {
public:
    explicit runner(const campaign& c) : campaign_(c) {}

    campaign_result run() {
        const auto begin = std::chrono::steady_clock::now();
        for (const known_seed& known : campaign_.known_seeds) {
            run(known.seed, *known.profile);
        }
        result_.known_seeds = campaign_.known_seeds.size();
        result_.profile = campaign_.profile != nullptr ? campaign_.profile->name : "of each seed";
        result_.seeds = {campaign_.seeds.first, campaign_.seeds.first};
        for (std::uint64_t seed = campaign_.seeds.first; seed <= campaign_.seeds.last; ++seed) {
            const bool is_late =
                campaign_.time && std::chrono::steady_clock::now() - begin >= *campaign_.time;
            if (is_late || result_.failures.size() >= campaign_.most_failures) {
                break;
            }
            run(seed, campaign_.profile != nullptr ? *campaign_.profile : profile_of(seed));
            result_.seeds.last = seed;
        }
        result_.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        find_missing();
        return std::move(result_);
    }

private:
    void run(std::uint64_t seed, const profile& p) {
        result r = run_schedule(p, seed, false);
        ++result_.schedules;
        result_.sum.add(r.tally);
        schedules_[p.name] += 1;
        tally& sum = sums_[p.name];
        sum.add(r.tally);
        if (!r.violations.empty()) {
            result_.failures.push_back({seed, std::string(p.name), std::move(r.violations[0])});
        }
    }

    void find_missing() {
        constexpr std::uint64_t often_enough = 500;
        for (const auto& [name, count] : schedules_) {
            if (count < often_enough || !result_.failures.empty()) {
                continue;
            }
            const tally& sum = sums_[name];
            const auto expected = expected_of(find_profile(name)->faults);
            for (std::size_t i = 0; i != fault_count; ++i) {
                if (expected[i] && sum.faults[i] == 0) {
                    result_.missing.push_back(std::string(simulation::name(static_cast<fault>(i))) +
                                              " in " + std::string(name));
                }
            }
            if (sum.acquisitions == 0 || sum.renewals == 0) {
                result_.missing.push_back("acquisitions or renewals in " + std::string(name));
            }
            if (sum.downgrades == 0 || sum.shares == 0 || sum.entries == 0) {
                result_.missing.push_back("downgrades, shares or entries in " + std::string(name));
            }
            if (sum.adopted == 0) {
                result_.missing.push_back("adopted leases in " + std::string(name));
            }
            if (sum.detached == 0 || sum.releases_told == 0) {
                result_.missing.push_back("detached leases or outcomes of releases in " +
                                          std::string(name));
            }
            if (sum.several == 0) {
                result_.missing.push_back("leases with several names in " + std::string(name));
            }
            if (sum.results_new == 0 || sum.results_found == 0) {
                result_.missing.push_back("results of once in " + std::string(name));
            }
            if (sum.ordered == 0) {
                result_.missing.push_back("leases whose order binds in " + std::string(name));
            }
            if (sum.records_read == 0 || sum.writes_applied == 0 || sum.writes_refused == 0) {
                result_.missing.push_back("reads or writes of records in " + std::string(name));
            }
        }
    }

    const campaign& campaign_;
    campaign_result result_;
    std::map<std::string_view, std::uint64_t> schedules_;
    std::map<std::string_view, tally> sums_;
};

}  // namespace

campaign_result run_campaign(const campaign& c) {
    return runner(c).run();
}

}  // namespace colock::simulation
