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

/// The state of the key that instances have reported in addition to their votes.
struct key_findings {
    core::instance_set without_ttl{};  ///< Instances where the key has no ttl.
    /// The last denial of each instance that names the holder, or a value that no lock wrote. Empty if there
    /// is none.
    std::vector<core::vote> denials{};
};

/// Returns a round as one line for an error's text: the resource, the number of grants, and the vote of each
/// instance. The lock kind words the denials. Non-printable bytes of the resource and of server texts are
/// escaped. Long texts are cut.
std::string describe_attempt(std::string_view resource, const kinds::lock_kind& kind,
                             const core::round& votes,
                             const std::vector<instance::status>& instances,
                             const key_findings& key);

/// Returns a round of a lease as one line: a renewal, a release or a downgrade.
std::string describe_lease_round(std::string_view resource, const kinds::lock_kind& kind,
                                 const core::round& votes,
                                 const std::vector<instance::status>& instances);

/// Returns a request to a single instance as one line, with its outcome. `why` is the last vote, or null if
/// there was none.
std::string describe_request(std::string_view resource, const kinds::lock_kind& kind,
                             std::string_view what, const core::vote* why,
                             const std::vector<instance::status>& instances);

/// Returns the state before any round as one line: the resource, the reason, and the state of each instance.
std::string describe(std::string_view resource, std::string_view why,
                     const std::vector<instance::status>& instances);

/// Returns why an instance has not answered, without its address.
std::string describe_failure(const core::vote& vote, const instance::status& voter);

/// Returns only the resource, in quotes.
std::string describe(std::string_view resource);

/// Returns the end of a text about a lost lease: the client could not renew it, because it was blocked for at
/// least `late`.
std::string describe_standstill(core::duration late);

}  // namespace colock::runtime

#endif
