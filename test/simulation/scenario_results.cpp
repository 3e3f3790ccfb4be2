// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Names that are run once: which result is recorded, and which callers get it.

#include "simulation/once_work.hpp"
#include "simulation/scenario_themes.hpp"

#include "kinds/once/once.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::simulation {
namespace {

constexpr core::milliseconds keep = 2s;

/// A user that calls `once` for one name.
class caller {
public:
    caller(stage& s, std::size_t client, std::string name = stage::key)
        : stage_(s), client_(s.user(client)), name_(std::move(name)) {}

    /// Starts a call. The result arrives later.
    void call(duration body_time, const std::string& fingerprint = "a") {
        answer_ = std::make_shared<answer>();
        const auto made = std::make_shared<once_call>();
        made->lock = stage_.lock();
        made->lock.key = name_;
        made->lock.policy.set_kind(kinds::once);
        made->lock.policy.attempts = 0;
        made->life = std::make_shared<once_life>();
        made->life->fingerprint = fingerprint;
        made->life->keep = keep;
        made->body_time = body_time;
        made->tell = [told = answer_](once_end how, const std::string& record) {
            *told = {how, record};
        };
        client_.once_calls().begin(made);
    }

    [[nodiscard]] bool is_told() const { return answer_->how.has_value(); }
    [[nodiscard]] bool ended_as(once_end how) const { return answer_->how == how; }
    [[nodiscard]] const std::string& record() const { return answer_->record; }

private:
    struct answer {
        std::optional<once_end> how{};
        std::string record{};
    };

    stage& stage_;
    client& client_;
    std::string name_;
    std::shared_ptr<answer> answer_ = std::make_shared<answer>();  // Of the latest call.
};

/// Loads all scripts into the servers, as in servers in use.
void begin(stage& s) {
    caller first(s, 0, "first name");
    first.call(0ms);
    s.run_to(20ms);
    s.expect(first.ended_as(once_end::ran), "a name is run");
}

/// The first client is cut off when its body returns. Its record arrives after its lease has ended. By then,
/// another client runs the name in take 0, and no client does in take 1.
void late_record(stage& s, int take) {
    begin(s);
    caller a(s, 0);
    caller b(s, 1);
    a.call(20ms);
    s.run_to(40ms);
    s.mute(0, {0, 1, 2}, 600ms);
    s.run_to(340ms);
    s.expect(a.ended_as(once_end::unknown), "the first caller does not know the outcome");
    if (take == 0) {
        b.call(400ms);
        s.run_to(650ms);
        s.expect(!b.is_told(), "the second body runs when the late record arrives");
    } else {
        s.run_to(650ms);
        s.expect(s.keys() == 0, "a lease that has ended records nothing");
        b.call(20ms);
    }
    s.run_to(800ms);
    s.expect(b.ended_as(once_end::ran), "the second result is recorded");
    a.call(20ms);
    s.run_to(820ms);
    s.expect(a.ended_as(once_end::found) && a.record() == b.record(), "it is the result of all");
}

/// Two instances store the record, and their replies are lost.
void lost_answers(stage& s, int) {
    begin(s);
    caller a(s, 0);
    a.call(20ms);
    s.run_to(40ms);
    s.deafen(0, {1, 2}, 70ms);
    s.run_to(60ms);
    s.disconnect(0, 1);
    s.disconnect(0, 2);
    s.run_to(150ms);
    s.expect(a.ended_as(once_end::ran), "the record is sent again, and is found to be stored");
}

/// A third party deletes the key on one instance. This instance refuses the record before the others store
/// it.
void refused_by_one(stage& s, int) {
    caller a(s, 0);
    a.call(20ms);
    s.run_to(20ms);
    s.instance(0).delete_key(stage::key);
    s.mute(0, {1, 2}, 40ms);
    s.run_to(30ms);
    s.expect(!a.is_told(), "one refusal decides nothing");
    s.run_to(60ms);
    s.expect(a.ended_as(once_end::ran), "a quorum stores the record");
}

/// Only one instance gets the record, and the client dies. Other clients call after the token has expired in
/// take 0, and before that in take 1.
void minority(stage& s, int take) {
    caller a(s, 0);
    caller b(s, 1);
    a.call(20ms);
    s.run_to(20ms);
    s.mute(0, {1, 2}, 1s);
    if (take == 1) {
        s.run_to(50ms);
        b.call(20ms);
    }
    s.run_to(100ms);
    s.expect(!a.is_told() && !b.is_told(), "the record of a minority is no result");
    s.user(0).crash();
    s.run_to(320ms);
    if (take == 0) {
        b.call(20ms);
    }
    s.run_to(700ms);
    s.expect(b.ended_as(once_end::found), "the record of a minority is healed");
    caller c(s, 2);
    c.call(20ms);
    s.run_to(710ms);
    s.expect(c.ended_as(once_end::found) && c.record() == b.record(), "all get the same result");
    s.run_to(30ms + keep);
    s.expect(s.keys() == 0, "healed copies end with the first one");
}

/// Another request has the same name.
void another_request(stage& s, int) {
    caller a(s, 0);
    caller b(s, 1);
    a.call(20ms);
    s.run_to(10ms);
    b.call(20ms, "b");
    s.run_to(100ms);
    s.expect(a.ended_as(once_end::ran), "the first request has its result");
    s.expect(b.ended_as(once_end::differs), "the other request is told that it is another");
    b.call(20ms);
    s.run_to(110ms);
    s.expect(b.ended_as(once_end::found), "the same request gets the result");
}

}  // namespace

const std::vector<scenario> result_scenarios = {
    {"fault_18_sim_late_result",
     "a result arrives when its lease has ended, and is not recorded",
     {late_record, 2},
     {"once_record_without_token_check", "once_lost_lease_records"},
     with_clients(2)},
    {"fault_61_sim_result_without_answer",
     "the answers to a new record are lost, and it is sent again",
     {lost_answers},
     {"once_record_not_sent_again", "once_same_record_refused"}},
    {"fault_61_sim_result_refused_by_one",
     "one instance refuses a record, and a quorum stores it",
     {refused_by_one},
     {"once_refused_by_a_minority"}},
    {"fault_63_sim_result_of_a_minority",
     "a minority has a result, and its caller has died",
     {minority, 2},
     {"once_minority_is_a_result", "once_recorded_by_a_minority", "once_minority_not_healed",
      "once_healed_copy_lives_anew"},
     with_clients(3)},
    {"fault_61_sim_result_of_another_request",
     "a name has the result of another request",
     {another_request},
     {"once_fingerprint_not_compared"},
     with_clients(2)},
};

}  // namespace colock::simulation
