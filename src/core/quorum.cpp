#include "core/quorum.hpp"

namespace colock::core {

void round::clear() {
    ballots_.assign(ballot{});
    granted_ = denied_ = failed_ = 0;
    details_.clear();
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
    if (v.detail) {
        details_.resize(instances());
        details_[index] = v.detail;
    }
    return true;
}

void round::fail_silent(failure reason) {
    for (std::size_t i = 0; i != instances(); ++i) {
        record(i, vote::failed(reason));
    }
}

std::optional<vote> round::vote_of(std::size_t index) const {
    const ballot& b = ballots_[index];
    if (!b.cast) {
        return std::nullopt;
    }
    return vote{
        b.kind, b.reason, b.key, {unknown_remaining}, details_.empty() ? nullptr : details_[index]};
}

}  // namespace colock::core
