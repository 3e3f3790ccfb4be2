// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_RECORD_CHECKER_HPP
#define COLOCK_TEST_SIMULATION_RECORD_CHECKER_HPP

#include "simulation/stored_key.hpp"
#include "simulation/time.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include "core/write.hpp"
#include "runtime/operations/record_operation.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {

/// One execution of a read or a write by a server.
struct record_execution {
    true_time at{};
    stored_record before{};
    stored_record after{};
    std::size_t writes_before = 0;  ///< To that record.
};

/// The checker's data about a read or a write of a record.
struct record_life {
    std::string client{};
    std::string key{};
    runtime::record_request request{};
    core::milliseconds ttl{};        ///< Of the value that it writes. 0: no end.
    core::duration patience{};       ///< How long it may retry. 0: one attempt.
    core::duration longest_pause{};  ///< Before a retry.
    true_time started{};
    std::size_t writes_at_start = 0;  ///< To that record.
    std::vector<record_execution> executions{};
    bool is_told = false;                          ///< A copy has returned the outcome.
    std::optional<core::write_outcome> outcome{};  ///< Set once its caller has got it.
    true_time ended{};
    stored_record reported{};
};

/// Checks each execution of a read or a write inside a server, with the record before and after it. The
/// rules:
///
/// - `versions`: A version identifies one state. Each new version is larger than all earlier ones. This holds
///   after an erase, after the end of a value, and after a restart or a failover that has lost writes. Losses
///   of data at a server whose clock was set back do not count. Neither do two masters that write in the same
///   microsecond.
/// - `register`: A write is carried out from the version that it expects. Each operation takes effect at one
///   of its executions, between its start and its end. Records are therefore linearizable.
/// - `verdict`: An outcome is true. An applied write was carried out as reported. A refused write was not
///   carried out and never is. The same holds for a write that its instance did not accept. An early outcome
///   is unknown only if the record cannot show it.
/// - `once`: A write is carried out once at most, however many copies are sent. For this rule and for
///   refusals, servers that have lost data do not count.
/// - `nothing after the outcome`: No copy is sent after an earlier copy has returned the outcome.
/// - `tombstone`: A key outlives its value by a week.
class record_checker {
public:
    record_checker(world& w, std::vector<std::unique_ptr<voter>>& voters)
        : world_(w), voters_(voters) {}

    /// Records that the caller starts the operation.
    void on_started(record_life& life);
    /// Checks a copy that the client sends.
    void on_sent(const record_life& life);
    /// Records that a server has executed a copy.
    void on_executed(record_life& life, const stored_record& before, const stored_record& after,
                     const std::string& server);
    /// Checks the result that the caller gets.
    void on_told(const record_life& life);

private:
    /// A state of a record, and the server that has written it.
    struct known_state {
        stored_record what;
        std::string server;
    };

    [[nodiscard]] bool has_lost_data() const;
    [[nodiscard]] bool may_recur(std::uint64_t version, const known_state& largest,
                                 const std::string& server) const;
    void note(const std::string& key, const stored_record& now, const std::string& server);
    void expect_new(const std::string& key, const stored_record& after, const std::string& server);
    void expect_true(const record_life& life);
    [[nodiscard]] bool should_remember(const record_life& life) const;
    void fail(const std::string& rule, const record_life& life, const std::string& what);

    world& world_;
    std::vector<std::unique_ptr<voter>>& voters_;
    std::map<std::string, std::size_t> writes_;                           // By key.
    std::map<std::string, std::map<std::uint64_t, known_state>> states_;  // By key and version.
};

}  // namespace colock::simulation

#endif
