// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/prometheus.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace colock {
inline namespace v1 {
namespace {

struct number {
    std::string_view name;  ///< That of the member.
    std::uint64_t counters::*value;
    std::string_view help;
};

/// The members that only grow. Each one is "colock_<name>_total".
constexpr std::array totals{
    number{"attempts", &counters::attempts, "Rounds that were sent to acquire a lock."},
    number{"acquired", &counters::acquired,
           "Leases that were acquired, including shares and repeated entries."},
    number{"contended", &counters::contended,
           "Attempts that were denied because another holder had the lock."},
    number{"unavailable", &counters::unavailable,
           "Attempts that failed because too few instances answered."},
    number{"undone", &counters::undone,
           "Attempts that were rolled back on instances that had granted the lock or might have."},
    number{"cancelled", &counters::cancelled, "Acquire operations that their caller cancelled."},
    number{"renewed", &counters::renewed, "Renewals that succeeded."},
    number{"renewals_failed", &counters::renewals_failed,
           "Rounds of renewal that found no quorum."},
    number{"healed", &counters::healed,
           "Keys that were restored on an instance that had lost them."},
    number{"released", &counters::released,
           "Leases that a quorum released, hand-offs, and released shares."},
    number{"handed_off", &counters::handed_off,
           "Releases that handed the lease to another waiter of the same client."},
    number{"abandoned", &counters::abandoned, "Leases that were abandoned."},
    number{"detached", &counters::detached, "Leases that were detached for another process."},
    number{"adopted", &counters::adopted, "Leases that were adopted from another process."},
    number{
        "lost", &counters::lost,
        "Leases that were lost, expired, were held for max_hold, or when the client was closed."},
    number{"overstays", &counters::overstays,
           "Holders that still had the lease when its validity ended."},
    number{"keys_without_ttl", &counters::keys_without_ttl,
           "How often an instance reported to a waiting acquire that the key has no ttl."},
    number{"records_read", &counters::records_read, "Reads of a versioned value."},
    number{"writes_applied", &counters::writes_applied,
           "Writes and erases of a versioned value that were carried out."},
    number{"writes_refused", &counters::writes_refused,
           "Writes of a versioned value that were refused because it had another version."},
    number{"writes_unknown", &counters::writes_unknown,
           "Writes of a versioned value whose outcome is unknown."},
    number{"once_ran", &counters::once_ran,
           "Calls of once that have run their body and recorded its result."},
    number{"once_found", &counters::once_found, "Calls of once that found a result."},
};

/// The members that are gauges. Each one is "colock_<name>".
constexpr std::array gauges{
    number{"held", &counters::held, "Leases that are held now."},
    number{"acquiring", &counters::acquiring, "Acquire operations that are running now."},
    number{"queued", &counters::queued,
           "Running acquire operations that wait for others of the same client."},
    number{"waiting_to_send", &counters::waiting_to_send,
           "Releases and attempts that wait until the instances have room for them."},
    number{"releasing", &counters::releasing,
           "Releases and rollbacks that some instance has not answered, and unreleased lost "
           "leases."},
};

static_assert(sizeof(counters) == (totals.size() + gauges.size()) * sizeof(std::uint64_t),
              "Each member of counters needs its row in one of the tables above");

constexpr std::array states{instance_state::connecting,  instance_state::probing,
                            instance_state::quarantined, instance_state::ready,
                            instance_state::down,        instance_state::closed};
static_assert(states.size() == static_cast<std::size_t>(instance_state::closed) + 1,
              "Each state needs its place in this list");

// --- Labels -------------------------------------------------------------------------------------------------

/// Returns the length of the first character of a text that is not empty. Returns 0 if it is not valid UTF-8.
std::size_t length_of_character(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    std::size_t length = 0;
    unsigned char lowest = 0x80;   // Those of the second byte. They exclude long forms, surrogates
    unsigned char highest = 0xbf;  // and what is above U+10FFFF.
    if (first >= 0xc2 && first <= 0xdf) {
        length = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
        lowest = first == 0xe0 ? 0xa0 : lowest;
        highest = first == 0xed ? 0x9f : highest;
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
        lowest = first == 0xf0 ? 0x90 : lowest;
        highest = first == 0xf4 ? 0x8f : highest;
    }
    if (length == 0 || text.size() < length || byte(1) < lowest || byte(1) > highest) {
        return 0;
    }
    for (std::size_t i = 2; i != length; ++i) {
        if (byte(i) < 0x80 || byte(i) > 0xbf) {
            return 0;
        }
    }
    return length;
}

/// Returns a label's value, as it stands between its quotes.
std::string escaped(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t length = length_of_character(text);
        if (length == 0 || text.front() == '\0') {
            result += "\xef\xbf\xbd";
        } else if (text.front() == '\\' || text.front() == '"') {
            result += '\\';
            result += text.front();
        } else if (text.front() == '\n') {
            result += "\\n";
        } else {
            result += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return result;
}

/// Makes the values of a label distinct.
class distinct_values {
public:
    /// Returns the value, escaped, and with a number behind it if there was the same one before.
    std::string add(std::string_view value) {
        const std::string first = escaped(value);
        std::string result = first;
        for (int i = 2; !used_.insert(result).second; ++i) {
            result = first + "#" + std::to_string(i);
        }
        return result;
    }

private:
    std::set<std::string> used_;
};

/// Returns the labels and one more. The value is escaped already.
std::string with(const std::string& labels, std::string_view name, std::string_view value) {
    std::string result = labels;
    result += labels.empty() ? "" : ",";
    result.append(name).append("=\"").append(value).append("\"");
    return result;
}

// --- Series -------------------------------------------------------------------------------------------------

/// A server or an instance, with the labels of its series.
template <typename Info>
struct labelled {
    const Info* info;
    std::string labels;
};

struct labelled_client {
    const client_metrics* metrics = nullptr;
    std::string labels;
    std::vector<labelled<instance_info>> instances;
    std::vector<labelled<node_info>> nodes;
};

void add_nodes(labelled_client& to, const instance_info& of, const std::string& labels) {
    std::map<std::string_view, distinct_values> servers;  // by role
    for (const node_info& node : of.nodes) {
        const std::string server = servers[node.role].add(node.address);
        to.nodes.push_back(
            {&node, with(with(labels, "server", server), "role", escaped(node.role))});
    }
}

std::vector<labelled_client> label(std::span<const client_metrics> clients) {
    std::vector<labelled_client> result;
    distinct_values names;
    for (const client_metrics& metrics : clients) {
        const std::string name = names.add(metrics.name);
        labelled_client& one = result.emplace_back();
        one.metrics = &metrics;
        one.labels = name.empty() ? "" : with("", "client", name);
        distinct_values addresses;
        for (const instance_info& instance : metrics.instances) {
            const std::string labels = with(one.labels, "address", addresses.add(instance.address));
            one.instances.push_back({&instance, labels});
            add_nodes(one, instance, labels);
        }
    }
    return result;
}

/// A number without the conventions of a locale.
std::string decimal(std::uint64_t value) {
    std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 1> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
}

/// A duration in seconds. It is exact. A negative one becomes 0.
template <typename Period>
std::string seconds(std::chrono::duration<std::int64_t, Period> duration) {
    static_assert(Period::num == 1);
    constexpr std::uint64_t per_second = Period::den;
    const auto all = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
    std::string result = decimal(all / per_second);
    if (const std::uint64_t rest = all % per_second; rest != 0) {
        std::string fraction = decimal(per_second + rest);  // "1" and the digits of the fraction
        fraction.front() = '.';
        fraction.erase(fraction.find_last_not_of('0') + 1);
        result += fraction;
    }
    return result;
}

std::chrono::nanoseconds quarantine_left(const instance_info& instance,
                                         std::chrono::steady_clock::time_point now) noexcept {
    if (instance.state != instance_state::quarantined || instance.quarantined_until <= now) {
        return {};
    }
    return instance.quarantined_until - now;
}

std::size_t ready_of(const client_metrics& metrics) noexcept {
    return static_cast<std::size_t>(
        std::ranges::count(metrics.instances, instance_state::ready, &instance_info::state));
}

class text {
public:
    explicit text(std::span<const client_metrics> clients) : clients_(label(clients)) {
        for (const number& one : totals) {
            add_number(one, "_total", "counter");
        }
        for (const number& one : gauges) {
            add_number(one, "", "gauge");
        }
        add_histogram("colock_wait_seconds", &histograms::waits,
                      "How long acquires waited, from their start to the grant.");
        add_histogram("colock_hold_seconds", &histograms::holds,
                      "How long leases were held, from the grant to the release or the loss.");
        add_quorum();
        add_instances();
        add_nodes();
    }

    std::string take() && { return std::move(text_); }

private:
    void describe(std::string_view name, std::string_view type, std::string_view help) {
        text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
        text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
    }

    void add(std::string_view name, const std::string& labels, const std::string& value) {
        text_.append(name);
        if (!labels.empty()) {
            text_.append("{").append(labels).append("}");
        }
        text_.append(" ").append(value).append("\n");
    }

    void add_number(const number& one, std::string_view suffix, std::string_view type) {
        const std::string name = "colock_" + std::string(one.name) + std::string(suffix);
        describe(name, type, one.help);
        for (const labelled_client& client : clients_) {
            add(name, client.labels, decimal(client.metrics->counters.*one.value));
        }
    }

    void add_histogram(const std::string& name, histogram histograms::*member,
                       std::string_view help) {
        describe(name, "histogram", help);
        for (const labelled_client& client : clients_) {
            const histogram& all = client.metrics->histograms.*member;
            for (std::size_t i = 0; i != histogram::bounds.size(); ++i) {
                add(name + "_bucket", with(client.labels, "le", seconds(histogram::bounds[i])),
                    decimal(all.at_most(i)));
            }
            // The format demands that these two are the same number.
            const std::string count = decimal(all.at_most(histogram::bounds.size()));
            add(name + "_bucket", with(client.labels, "le", "+Inf"), count);
            add(name + "_sum", client.labels, seconds(all.sum));
            add(name + "_count", client.labels, count);
        }
    }

    template <typename Value>
    void add_for_clients(std::string_view name, std::string_view help, const Value& value) {
        describe(name, "gauge", help);
        for (const labelled_client& client : clients_) {
            add(name, client.labels, decimal(value(*client.metrics)));
        }
    }

    void add_quorum() {
        add_for_clients("colock_instances", "Instances that the client is configured with.",
                        [](const client_metrics& of) { return of.instances.size(); });
        add_for_clients("colock_instances_ready", "Instances that are ready to grant locks.",
                        ready_of);
        add_for_clients("colock_instances_quorum",
                        "Instances that have to grant a lock. With fewer that are ready, no lock "
                        "can be acquired.",
                        [](const client_metrics& of) { return of.instances.size() / 2 + 1; });
    }

    /// Calls `add_series(instance, client)` for each instance.
    template <typename AddSeries>
    void add_for_instances(std::string_view name, std::string_view help,
                           const AddSeries& add_series) {
        describe(name, "gauge", help);
        for (const labelled_client& client : clients_) {
            for (const labelled<instance_info>& instance : client.instances) {
                add_series(instance, *client.metrics);
            }
        }
    }

    /// Adds a number of each instance.
    template <typename Value>
    void add_of_instances(std::string_view name, std::string_view help, const Value& value) {
        add_for_instances(
            name, help, [&](const labelled<instance_info>& instance, const client_metrics& client) {
                add(name, instance.labels, value(*instance.info, client));
            });
    }

    /// Adds a series for each state. That of the current one is 1.
    void add_states(std::string_view name, const std::string& labels, instance_state current) {
        for (const instance_state state : states) {
            add(name, with(labels, "state", to_string(state)), state == current ? "1" : "0");
        }
    }

    void add_instances() {
        add_for_instances(
            "colock_instance_state", "1 for the state of the instance, and 0 for all other states.",
            [this](const labelled<instance_info>& instance, const client_metrics&) {
                add_states("colock_instance_state", instance.labels, instance.info->state);
            });
        add_of_instances(
            "colock_instance_in_flight", "Commands without an answer.",
            [](const instance_info& of, const client_metrics&) { return decimal(of.in_flight); });
        add_of_instances(
            "colock_instance_window",
            "Commands that the client allows in flight, or 0 before the probe and for an instance "
            "in memory.",
            [](const instance_info& of, const client_metrics&) { return decimal(of.window); });
        add_of_instances(
            "colock_instance_delay_seconds",
            "The time from sending the latest answered batch of commands to its last answer.",
            [](const instance_info& of, const client_metrics&) { return seconds(of.delay); });
        add_of_instances("colock_instance_quarantine_seconds",
                         "The time that is left of the quarantine, or 0 if there is none.",
                         [](const instance_info& of, const client_metrics& client) {
                             return seconds(quarantine_left(of, client.time));
                         });
        add_for_instances("colock_instance_info",
                          "Always 1, with the version and the run id that the server reports.",
                          [this](const labelled<instance_info>& instance, const client_metrics&) {
                              const std::string version =
                                  with(instance.labels, "version", escaped(instance.info->version));
                              add("colock_instance_info",
                                  with(version, "run_id", escaped(instance.info->run_id)), "1");
                          });
    }

    void add_nodes() {
        describe("colock_node_state", "gauge",
                 "1 for the state of the connection to a server of an instance, and 0 for all "
                 "other states.");
        for (const labelled_client& client : clients_) {
            for (const labelled<node_info>& node : client.nodes) {
                add_states("colock_node_state", node.labels, node.info->state);
            }
        }
    }

    std::vector<labelled_client> clients_;
    std::string text_;
};

}  // namespace

client_metrics metrics_of(const client& locks, std::string name) {
    return {std::move(name), locks.counters(), locks.histograms(), locks.instances(),
            std::chrono::steady_clock::now()};
}

std::string prometheus_text(const client& locks) {
    const client_metrics metrics = metrics_of(locks);
    return prometheus_text(std::span(&metrics, 1));
}

std::string prometheus_text(std::span<const client_metrics> clients) {
    return text(clients).take();
}

}  // namespace v1
}  // namespace colock
