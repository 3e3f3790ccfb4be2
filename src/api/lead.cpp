// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/lead.hpp>

#include "core/backoff.hpp"

#include <random>
#include <utility>

namespace colock {
inline namespace v1 {
namespace detail {
namespace {

using std::chrono::steady_clock;

constexpr core::backoff pauses{core::milliseconds(100), core::milliseconds(5000)};

}  // namespace

void candidacy::begin_term() noexcept {
    began_ = steady_clock::now();
    has_led_ = true;
}

void candidacy::end_term(const lease& held) noexcept {
    try {
        has_resigned_ = !held.loss();
    } catch (...) {  // out of memory for the details of a loss
        has_resigned_ = false;
    }
}

bool candidacy::goes_on_after(const boost::system::error_code& why) const noexcept {
    return !has_resigned_ && (why == condition::contended || why == condition::lost ||
                              why == errc::no_quorum || why == errc::too_slow);
}

steady_clock::duration candidacy::next_delay() {
    if (std::exchange(has_led_, false) && steady_clock::now() - began_ > pauses.maximum) {
        failures_ = 0;
    }
    std::uint64_t seed = std::random_device()();
    return std::chrono::duration_cast<steady_clock::duration>(
        pauses.delay(failures_++, core::next_random(seed)));
}

}  // namespace detail
}  // namespace v1
}  // namespace colock
