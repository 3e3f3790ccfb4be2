// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Records: which writes are carried out, and which results their callers get.

#include "simulation/record_work.hpp"
#include "simulation/scenario_themes.hpp"

#include "core/write.hpp"
#include "kinds/versioned/versioned.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {
namespace {

using core::write_outcome;

/// A user of one record that waits for each operation.
class record_user {
public:
    record_user(stage& s, std::size_t client) : stage_(s), client_(s.user(client)) {
        auto made = std::make_shared<runtime::record_spec>();
        made->owner = client_.owner();
        made->kind = &kinds::versioned;
        made->key = "record";
        made->retry = {1ms, 16ms};
        made->unavailable_timeout = 1s;
        spec_ = std::move(made);
    }

    /// Starts the write. The result arrives later.
    void write_from(std::uint64_t version, std::optional<std::string> value) {
        runtime::record_request request;
        request.writes = true;
        request.expected = version;
        request.value = std::move(value);
        begin(request);
    }
    void read() { begin({}); }
    void finish() { stage_.run_to(stage_.now() + 3ms); }

    [[nodiscard]] bool ended_as(write_outcome outcome) const { return outcome_ == outcome; }
    /// Returns the version from the latest result.
    [[nodiscard]] std::uint64_t version() const { return version_; }

private:
    void begin(const runtime::record_request& request) {
        outcome_.reset();
        client_.records().begin(spec_, request, [this](const record_life& life) {
            outcome_ = life.outcome;
            version_ = life.reported.version;
        });
    }

    stage& stage_;
    client& client_;
    std::shared_ptr<const runtime::record_spec> spec_;
    std::optional<write_outcome> outcome_{};
    std::uint64_t version_ = 0;
};

/// Other clients write 14 times afterwards, and one more time with each take. The record remembers 16 writes.
void lost_answer(stage& s, int take) {
    record_user a(s, 0);
    record_user b(s, 1);
    b.write_from(0, "first");
    b.finish();
    s.deafen(0, {0}, 200ms);
    a.write_from(b.version(), "second");
    s.run_for(2ms);
    s.disconnect(0, 0);
    b.read();
    b.finish();
    const int others = 14 + take;
    for (int i = 0; i != others; ++i) {
        b.write_from(b.version(), std::to_string(i));
        b.finish();
    }
    s.expect(b.ended_as(write_outcome::applied), "the others write without a refusal");
    s.run_to(300ms);
    s.expect(a.ended_as(others < 16 ? write_outcome::applied : write_outcome::unknown),
             "the write is recognized as long as the record remembers it");
}

/// After an erase, the clock is set back in take 0, and the server loses its data in take 1.
void stale_write(stage& s, int take) {
    record_user a(s, 0);
    a.write_from(0, "first");
    a.finish();
    const std::uint64_t stale = a.version();
    a.write_from(stale, std::nullopt);
    a.finish();
    s.expect(a.ended_as(write_outcome::applied), "the record is erased");
    if (take == 0) {
        s.instance(0).jump(-300ms);
    } else {
        s.instance(0).restart(1ms, server::data::lost);
        s.run_to(100ms);
        a.read();
        a.finish();
        s.expect(a.version() == 0, "the record is lost");
    }
    for (int i = 0; i != 3; ++i) {
        const std::uint64_t before = a.version();
        a.write_from(before, "again");
        a.finish();
        s.expect(a.ended_as(write_outcome::applied) && a.version() > before && a.version() > stale,
                 "the version grows");
    }
    a.write_from(stale, "stale");
    a.finish();
    s.expect(take == 0 ? a.ended_as(write_outcome::refused) : !a.ended_as(write_outcome::applied),
             "the stale write is not carried out");
}

}  // namespace

const std::vector<scenario> record_scenarios = {
    {"fault_61_sim_write_without_answer",
     "the answer to a write is lost, and others write before it is sent again",
     {lost_answer, 4},
     {"write_refused_where_unknown", "write_history_not_kept", "write_with_a_new_id"},
     with_clients(2, 1)},
    {"fault_62_sim_stale_write",
     "an erased record is written again after the clock was set back, or the data were lost",
     {stale_write, 2},
     {"record_begins_with_version_1", "record_version_by_clock_only",
      "record_version_by_counter_only"},
     with_clients(1, 1)},
};

}  // namespace colock::simulation
