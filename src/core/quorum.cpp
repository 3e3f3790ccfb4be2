#include "core/quorum.hpp"

#include <utility>

namespace colock::core {

void round::clear() {
    votes_.assign(vote{});
    voted_.assign(false);
    granted_ = denied_ = failed_ = 0;
}

bool round::record(std::size_t index, vote v) {
    if (voted_[index]) {
        return false;
    }
    voted_[index] = true;
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
    votes_[index] = std::move(v);
    return true;
}

void round::fail_silent(failure reason) {
    for (std::size_t i = 0; i != instances(); ++i) {
        record(i, vote::failed(reason));
    }
}

}  // namespace colock::core
