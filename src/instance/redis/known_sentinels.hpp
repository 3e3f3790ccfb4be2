// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_KNOWN_SENTINELS_HPP
#define COLOCK_INSTANCE_REDIS_KNOWN_SENTINELS_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

/// One Sentinel, as far as it is known. It has a vote on which server is the master.
struct known_sentinel {
    std::size_t host = 0;                  ///< the number of its host in the URI
    std::string port{};                    ///< of this host
    std::vector<std::string> addresses{};  ///< numeric, or none before the first look-up
    std::string id{};                      ///< as it reports it, or empty
    /// It is also behind an earlier host of the URI. It is not asked a second time, and has no second vote.
    bool is_duplicate = false;

    [[nodiscard]] bool has(std::string_view address) const noexcept;
};

/// The Sentinels of an instance: behind each host of its URI one, or several. All of them count for the majority, also those
/// that cannot be asked.
///
/// The name of a headless service has an address for each Sentinel. Each address is therefore a Sentinel of its own, except:
/// - One IPv4 and one IPv6 address are one Sentinel. If there are more, only those of the larger family count.
/// - Two addresses of a name at which Sentinels give the same ID are one Sentinel.
///
/// A look-up that gives fewer addresses than before does not make the majority smaller: addresses of the last look-up are
/// kept in place of those that are missing. The number of Sentinels therefore never decreases, except by equal IDs.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class known_sentinels {
public:
    /// The ports of the URI's hosts, in their order.
    explicit known_sentinels(const std::vector<std::string>& ports);

    /// A look-up of that host has given these numeric addresses. Without addresses it changes nothing.
    void resolved(std::size_t host, const std::vector<std::string>& addresses);

    /// The Sentinel of that host at that address has reported its ID. The ID is empty if it reports none.
    void identified(std::size_t host, std::string_view address, std::string_view id);

    /// All of them, host by host.
    [[nodiscard]] const std::vector<known_sentinel>& all() const noexcept { return all_; }

    /// Whether that host has several.
    [[nodiscard]] bool is_several(std::size_t host) const noexcept;

private:
    void replace(std::size_t host, std::vector<known_sentinel> by);

    std::vector<known_sentinel> all_;
};

}  // namespace colock::instance::redis

#endif
