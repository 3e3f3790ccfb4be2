// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_RECORD_WORK_HPP
#define COLOCK_TEST_SIMULATION_RECORD_WORK_HPP

#include "simulation/record_checker.hpp"
#include "simulation/time.hpp"
#include "simulation/world.hpp"

#include "core/write.hpp"
#include "instance/batch.hpp"
#include "runtime/operations/record_operation.hpp"
#include "runtime/record_spec.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock::simulation {

class client;

/// A read or a write of a record, and its caller.
class record_call final : public runtime::record_operation {
public:
    /// Called when the caller gets the result.
    using handler = std::function<void(const record_life& life)>;

    record_call(client& by, std::shared_ptr<const runtime::record_spec> spec,
                const runtime::record_request& request, handler on_finished);

    void deliver() override;

    [[nodiscard]] const std::shared_ptr<record_life>& life() const { return life_; }

private:
    client& client_;
    handler on_finished_;
    std::shared_ptr<record_life> life_;
};

/// The users of a client that read, write, erase and update records.
class record_work {
public:
    record_work(world& w, client& by) : world_(w), client_(by) {}

    /// Lets users work on these records until `end`. From time to time they read the key of a lock.
    void start(const std::vector<std::string>& records, const std::vector<std::string>& locks,
               true_time end);

    /// Starts an operation. Sometimes its caller cancels it.
    void begin(const std::shared_ptr<const runtime::record_spec>& on,
               const runtime::record_request& request, record_call::handler on_finished);

    /// Called when the operation has ended and its caller gets the result.
    void on_delivered(const record_call& one);
    /// Called when the client has ended.
    void stop() { running_.clear(); }

    void expect_in_time() const;
    /// Returns the number of operations that have not ended.
    [[nodiscard]] std::size_t running() const { return running_.size(); }

private:
    struct user {
        std::vector<std::shared_ptr<const runtime::record_spec>> records;
        std::vector<std::shared_ptr<const runtime::record_spec>> locks;
        std::vector<std::uint64_t> known;  // The latest version seen, by record.
    };

    [[nodiscard]] std::shared_ptr<const runtime::record_spec> some_spec(const std::string& name);
    void think(user& u);
    void work(user& u);
    void write(user& u, std::size_t which);
    void update(user& u, std::size_t which, std::size_t tries);
    [[nodiscard]] record_call::handler learning(user& u, std::size_t which);

    world& world_;
    client& client_;
    std::deque<user> users_;
    true_time end_{};
    bool hurries_ = false;  // Short pauses, so records soon drop earlier writes.
    std::vector<std::shared_ptr<record_call>> running_;
};

}  // namespace colock::simulation

#endif
