// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/lock_options.hpp>

#include <colock/error.hpp>

#include "api/options_check.hpp"

#include <chrono>
#include <string>

namespace colock {
inline namespace v1 {

using detail::check_at_most;
using detail::check_range;
using std::chrono::milliseconds;

namespace {

/// Throws `config_error` for a margin that leaves a lease too little time to be used, or to be renewed.
void check_loss_margin(milliseconds margin, milliseconds ttl, milliseconds renew) {
    check_range("loss_margin", margin, milliseconds(0), std::chrono::hours(24));
    if (margin > ttl / 2) {
        throw config_error("loss_margin", detail::to_text(margin) + " exceeds half of the ttl (" +
                                              detail::to_text(ttl / 2) +
                                              "). Lower it or raise the ttl");
    }
    if (margin + renew > ttl * 3 / 4) {
        throw config_error("loss_margin",
                           detail::to_text(margin) + " and the renewal interval of " +
                               detail::to_text(renew) + " exceed 3/4 of the ttl (" +
                               detail::to_text(ttl * 3 / 4) +
                               "). Lower the margin, renew earlier or raise the ttl");
    }
}

}  // namespace

void lock_options::validate() const {
    constexpr milliseconds least(1);
    detail::check_ttl("ttl", ttl);
    if (renew && *renew != milliseconds(0)) {
        check_range("renew", *renew, milliseconds(0), std::chrono::hours(24));
        if (*renew > ttl / 2) {
            throw config_error("renew", detail::to_text(*renew) + " exceeds half of the ttl (" +
                                            detail::to_text(ttl / 2) +
                                            "). Renew earlier or raise the ttl");
        }
    }
    if (loss_margin) {
        check_loss_margin(*loss_margin, ttl, renew_interval());
    }
    check_range("max_hold", max_hold, milliseconds(0), std::chrono::hours(24 * 365));
    check_range("retry.maximum", retry.maximum, least, std::chrono::minutes(1));
    check_range("retry.initial", retry.initial, least, std::chrono::minutes(1));
    check_at_most("retry.initial", retry.initial, "retry.maximum", retry.maximum);
    check_range("handoff_time", handoff_time, milliseconds(0), std::chrono::hours(1));
    if (order != queue_order::hint && order != queue_order::fifo) {
        throw config_error("order", std::to_string(static_cast<int>(order)) +
                                        " is no order. Use queue_order::hint or queue_order::fifo");
    }
    check_range("unavailable_timeout", unavailable_timeout, milliseconds(0), std::chrono::hours(1));
}

}  // namespace v1
}  // namespace colock
