// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/versioned.hpp>

#include "api/call.hpp"
#include "api/options_check.hpp"
#include "core/command.hpp"
#include "core/write.hpp"
#include "kinds/versioned/versioned.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/client_context.hpp"
#include "runtime/operations/record_operation.hpp"
#include "runtime/record_spec.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/system_executor.hpp>

#include <chrono>

namespace colock {
inline namespace v1 {

using detail::check_at_most;
using detail::check_range;
using detail::handler;
using std::chrono::milliseconds;

namespace {

static_assert(versioned::version_limit == core::value_limit);

using shared_spec = std::shared_ptr<const runtime::record_spec>;

error error_of(core::write_outcome outcome, std::string details) {
    switch (outcome) {
        case core::write_outcome::applied:
        case core::write_outcome::refused:
            return {};
        case core::write_outcome::wrong_kind:
            return {errc::wrong_kind, std::move(details)};
        case core::write_outcome::unavailable:
            return {errc::no_quorum, std::move(details)};
        case core::write_outcome::unknown:
            return {errc::outcome_unknown, std::move(details)};
        case core::write_outcome::closed:
            return {errc::client_closed, std::move(details)};
        case core::write_outcome::cancelled:
            break;
    }
    return {boost::asio::error::operation_aborted, std::move(details)};
}

class read_call final : public call<runtime::record_operation, versioned_state> {
public:
    using call::call;

    void deliver() override {
        if (error failure = error_of(result(), take_details())) {
            complete(std::move(failure), versioned_state());
        } else {
            complete({}, {take_value(), version()});
        }
    }
};

class write_call final : public call<runtime::record_operation, write_outcome> {
public:
    using call::call;

    void deliver() override {
        if (error failure = error_of(result(), take_details())) {
            complete(std::move(failure), write_outcome());
        } else {
            const bool is_applied = result() == core::write_outcome::applied;
            complete({}, {is_applied, {take_value(), version()}});
        }
    }
};

/// Null if the client was moved from.
const runtime::asio_host* host_of(const shared_spec& spec) noexcept {
    return spec && spec->owner ? &runtime::asio_host::of(*spec->owner) : nullptr;
}

template <typename Call, typename Result>
void start(shared_spec spec, runtime::record_request request, handler<Result> handler,
           std::string_view problem = {}) {
    const std::string_view resource = spec ? spec->resource() : std::string_view();
    if (!fails_at_start(host_of(spec), handler, resource, problem)) {
        const auto owner = runtime::asio_host::of(spec->owner);
        start_call<Call>(owner, std::move(handler), std::move(spec), std::move(request));
    }
}

/// Empty if such a write is possible.
std::string problem_with(std::uint64_t version, const std::optional<std::string>& value,
                         std::size_t longest_value) {
    if (version > versioned::version_limit - 4) {  // The end of a value has a version too.
        return "version: no version follows " + std::to_string(version) +
               ", since versions are below 2^53. Give the version that read or a write has "
               "reported. If it is this one, delete the key";
    }
    if (value && value->size() > longest_value) {
        return "value: it has " + std::to_string(value->size()) +
               " bytes, which exceeds longest_value (" + std::to_string(longest_value) +
               "). Store less or raise longest_value";
    }
    return {};
}

/// Around the value in a reply: its length, the verdict, and the version.
constexpr std::size_t around_value = 64;
constexpr std::size_t most_value = std::size_t{64} << 20U;

}  // namespace

void versioned_options::validate() const {
    if (ttl != milliseconds(0)) {
        check_range("ttl", ttl, milliseconds(10), std::chrono::hours(24 * 365));
    }
    check_range("longest_value", longest_value, 1, most_value);
    check_range("retry.maximum", retry.maximum, milliseconds(1), std::chrono::minutes(1));
    check_range("retry.initial", retry.initial, milliseconds(1), std::chrono::minutes(1));
    check_at_most("retry.initial", retry.initial, "retry.maximum", retry.maximum);
    check_range("unavailable_timeout", unavailable_timeout, milliseconds(0), std::chrono::hours(1));
}

versioned::versioned(client& client, std::string_view resource, versioned_options options)
    : options_(options) {
    detail::check_resource(resource);
    options.validate();
    auto spec = std::make_shared<runtime::record_spec>();
    if (!client.host_) {  // it was moved from: only the name is needed, for the errors
        spec->key = resource;
        spec_ = std::move(spec);
        return;
    }
    const runtime::client_context& parts = client.host_->parts();
    if (parts.instances.size() > 1) {  // a client whose execution context is destroyed has none
        throw config_error("instances",
                           std::to_string(parts.instances.size()) +
                               " independent instances cannot keep the versioned value '" +
                               std::string(resource) +
                               "', since each would have versions of its own. Use a client with "
                               "one instance: a server, a Sentinel-monitored master, or a cluster");
    }
    const std::size_t longest_reply = parts.settings.max_reply_size;
    if (options.longest_value + around_value > longest_reply) {
        throw config_error("longest_value",
                           detail::to_text(options.longest_value) +
                               " bytes and 64 more do not fit into the client's max_reply_size (" +
                               detail::to_text(longest_reply) +
                               " bytes). Lower it or raise max_reply_size");
    }
    const std::string& prefix = parts.settings.key_prefix;
    spec->owner = client.host_->owned_parts();
    spec->kind = &kinds::versioned;
    spec->longest_value = options.longest_value;
    spec->key = prefix + std::string(resource);
    spec->prefix_size = prefix.size();
    spec->ttl = options.ttl;
    spec->retry = {options.retry.initial, options.retry.maximum};
    spec->unavailable_timeout = options.unavailable_timeout;
    spec->longest_in_reply = longest_reply - around_value;
    spec_ = std::move(spec);
}

std::string_view versioned::resource() const noexcept {
    return spec_ ? spec_->resource() : std::string_view();
}

versioned::executor_type versioned::executor_of(const shared_spec& spec) noexcept {
    const runtime::asio_host* const host = host_of(spec);
    return host != nullptr ? host->user_executor() : executor_type(boost::asio::system_executor());
}

error versioned::contended_after(std::size_t refused) const {
    return {errc::contended, "'" + std::string(resource()) + "': " + std::to_string(refused) +
                                 " writes were refused, since others came first "
                                 "(retry.attempts). Nothing was written"};
}

error versioned::cancelled() const {
    return {boost::asio::error::operation_aborted,
            "'" + std::string(resource()) + "': the update was given up. Nothing was written"};
}

void versioned::start_read(shared_spec spec, std::size_t tries, handler<versioned_state> handler) {
    start<read_call>(std::move(spec), {.tries = tries}, std::move(handler));
}

void versioned::start_write(shared_spec spec, std::uint64_t version,
                            std::optional<std::string> value, handler<write_outcome> handler) {
    const std::string problem =
        spec ? problem_with(version, value, spec->longest_value) : std::string();
    start<write_call>(std::move(spec),
                      {.writes = true, .expected = version, .value = std::move(value)},
                      std::move(handler), problem);
}

}  // namespace v1
}  // namespace colock
