// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/describe.hpp"

#include <chrono>
#include <cstddef>

namespace colock::runtime {
namespace {

std::string printable(std::string_view text) {
    constexpr std::size_t longest = 200;
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string result;
    for (const char c : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f || c == '\\') {
            result += "\\x";
            result += digits[byte >> 4U];
            result += digits[byte & 15U];
        } else {
            result += c;
        }
    }
    if (text.size() > longest) {
        result += "...";
    }
    return result;
}

std::string_view words_for(core::failure reason) noexcept {
    switch (reason) {
        case core::failure::none:
            break;
        case core::failure::down:
            return "down";
        case core::failure::overloaded:
            return "overloaded, too many commands in flight";
        case core::failure::stalled:
            return "not sent, the instance has not answered for a while";
        case core::failure::quarantined:
            return "quarantined";
        case core::failure::withdrawn:
            return "withdrawn before it was sent";
        case core::failure::too_late:
            return "too late to be sent";
        case core::failure::timeout:
            return "no answer in time";
        case core::failure::connection_lost:
            return "connection lost";
        case core::failure::server_error:
            return "error";
        case core::failure::unclear_error:
            return "error, possibly after the command was executed";
        case core::failure::unexpected_reply:
            return "unexpected reply";
        case core::failure::not_replicated:
            return "granted, but on too few replicas";
    }
    return "failed";
}

/// Returns the detail of a failed vote. A detail that many votes have in common is part of the instance's
/// status.
std::string_view detail_of(const core::vote& vote, const instance::status& voter) noexcept {
    if (vote.detail) {
        return *vote.detail;
    }
    if (vote.reason == core::failure::quarantined) {
        return voter.why_quarantined;
    }
    if (vote.reason != core::failure::down) {
        return {};
    }
    const bool first = voter.reason.empty() && (voter.state == instance::state::connecting ||
                                                voter.state == instance::state::probing);
    return first ? std::string_view("not connected yet") : std::string_view(voter.reason);
}

/// `yes` describes a granted vote.
std::string words_for(const core::vote& vote, const kinds::lock_kind& kind,
                      const instance::status& voter, std::string_view yes) {
    switch (vote.kind) {
        case core::vote_kind::granted:
            return std::string(yes);
        case core::vote_kind::denied:
            return kind.why(vote, vote.detail ? printable(*vote.detail) : std::string());
        case core::vote_kind::failed:
            break;
    }
    return describe_failure(vote, voter);
}

/// Describes an instance without a vote.
std::string words_for(const instance::status& voter, std::string_view if_ready) {
    switch (voter.state) {
        case instance::state::ready:
            return std::string(if_ready);
        case instance::state::quarantined:
            return describe_failure(core::vote::failed(core::failure::quarantined), voter);
        default:
            return describe_failure(core::vote::failed(core::failure::down), voter);
    }
}

/// Lists each instance in brackets, with the text `words_of(index)`.
template <typename Words>
std::string list(const std::vector<instance::status>& instances, const Words& words_of) {
    std::string text;
    for (std::size_t i = 0; i != instances.size(); ++i) {
        text += " [" + instances[i].address + ": " + words_of(i) + "]";
    }
    return text;
}

std::string describe_round(std::string_view resource, const kinds::lock_kind& kind,
                           const core::round& votes, const std::vector<instance::status>& instances,
                           std::string_view yes, std::string_view what, const key_findings& key) {
    const bool is_decided = votes.won() || votes.impossible();
    const auto words_of = [&](std::size_t i) {
        auto vote = votes.vote_of(i);
        const bool is_vague = vote && vote->kind == core::vote_kind::denied &&
                              vote->key == core::key_state::foreign && !vote->detail;
        if (is_vague && !key.denials.empty() && key.denials[i].detail) {
            vote = key.denials[i];
        }
        std::string words = vote         ? words_for(*vote, kind, instances[i], yes)
                            : is_decided ? words_for(instances[i], "vote not needed")
                                         : "no answer yet";
        return key.without_ttl.contains(i) ? words + ", the key has no ttl" : words;
    };
    return describe(resource) + ": " + std::to_string(votes.granted()) + " of " +
           std::to_string(votes.instances()) + " instances " + std::string(yes) +
           std::string(what) + ", " + std::to_string(core::quorum_of(votes.instances())) +
           " required" + list(instances, words_of);
}

}  // namespace

std::string describe_attempt(std::string_view resource, const kinds::lock_kind& kind,
                             const core::round& votes,
                             const std::vector<instance::status>& instances,
                             const key_findings& key) {
    return describe_round(resource, kind, votes, instances, "granted", " the lock", key);
}

std::string describe_lease_round(std::string_view resource, const kinds::lock_kind& kind,
                                 const core::round& votes,
                                 const std::vector<instance::status>& instances) {
    return describe_round(resource, kind, votes, instances, "confirmed", "", {});
}

std::string describe_request(std::string_view resource, const kinds::lock_kind& kind,
                             std::string_view what, const core::vote* why,
                             const std::vector<instance::status>& instances) {
    const auto words_of = [&](std::size_t i) {
        return why != nullptr ? words_for(*why, kind, instances[i], "done")
                              : words_for(instances[i], "no answer yet");
    };
    return describe(resource) + ": " + std::string(what) + list(instances, words_of);
}

std::string describe(std::string_view resource, std::string_view why,
                     const std::vector<instance::status>& instances) {
    const auto words_of = [&](std::size_t i) { return words_for(instances[i], "connected"); };
    return describe(resource) + ": " + std::string(why) + list(instances, words_of);
}

std::string describe_failure(const core::vote& vote, const instance::status& voter) {
    std::string text(words_for(vote.reason));
    if (const std::string_view detail = detail_of(vote, voter); !detail.empty()) {
        const bool is_absent =
            vote.reason == core::failure::down || vote.reason == core::failure::quarantined;
        text += is_absent ? ", " : ": ";
        text += printable(detail);
    }
    return text;
}

std::string describe(std::string_view resource) {
    return "'" + printable(resource) + "'";
}

std::string describe_standstill(core::duration late) {
    const auto whole = std::chrono::duration_cast<core::milliseconds>(late);
    return ": the client's event loop did not run for at least " + std::to_string(whole.count()) +
           " ms, and so renewed it too late";
}

}  // namespace colock::runtime
