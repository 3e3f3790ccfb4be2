// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_ONCE_CHECKER_HPP
#define COLOCK_TEST_SIMULATION_ONCE_CHECKER_HPP

#include "simulation/request.hpp"
#include "simulation/stored_key.hpp"
#include "simulation/time.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include "core/settlement.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::simulation {

/// The checker's data about a call of `once`.
struct once_life {
    std::string client{};
    std::string key{};
    std::string fingerprint{};
    core::milliseconds keep{};
    true_time started{};
    std::string record{};           ///< Set once its body has returned.
    std::uint64_t recorded_by = 0;  ///< Instances that report that they have it.
    std::uint64_t refused_by = 0;   ///< Instances that report that they refuse it.
};

/// Checks the names of `once` on each server, before and after each command, and the results that callers
/// get. The rules:
///
/// - `compare and set`: A record replaces only the token that has run the name. Only a `heal` may create a
///   record where there is no value. A name that has a record keeps it. A look changes nothing, and its reply
///   is true.
/// - `keep`: A new record lives as long as its call requests. No other command changes the end of a record.
/// - `result`: A caller gets a record only if a quorum has shown this record to its client. A body with the
///   caller's fingerprint has returned it. A mismatch is reported if and only if the fingerprints differ.
/// - `once`: No body begins under a valid lease while a quorum must still have a result that a caller got. A
///   later call gets no other result either. Instances that have lost data since then, or whose clock was set
///   forward, do not count.
/// - `outcome`: An outcome is unknown only if no quorum has reported that it has the record. If the record
///   was refused, the refusals rule out a quorum.
/// - `not recorded`: If a caller is told that its result is not recorded, no instance has it at that moment, and
///   none gets it later.
class once_checker {
public:
    once_checker(world& w, std::vector<std::unique_ptr<voter>>& voters)
        : world_(w), voters_(voters) {}

    /// Records that an instance has executed a command. If `counts` is set, later commands see the new value.
    void on_executed(std::size_t instance, const request& what, const core::vote& answer,
                     const result_change& change, bool counts);
    /// Records the reply of an instance that was sent the record.
    static void on_answer(once_life& life, std::size_t instance, const core::vote& v);

    /// Records that a body begins under a valid lease.
    void on_body(const once_life& life);
    /// Records that the body has returned the record.
    void on_returned(const once_life& life);
    /// Checks the result that the caller gets from this record.
    void on_told(const once_life& life, const std::string& record);
    /// Checks a report that the record belongs to another request.
    void on_mismatch(const once_life& life, const std::string& record);
    /// Checks an outcome in which the record may not be stored. If `is_unknown` is false, the caller is told that
    /// no instance has it or will have it.
    void on_unstored(const once_life& life, core::settlement_outcome outcome, bool is_unknown);

private:
    /// A record that a body has returned.
    struct result {
        once_life by{};
        true_time told = true_time::max();
        bool is_denied = false;  ///< Its caller was told that nothing is recorded.
        /// By instance: when the record was stored, and how long it must last.
        std::map<std::size_t, std::pair<true_time, true_time>> copies{};
    };

    void expect_swap(std::size_t instance, const request& what, const core::vote& answer,
                     const result_change& change);
    void expect_answer(std::size_t instance, const request& what, const core::vote& answer,
                       const result_change& change);
    void expect_shown(const once_life& life, const std::string& record);
    [[nodiscard]] std::size_t remembering(const result& one) const;
    /// Returns the result that a quorum must still have and that a caller got before that time. Returns null
    /// if there is none.
    [[nodiscard]] const result* kept(const std::string& key, true_time told_before) const;
    void fail(const std::string& rule, const once_life& life, const std::string& what);
    void fail_at(std::size_t instance, const std::string& rule, const std::string& what);

    world& world_;
    std::vector<std::unique_ptr<voter>>& voters_;
    std::map<std::string, std::map<std::string, result>> results_;  // By key and record.
    /// By client and record: the instances that have shown it.
    std::map<std::pair<std::string, std::string>, std::uint64_t> shown_;
};

}  // namespace colock::simulation

#endif
