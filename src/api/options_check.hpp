// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_OPTIONS_CHECK_HPP
#define COLOCK_API_OPTIONS_CHECK_HPP

#include <colock/error.hpp>
#include <colock/lock_options.hpp>

#include "core/validity.hpp"
#include "kinds/kind.hpp"
#include "runtime/client_context.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace colock {
inline namespace v1 {
namespace detail {

/// A duration for an error's text: "1500 ms".
inline std::string to_text(std::chrono::milliseconds d) {
    return std::to_string(d.count()) + " ms";
}

/// A size or a number for an error's text.
inline std::string to_text(std::size_t n) {
    return std::to_string(n);
}

/// Throws `config_error` unless `least <= value <= most`.
template <typename T>
void check_range(std::string_view field, T value, std::type_identity_t<T> least,
                 std::type_identity_t<T> most) {
    if (value < least || value > most) {
        throw config_error(std::string(field), to_text(value) + " is out of range (" +
                                                   to_text(least) + " to " + to_text(most) + ")");
    }
}

/// Throws `config_error` if `value` is more than the other field `limit_name`.
inline void check_at_most(std::string_view field, std::chrono::milliseconds value,
                          std::string_view limit_name, std::chrono::milliseconds limit) {
    if (value > limit) {
        const std::string name(limit_name);
        throw config_error(std::string(field), to_text(value) + " exceeds " + name + " (" +
                                                   to_text(limit) + "). Lower it or raise " + name);
    }
}

inline constexpr std::size_t longest_resource = 65536;

/// Throws `config_error` for a name that is empty or too long.
inline void check_resource(std::string_view resource) {
    if (resource.empty()) {
        throw config_error("resource", "the name is empty. Name what the lock protects");
    }
    if (resource.size() > longest_resource) {
        throw config_error("resource", "the name has " + std::to_string(resource.size()) +
                                           " bytes, which exceeds the limit of " +
                                           std::to_string(longest_resource) +
                                           ". Use a shorter name");
    }
}

/// The shortest ttl leaves something after drift, the longest is one that is meant.
inline void check_ttl(std::string_view field, std::chrono::milliseconds ttl) {
    check_range(field, ttl, std::chrono::milliseconds(10), std::chrono::hours(24));
}

/// Throws `config_error` for an order of the waiters that is not possible with that kind, or with so many instances.
inline void check_order(const lock_options& options, const kinds::lock_kind& kind,
                        std::size_t instances) {
    if (options.order == queue_order::hint) {
        return;
    }
    if (!kind.traits().orders_waiters) {
        throw config_error(
            "order", "fifo is only possible for mutex and reentrant_mutex. Use one of them, or "
                     "queue_order::hint");
    }
    if (instances > 1) {
        throw config_error(
            "order", "fifo with " + to_text(instances) +
                         " instances is not possible, since they may order waiters differently. "
                         "Use one server, Sentinel or a Cluster, or queue_order::hint");
    }
}

/// Throws `config_error` if the client's drift leaves nothing of the ttl, or nothing before the loss margin. Such a lock
/// would never be valid.
inline void check_drift(std::chrono::milliseconds ttl, const core::drift_bound& drift,
                        std::optional<core::duration> loss_margin) {
    if (drift.of(ttl) < ttl) {
        if (loss_margin && drift.of(ttl) + core::loss_notice(ttl, loss_margin) >= ttl) {
            throw config_error(
                "loss_margin",
                "the margin and the client's allowance for clock drift leave nothing of the ttl (" +
                    to_text(ttl) + "). Lower the margin or raise the ttl");
        }
        return;
    }
    const auto all =
        std::chrono::duration<double, std::milli>(drift.minimum) / (1.0 - drift.factor);
    throw config_error("ttl", to_text(ttl) +
                                  " is not more than the client's allowance for clock drift (" +
                                  to_text(std::chrono::floor<std::chrono::milliseconds>(all)) +
                                  ", from drift_factor and drift_minimum). Raise the ttl");
}

/// Throws `config_error` for a ttl that is longer than one of the client's quarantines, unless that is 0.
inline void check_quarantine(std::chrono::milliseconds ttl,
                             const runtime::quarantine_lengths& longest) {
    const auto is_too_long = [ttl](std::chrono::milliseconds quarantine) {
        return quarantine.count() != 0 && ttl > quarantine;
    };
    std::string exceeded;
    int count = 0;
    const auto check = [&](const char* name, std::chrono::milliseconds quarantine) {
        if (is_too_long(quarantine)) {
            exceeded += (count++ == 0 ? "" : " and ") + std::string(name) + " (" +
                        to_text(quarantine) + ")";
        }
    };
    check("restart_quarantine", longest.restart);
    check("failover_quarantine", longest.failover);
    if (count != 0) {
        throw config_error("ttl",
                           to_text(ttl) + " exceeds the client's " + exceeded +
                               (count == 1 ? ". Raise the quarantine" : ". Raise both") +
                               " or shorten the ttl. For one run per period, use once with the "
                               "period in its key");
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
