// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/round.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace colock::core {

void round::clear() {
    ballots_.assign(ballot{});
    granted_ = denied_ = failed_ = 0;
    values_.clear();
    remarks_.clear();
}

bool round::record(std::size_t index, const vote& v) {
    if (ballots_[index].cast) {
        return false;
    }
    ballots_[index] = {true, v.kind, v.reason, v.key};
    switch (v.kind) {
        case vote_kind::granted:
            ++granted_;
            break;
        case vote_kind::denied:
            ++denied_;
            break;
        case vote_kind::failed:
            ++failed_;
            break;
    }
    if (v.kind == vote_kind::granted && v.value != 0) {
        values_.resize(instances());
        values_[index] = v.value;
    }
    if (v.detail || v.quarantined_until() != never) {
        remarks_.resize(instances());
        remarks_[index] = {v.detail, v.quarantined_until(),
                           v.kind == vote_kind::denied ? v.remaining : unknown_remaining};
    }
    return true;
}

void round::fail_silent(failure reason) {
    for (std::size_t i = 0; i != instances(); ++i) {
        // mutant: silence_is_consent
        record(i, vote::failed(reason));
    }
}

time_point round::reachable_from() const {
    if (remarks_.empty()) {
        return never;
    }
    std::vector<time_point> from;
    for (std::size_t i = 0; i != instances(); ++i) {
        from.push_back(has_failed(i) ? remarks_[i].quarantined_until : time_point::min());
    }
    const auto last = from.begin() + static_cast<std::ptrdiff_t>(quorum_of(instances()) - 1);
    std::nth_element(from.begin(), last, from.end());
    return *last;
}

bool round::may_recover_at_any_time() const {
    for (std::size_t i = 0; i != instances(); ++i) {
        const failure reason = ballots_[i].reason;
        if (has_failed(i) && reason != failure::down && reason != failure::quarantined) {
            return true;
        }
    }
    return false;
}

common_record round::record() const {
    common_record best;
    const auto has_record = [this](std::size_t i) {
        return has_denied(i) && ballots_[i].key == key_state::completed && remarks_[i].detail;
    };
    for (std::size_t i = 0; i != remarks_.size(); ++i) {
        if (!has_record(i)) {
            continue;
        }
        common_record one;
        one.text = remarks_[i].detail;
        for (std::size_t k = 0; k != remarks_.size(); ++k) {
            if (has_record(k) && *remarks_[k].detail == *one.text) {
                ++one.count;
                one.remaining = std::max(one.remaining, remarks_[k].remaining);
            }
        }
        if (one.count > best.count) {
            best = std::move(one);
        }
    }
    return best;
}

bool round::impossible_by(key_state why) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i != instances(); ++i) {
        count += has_denied(i) && ballots_[i].key == why ? 1U : 0U;
    }
    return count > spare_of(instances());
}

std::optional<vote> round::vote_of(std::size_t index) const {
    const ballot& b = ballots_[index];
    if (!b.cast) {
        return std::nullopt;
    }
    vote result = b.kind == vote_kind::granted  ? vote::granted(value_of(index))
                  : b.kind == vote_kind::denied ? vote::denied(b.key)
                                                : vote::failed(b.reason);
    result.key = b.key;
    if (!remarks_.empty()) {
        result.detail = remarks_[index].detail;
    }
    return result;
}

}  // namespace colock::core
