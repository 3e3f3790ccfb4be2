// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/once.hpp>

#include "api/call.hpp"
#include "api/lease_access.hpp"
#include "api/lock_error.hpp"
#include "api/options_check.hpp"
#include "api/start_on_lock.hpp"
#include "core/outcome.hpp"
#include "core/settlement.hpp"
#include "kinds/once/once.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/describe.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/operations/acquire_operation.hpp"
#include "runtime/operations/settlement_operation.hpp"

#include <boost/asio/error.hpp>

#include <chrono>

namespace colock {
inline namespace v1 {

using detail::check_range;
using detail::handler;
using detail::once_finding;
using std::chrono::milliseconds;

namespace {

static_assert(once_longest_result == kinds::longest_result);

using task = core::settlement::task_type;

error error_of(core::settlement_outcome outcome, bool has_sent, std::string details) {
    switch (outcome) {
        case core::settlement_outcome::settled:
        case core::settlement_outcome::unsettled:
            return {};
        case core::settlement_outcome::refused:
        case core::settlement_outcome::lost:
        case core::settlement_outcome::overdue:
            return {has_sent ? errc::outcome_unknown : errc::not_held, std::move(details)};
        case core::settlement_outcome::closed:
            return {has_sent ? errc::outcome_unknown : errc::client_closed, std::move(details)};
        case core::settlement_outcome::cancelled:
            break;
    }
    return {boost::asio::error::operation_aborted, std::move(details)};
}

class find_call final : public call<runtime::settlement_operation, once_finding> {
public:
    using call::call;

    void deliver() override {
        once_finding found;
        if (result() == core::settlement_outcome::settled) {
            found.record = record();
        }
        found.has_met_record = has_met_record();
        found.has_written = has_sent();
        complete(error_of(result(), false, take_details()), std::move(found));
    }
};

class record_call final : public call<runtime::settlement_operation> {
public:
    using call::call;

    void deliver() override { complete(error_of(result(), has_sent(), take_details())); }
};

class take_call final : public call<runtime::acquire_operation, once_finding> {
public:
    using call::call;

    void deliver() override {
        once_finding found;
        found.record = record();
        found.has_met_record = has_met_record();
        found.held = detail::lease_access::make(host(), take_lease(), holder(), fence());
        complete(detail::error_of(result(), take_details()), std::move(found));
    }
};

}  // namespace

void once_options::validate() const {
    lock.validate();
    if (lock.fencing) {
        throw config_error("lock.fencing",
                           "true is not possible for once, since a result has no fence. Leave it "
                           "false, or use with_lock");
    }
    check_range("keep", keep, milliseconds(10), std::chrono::hours(24 * 365));
    static_assert(once_fingerprint::limit == kinds::longest_fingerprint);
    if (fingerprint.size() > once_fingerprint::limit) {
        throw config_error("fingerprint", "the fingerprint has " +
                                              std::to_string(fingerprint.size()) +
                                              " bytes, which exceeds the limit of " +
                                              std::to_string(once_fingerprint::limit) +
                                              ". Give a hash of the request");
    }
}

namespace detail {
namespace {

lock_handle lock_of(client& client, std::string_view key, const once_options& options) {
    try {
        options.validate();
        return {client, key, options.lock, kinds::once};
    } catch (const config_error& problem) {
        return lock_handle::invalid(client, key, problem);
    }
}

}  // namespace

once_key::once_key(client& client, std::string_view key, const once_options& options)
    : lock_(lock_of(client, key, options)),
      keep_(options.keep),
      fingerprint_(options.fingerprint.view()) {}

std::shared_ptr<const std::string> once_key::make_record(const std::string& value) const {
    const bool is_refusal = value.size() > once_longest_result;
    return std::make_shared<const std::string>(
        kinds::make_record({.fingerprint = fingerprint_,
                            .result = is_refusal ? std::to_string(value.size()) : value,
                            .is_refusal = is_refusal}));
}

once_result once_key::read(const std::string& record) const {
    const auto parts = kinds::parse_record(record);
    if (!parts || parts->fingerprint != fingerprint_) {
        throw lock_error(error(errc::fingerprint_mismatch,
                               runtime::describe(lock_.resource()) +
                                   ": its result is for a request with another fingerprint"));
    }
    if (parts->is_refusal) {
        throw lock_error(invalid_argument(
            lock_.resource(), "result: the body has returned " + std::string(parts->result) +
                                  " bytes, which exceeds the limit of " +
                                  std::to_string(once_longest_result) +
                                  ". Store the result elsewhere, and return where it is"));
    }
    return {std::string(parts->result), false};
}

once_key::lease_state once_key::state_of(const lease& held) noexcept {
    return {lease_access::state_of(held), lease_access::holder_of(held)};
}

void once_key::start_find(shared_spec spec, bool settles, lease_state held,
                          handler<once_finding> handler) {
    runtime::settlement_request request;
    request.task = settles ? task::settle : task::look;
    request.lease = std::move(held.state);
    request.holder = held.holder;
    start_on_lock<find_call, once_finding>(std::move(spec), std::move(handler), std::move(request));
}

void once_key::start_acquire(shared_spec spec, handler<once_finding> handler) {
    start_on_lock<take_call, once_finding>(std::move(spec), std::move(handler), core::never);
}

void once_key::start_record(shared_spec spec, lease_state held,
                            std::shared_ptr<const std::string> text, milliseconds keep,
                            handler<> handler) {
    runtime::settlement_request request;
    request.task = task::complete;
    request.lease = std::move(held.state);
    request.holder = held.holder;
    request.record = std::move(text);
    request.life = keep;
    start_on_lock<record_call>(std::move(spec), std::move(handler), std::move(request));
}

}  // namespace detail
}  // namespace v1
}  // namespace colock
