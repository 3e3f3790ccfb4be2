// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_DESCRIBE_HPP
#define COLOCK_RUNTIME_DESCRIBE_HPP

#include "core/instance_set.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "instance/instance.hpp"
#include "kinds/kind.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace colock::runtime {

/// What instances have told of the key beside their votes.
struct key_findings {
    core::instance_set without_ttl{};  ///< there it has none
    /// The last denial of each instance that tells who holds it, or what it holds that no lock wrote. Empty if none has.
    std::vector<core::vote> denials{};
};

/// A round as one line for an error's text: the resource, the count, and what each instance voted. A denial has the words of the
/// lock kind. Bytes of the resource and of what a server said are escaped unless they are printable ASCII. Long texts are cut.
std::string describe_attempt(std::string_view resource, const kinds::lock_kind& kind,
                             const core::round& votes,
                             const std::vector<instance::status>& instances,
                             const key_findings& key);

/// The same, of a round for a lease: a renewal, a release, or a downgrade.
std::string describe_lease_round(std::string_view resource, const kinds::lock_kind& kind,
                                 const core::round& votes,
                                 const std::vector<instance::status>& instances);

/// The same, of a request of one instance: what has become of it, and the last vote that says why. Null: there was none.
std::string describe_request(std::string_view resource, const kinds::lock_kind& kind,
                             std::string_view what, const core::vote* why,
                             const std::vector<instance::status>& instances);

/// Before any round: the resource, why there was none, and where each instance stands.
std::string describe(std::string_view resource, std::string_view why,
                     const std::vector<instance::status>& instances);

/// The resource alone, in quotes.
std::string describe(std::string_view resource);

/// The end of a text about a lost lease: the client could not renew it, since it could not act for `late` or longer.
std::string describe_standstill(core::duration late);

}  // namespace colock::runtime

#endif
