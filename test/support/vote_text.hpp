// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_VOTE_TEXT_HPP
#define COLOCK_TEST_SUPPORT_VOTE_TEXT_HPP

#include "core/vote.hpp"

#include <string>

namespace colock::test {

/// Returns a vote as text, such as "granted", "granted: announced", "denied: another" or "failed:
/// overloaded". If an instance reports the label of the holder, the text is "denied: @" and that label. The
/// remaining time is left out.
inline std::string to_text(const core::vote& v) {
    switch (v.kind) {
        case core::vote_kind::granted:
            return v.key == core::key_state::announced ? "granted: announced" : "granted";
        case core::vote_kind::denied:
            return v.key == core::key_state::labelled    ? "denied: @" + *v.detail
                   : v.key == core::key_state::absent    ? "denied: nobody"
                   : v.key == core::key_state::foreign   ? "denied: another"
                   : v.key == core::key_state::announced ? "denied: announced"
                   : v.key == core::key_state::partial   ? "denied: partial"
                   : v.key == core::key_state::completed ? "denied: has " + *v.detail
                   : v.key == core::key_state::other_kind || v.key == core::key_state::other_limit
                       ? "denied: " + *v.detail
                       : "denied: not ours";
        case core::vote_kind::failed:
            break;
    }
    switch (v.reason) {
        case core::failure::none:
            break;
        case core::failure::down:
            return "failed: down";
        case core::failure::overloaded:
            return "failed: overloaded";
        case core::failure::quarantined:
            return "failed: quarantined";
        case core::failure::stalled:
            return "failed: stalled";
        case core::failure::withdrawn:
            return "failed: withdrawn";
        case core::failure::too_late:
            return "failed: too late";
        case core::failure::timeout:
            return "failed: timeout";
        case core::failure::connection_lost:
            return "failed: connection lost";
        case core::failure::server_error:
            return "failed: server error";
        case core::failure::unclear_error:
            return "failed: unclear error";
        case core::failure::unexpected_reply:
            return "failed: unexpected reply";
        case core::failure::not_replicated:
            return "failed: not replicated";
    }
    return "failed";
}

}  // namespace colock::test

#endif
