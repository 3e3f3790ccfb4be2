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

/// A copy of a read or of a write, as a server has executed it.
struct record_execution {
    true_time at{};
    stored_record before{};
    stored_record after{};
    std::size_t writes_before = 0;  ///< to that record
};

/// What the checker knows of a read or a write of a record.
struct record_life {
    std::string client{};
    std::string key{};
    runtime::record_request request{};
    core::milliseconds ttl{};        ///< of the value that it writes; 0: it does not end
    core::duration patience{};       ///< how long it may look for an answer; 0: a single attempt
    core::duration longest_pause{};  ///< before that begins
    true_time started{};
    std::size_t writes_at_start = 0;  ///< to that record
    std::vector<record_execution> executions{};
    bool is_told = false;                          ///< a copy has brought the outcome
    std::optional<core::write_outcome> outcome{};  ///< once its caller was told
    true_time ended{};
    stored_record reported{};
};

/// Sees each execution of a read or a write inside a server: the record before it and after it. The rules:
///
/// - *versions*: a version names one state. Each new version is larger than all that were written before: after an erase, after the end
///   of a value, and after a restart or a failover that has lost writes. Not counted are losses of data at a server whose clock was
///   set back, and two masters that write in the same microsecond.
/// - *register*: a write is carried out from the version that it expects. Each operation takes effect at one of its executions, between
///   its start and its end. So a record is linearizable.
/// - *verdict*: an outcome is true. One that was applied was carried out as it reports. One that was refused was not carried out, and
///   never is. Nor is one that its instance did not take. An outcome is unknown in time only if the record cannot know it.
/// - *once*: a write is carried out once at most, however many copies are sent. Not counted are servers that have lost data, for this
///   rule and for refusals.
/// - *nothing after the outcome*: no copy is sent after one that has brought the outcome.
/// - *tombstone*: a key outlives its value by a week.
class record_checker {
public:
    record_checker(world& w, std::vector<std::unique_ptr<voter>>& voters)
        : world_(w), voters_(voters) {}

    /// Its caller starts it.
    void on_started(record_life& life);
    /// Its client sends a copy.
    void on_sent(const record_life& life);
    /// A server has executed a copy.
    void on_executed(record_life& life, const stored_record& before, const stored_record& after,
                     const std::string& server);
    /// Its caller is told how it ended.
    void on_told(const record_life& life);

private:
    /// A state that a record has had, and the server that has written it.
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
    std::map<std::string, std::size_t> writes_;                           // by key
    std::map<std::string, std::map<std::uint64_t, known_state>> states_;  // by key and version
};

}  // namespace colock::simulation

#endif
