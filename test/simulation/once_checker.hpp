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

/// What the checker knows of a call of `once`.
struct once_life {
    std::string client{};
    std::string key{};
    std::string fingerprint{};
    core::milliseconds keep{};
    true_time started{};
    std::string record{};           ///< once its body has returned
    std::uint64_t recorded_by = 0;  ///< instances that say that they have it
    std::uint64_t refused_by = 0;   ///< instances that say that they will not have it
};

/// Sees what the names of `once` have at each server, before a command and after it. It also sees what callers are told. The rules:
///
/// - *compare and set*: a record takes the place of the token that has run the name, and of no other value. It takes the place of
///   nothing only when it is healed. A name that has a record keeps it. A look changes nothing, and its answer is true.
/// - *keep*: a new record lives as long as its call wants. No other command changes the end of a record.
/// - *result*: a caller is told a record only if a quorum has shown that one to its client. A body with the caller's fingerprint has
///   returned it. A mismatch is reported if the fingerprints differ, and only then.
/// - *once*: no body begins under a valid lease while a quorum still has to have a result that a caller was told. Nor is another result
///   told to a call that began after that. Not counted are instances that have lost data since, or whose clock was set forward.
/// - *outcome*: an outcome is unknown only if no quorum has answered that it has the record. If the record was refused, it was refused by
///   so many that no quorum can have it.
class once_checker {
public:
    once_checker(world& w, std::vector<std::unique_ptr<voter>>& voters)
        : world_(w), voters_(voters) {}

    /// An instance has executed a command. `counts`: what it has now is what others will find.
    void on_executed(std::size_t instance, const request& what, const core::vote& answer,
                     const result_change& change, bool counts);
    /// Its client hears from an instance that was sent its record.
    static void on_answer(once_life& life, std::size_t instance, const core::vote& v);

    /// Its body begins under a lease that is valid.
    void on_body(const once_life& life);
    /// Its body has returned the record.
    void on_returned(const once_life& life);
    /// Its caller is told the result in that record.
    void on_told(const once_life& life, const std::string& record);
    /// Its caller is told that the record is that of another request.
    void on_mismatch(const once_life& life, const std::string& record);
    /// Its record is not known to be stored.
    void on_unstored(const once_life& life, core::settlement_outcome outcome);

private:
    /// A record that a body has returned.
    struct result {
        once_life by{};
        true_time told = true_time::max();
        /// By instance: when it was stored there, and until when it is to be there.
        std::map<std::size_t, std::pair<true_time, true_time>> copies{};
    };

    void expect_swap(std::size_t instance, const request& what, const core::vote& answer,
                     const result_change& change);
    void expect_answer(std::size_t instance, const request& what, const core::vote& answer,
                       const result_change& change);
    void expect_shown(const once_life& life, const std::string& record);
    [[nodiscard]] std::size_t remembering(const result& one) const;
    /// The result that a quorum still has to have, and that somebody was told before that time. Null if there is none.
    [[nodiscard]] const result* kept(const std::string& key, true_time told_before) const;
    void fail(const std::string& rule, const once_life& life, const std::string& what);
    void fail_at(std::size_t instance, const std::string& rule, const std::string& what);

    world& world_;
    std::vector<std::unique_ptr<voter>>& voters_;
    std::map<std::string, std::map<std::string, result>> results_;  // by key and record
    /// By client and record: the instances that have shown it.
    std::map<std::pair<std::string, std::string>, std::uint64_t> shown_;
};

}  // namespace colock::simulation

#endif
