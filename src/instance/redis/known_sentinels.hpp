// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_KNOWN_SENTINELS_HPP
#define COLOCK_INSTANCE_REDIS_KNOWN_SENTINELS_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

/// One Sentinel. It has a vote on which server is the master.
struct known_sentinel {
    std::size_t host = 0;                  ///< The number of its host in the URI.
    std::string port{};                    ///< The port of this host.
    std::vector<std::string> addresses{};  ///< Numeric. Empty before the first lookup.
    std::string id{};                      ///< The ID that it reports, or empty.
    /// An earlier host of the URI leads to the same Sentinel. It is not queried twice and has only one vote.
    bool is_duplicate = false;

    [[nodiscard]] bool has(std::string_view address) const noexcept;
};

/// The Sentinels of an instance. Each host of its URI leads to one or more Sentinels. All of them count for
/// the majority, even if they are unreachable.
///
/// The name of a headless service has an address for each Sentinel. Each address is therefore a separate
/// Sentinel, except:
/// - One IPv4 and one IPv6 address are one Sentinel. If there are more, only those of the larger family
///   count.
/// - Two addresses of a name at which Sentinels report the same ID are one Sentinel.
///
/// A lookup that returns fewer addresses than before does not make the majority smaller. Addresses of the
/// last lookup replace the missing ones. The number of Sentinels therefore never decreases, except by equal
/// IDs.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class known_sentinels {
public:
    /// Takes the ports of the URI's hosts, in order.
    explicit known_sentinels(const std::vector<std::string>& ports);

    /// Applies the numeric addresses that a lookup of that host has returned. An empty list changes nothing.
    void resolved(std::size_t host, const std::vector<std::string>& addresses);

    /// Applies the ID that the Sentinel of that host and address has reported. Empty if it reports none.
    void identified(std::size_t host, std::string_view address, std::string_view id);

    /// Returns all Sentinels, host by host.
    [[nodiscard]] const std::vector<known_sentinel>& all() const noexcept { return all_; }

    /// Returns whether that host has several Sentinels.
    [[nodiscard]] bool is_several(std::size_t host) const noexcept;

private:
    void replace(std::size_t host, std::vector<known_sentinel> by);

    std::vector<known_sentinel> all_;
};

}  // namespace colock::instance::redis

#endif
