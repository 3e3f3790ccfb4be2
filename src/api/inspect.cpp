// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/inspect.hpp>

#include <colock/client.hpp>

#include "api/call.hpp"
#include "api/options_check.hpp"
#include "core/round.hpp"
#include "core/vote.hpp"
#include "kinds/inspection/inspection.hpp"
#include "kinds/inspection/report.hpp"
#include "platform/clock.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/client_context.hpp"
#include "runtime/describe.hpp"
#include "runtime/operations/inquiry_operation.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {
inline namespace v1 {
namespace {

using runtime::asio_host;
using runtime::inquiry;
using runtime::inquiry_outcome;
using std::chrono::milliseconds;

/// The words for a content in a report and in the public interface.
constexpr struct content_words {
    std::string_view reported;
    key_content content;
    std::string_view name;
} contents[] = {
    {"nothing", key_content::nothing, "nothing"},
    {"token", key_content::exclusive, "exclusive"},
    {"readers", key_content::readers, "readers"},
    {"permits", key_content::permits, "permits"},
    {"result", key_content::once_result, "once_result"},
    {"record", key_content::versioned_value, "versioned_value"},
    {"string", key_content::other_string, "other_string"},
    {"other", key_content::other, "other"},
};

key_content content_of(std::string_view word) noexcept {
    const auto* const found = std::ranges::find(contents, word, &content_words::reported);
    return found != std::end(contents) ? found->content : key_content::other;
}

/// Converts a ttl as PTTL reports it.
milliseconds public_ttl(milliseconds ttl) noexcept {
    return ttl == milliseconds(-1) ? milliseconds::max() : std::max(ttl, milliseconds(0));
}

void set_report(instance_inspection& to, kinds::key_report&& from) {
    to.content = content_of(from.content);
    to.type = to.content == key_content::other ? std::move(from.content) : std::string();
    to.ttl = public_ttl(from.ttl);
    for (kinds::key_report::holder& one : from.holders) {
        std::string label(kinds::label_of_holder(one.token));
        to.holders.push_back(
            {std::move(one.token), std::move(label), one.permits, public_ttl(one.remaining)});
    }
    to.holder_count = from.holder_count;
    to.permit_limit = from.limit;
    to.permits_in_use = from.in_use;
    for (const kinds::key_report::writer& one : from.writers) {
        to.writers.push_back({one.client, public_ttl(one.remaining)});
    }
    to.writer_count = from.writer_count;
    for (const kinds::key_report::waiter& one : from.waiters) {
        to.waiters.push_back({one.client, one.number});
    }
    to.waiter_count = from.waiter_count;
    to.fence = from.fence;
    to.version = from.version;
    to.has_value = from.has_value;
}

/// Finds the tokens that a quorum has.
class quorum_count {
public:
    void add(const instance_inspection& answer, core::time_point at) {
        for (const lock_holder& one : answer.holders) {
            tally& of = holders_[one.token];
            of.label = one.label;
            of.ends.push_back(end_of(one.remaining, at));
        }
    }

    [[nodiscard]] std::vector<quorum_holder> result(std::size_t quorum) {
        std::vector<quorum_holder> result;
        for (auto& [token, of] : holders_) {
            if (of.ends.size() >= quorum) {
                std::ranges::sort(of.ends, std::ranges::greater());
                result.push_back({token, of.label, of.ends.size(),
                                  platform::clock::to_steady(of.ends[quorum - 1])});
            }
        }
        return result;
    }

private:
    /// Another program may have set a ttl beyond the range of the clock. It counts as no end.
    static core::time_point end_of(milliseconds remaining, core::time_point at) {
        constexpr milliseconds longest = std::chrono::hours(24 * 365 * 100);
        return remaining > longest ? core::never : at + remaining;
    }

    struct tally {
        std::string label;
        std::vector<core::time_point> ends;
    };
    std::map<std::string, tally> holders_;
};

error error_of(inquiry_outcome outcome, std::string_view resource) {
    switch (outcome) {
        case inquiry_outcome::answered:
            return {};
        case inquiry_outcome::closed:
            return {errc::client_closed, runtime::describe(resource)};
        case inquiry_outcome::cancelled:
            break;
    }
    return {boost::asio::error::operation_aborted, runtime::describe(resource)};
}

class inspect_call final : public call<runtime::inquiry_operation, inspection> {
public:
    using call::call;

    void deliver() override {
        if (error failure = error_of(result(), question().resource())) {
            complete(std::move(failure), inspection());
        } else {
            complete({}, summary());
        }
    }

private:
    [[nodiscard]] inspection summary() const {
        inspection all;
        all.resource = question().resource();
        all.quorum = core::quorum_of(answers().size());
        quorum_count holders;
        for (std::size_t i = 0; i != answers().size(); ++i) {
            const auto& [vote, at] = answers()[i];
            instance_inspection& one = all.instances.emplace_back();
            one.address = voters()[i].address;
            if (vote.kind != core::vote_kind::granted) {
                one.failure = runtime::describe_failure(vote, voters()[i]);
                continue;
            }
            ++all.answered;
            auto report = kinds::parse_report(*vote.detail);
            assert(report && "the kind has checked it");
            set_report(one, std::move(*report));
            holders.add(one, at);
        }
        all.holders = holders.result(all.quorum);
        return all;
    }
};

class break_call final : public call<runtime::inquiry_operation, break_result> {
public:
    using call::call;

    void deliver() override {
        if (error failure = error_of(result(), question().resource())) {
            complete(std::move(failure), break_result());
        } else {
            complete({}, summary());
        }
    }

private:
    [[nodiscard]] break_result summary() const {
        break_result all;
        all.quorum = core::quorum_of(answers().size());
        all.removed = count(core::vote_kind::granted);
        all.absent = count(core::vote_kind::denied);
        all.failed = count(core::vote_kind::failed);
        for (std::size_t i = 0; i != answers().size(); ++i) {
            const core::vote& vote = answers()[i].vote;
            if (vote.kind == core::vote_kind::failed) {
                all.failures += (all.failures.empty() ? "[" : " [") + voters()[i].address + ": " +
                                runtime::describe_failure(vote, voters()[i]) + "]";
            }
        }
        all.was_held = all.removed >= all.quorum;
        all.is_ended = all.removed + all.absent >= all.quorum;
        return all;
    }
};

/// Returns the problem with a name. Empty if there is none.
std::string problem_with_resource(std::string_view resource) {
    try {
        detail::check_resource(resource);
    } catch (const config_error& problem) {
        return problem.what();
    }
    return {};
}

/// Returns the problem with a token. Empty if there is none.
std::string problem_with_token(std::string_view token) {
    if (token.empty()) {
        return "holder: the token is empty. Give a token that inspect has reported";
    }
    if (token.size() > kinds::longest_token) {
        return "holder: the token has " + std::to_string(token.size()) +
               " bytes, which exceeds the limit of " + std::to_string(kinds::longest_token) +
               ". Give a token that inspect has reported";
    }
    if (!kinds::removal_of(token)) {
        return "holder: this is the result of a once and not a token. A result has no holder";
    }
    return {};
}

template <typename Call, typename Result>
void start(const std::shared_ptr<asio_host>& owner, std::string_view resource,
           const std::string& problem, inquiry question, detail::handler<Result> handler) {
    if (fails_at_start(owner.get(), handler, resource, problem)) {
        return;
    }
    const std::string& prefix = owner->parts().settings.key_prefix;
    question.owner = owner->owned_parts();
    question.key = prefix + std::string(resource);
    question.prefix_size = prefix.size();
    start_call<Call>(owner, std::move(handler), std::move(question));
}

}  // namespace

std::string_view to_string(key_content content) noexcept {
    const auto* const found = std::ranges::find(contents, content, &content_words::content);
    return found != std::end(contents) ? found->name : "unknown";
}

void client::start_inspect(const std::shared_ptr<asio_host>& owner, std::string resource,
                           detail::handler<inspection> handler) {
    inquiry question;
    question.kind = &kinds::inspection;
    question.step = core::step::inspect;
    start<inspect_call>(owner, resource, problem_with_resource(resource), std::move(question),
                        std::move(handler));
}

void client::start_break(const std::shared_ptr<asio_host>& owner, std::string resource,
                         std::string holder, detail::handler<break_result> handler) {
    std::string problem = problem_with_resource(resource);
    if (problem.empty()) {
        problem = problem_with_token(holder);
    }
    inquiry question;
    if (problem.empty()) {
        const kinds::removal how = *kinds::removal_of(holder);
        question.kind = how.kind;
        question.step = how.step;
        question.ticket = how.ticket;
        question.token = std::move(holder);
    }
    start<break_call>(owner, resource, problem, std::move(question), std::move(handler));
}

}  // namespace v1
}  // namespace colock
