// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_PROMETHEUS_HPP
#define COLOCK_PROMETHEUS_HPP

#include <colock/client.hpp>
#include <colock/counters.hpp>
#include <colock/detail/export.hpp>
#include <colock/histograms.hpp>

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock {
inline namespace v1 {

/// The content type of an HTTP response whose body is the result of `prometheus_text`.
inline constexpr std::string_view prometheus_content_type =
    "text/plain; version=0.0.4; charset=utf-8";

/// What one client has measured, at one moment. See `metrics_of`.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
struct client_metrics {
    /// Tells the clients of a process apart. It becomes the label `client`. If it is empty, there is no such
    /// label.
    std::string name;
    /// See `client::counters`.
    colock::counters counters{};
    /// See `client::histograms`.
    colock::histograms histograms{};
    /// See `client::instances`.
    std::vector<instance_info> instances{};
    /// When the metrics were read. The time that is left of a quarantine is counted from here.
    std::chrono::steady_clock::time_point time{};
};

/// Reads what a client has measured. It asks no server, and never blocks for one.
///
/// Collect the metrics of each client on its executor. Any thread may then pass them to `prometheus_text`.
///
/// - Exception safety: Throws `std::bad_alloc`.
/// - Thread-safety: The same as `client::counters`. Call it on the client's executor, unless
///   `config::thread_safe` is set.
[[nodiscard]] COLOCK_EXPORT client_metrics metrics_of(const client& locks, std::string name = {});

/// Returns the metrics of one client as text that Prometheus reads. Its format is the text-based exposition
/// format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/. Serve it with
/// `prometheus_content_type`. docs/prometheus.md lists the metrics.
///
/// - Content: Each member of `counters` is a metric. If a member only grows, its metric is a counter and its
///   name ends with `_total`. `histograms::waits` is `colock_wait_seconds`, and `histograms::holds` is
///   `colock_hold_seconds`. The metrics `colock_instance_*` have a series for each instance, and
///   `colock_node_state` for each server of an instance. There is no name of a lock in the text, so the
///   number of series does not grow with the number of locks.
/// - Units: seconds for durations, and numbers otherwise. A decimal point is always a point, in each locale.
/// - Exception safety: Throws `std::bad_alloc`.
/// - Thread-safety: The same as `client::counters`. Call it on the client's executor, unless
///   `config::thread_safe` is set.
///
/// @code{.cpp}
/// // Answers `GET /metrics`. Call it on the executor of the client.
/// http::response<http::string_body> metrics(const colock::client& locks) {
///     http::response<http::string_body> response{http::status::ok, 11};
///     response.set(http::field::content_type, colock::prometheus_content_type);
///     response.body() = colock::prometheus_text(locks);
///     response.prepare_payload();
///     return response;
/// }
/// @endcode
[[nodiscard]] COLOCK_EXPORT std::string prometheus_text(const client& locks);

/// Returns the metrics of several clients as one text. Each metric is described once, and has the series of
/// all clients. Otherwise the same as the other overload.
///
/// - Labels: A backslash, a quote and a line feed are escaped. A byte that is no valid UTF-8, and a byte with
///   the value 0, becomes U+FFFD. No two series have the same labels. If two clients have the same name, `#2`
///   is appended to the second one, `#3` to the third one, and so on. The same holds for two instances of a
///   client with the same address.
/// - Exception safety: Throws `std::bad_alloc`.
/// - Thread-safety: Uses only its arguments, so any thread may call it.
[[nodiscard]] COLOCK_EXPORT std::string prometheus_text(std::span<const client_metrics> clients);

}  // namespace v1
}  // namespace colock

#endif
