// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/error.hpp>

#include <utility>

namespace colock {
inline namespace v1 {
namespace {

using boost::system::error_condition;

class errc_category final : public boost::system::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "colock"; }

    [[nodiscard]] std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
            case errc::contended:
                return "the lock is not free";
            case errc::no_quorum:
                return "no quorum of instances agreed in time";
            case errc::too_slow:
                return "the lock was granted, but its remaining validity was too short";
            case errc::lease_lost:
                return "the lease was lost";
            case errc::lease_expired:
                return "the lease has expired";
            case errc::max_hold_exceeded:
                return "the lease was held for longer than max_hold";
            case errc::not_held:
                return "the lease is not held";
            case errc::client_closed:
                return "the lock client is closed";
            case errc::not_fenced:
                return "the lock was made without fencing";
            case errc::forked:
                return "the lock client was made before fork(). Make a new one in the child";
            case errc::wrong_lease:
                return "the lease does not match this lock or this operation";
            case errc::limit_mismatch:
                return "the semaphore has another number of permits";
            case errc::wrong_kind:
                return "the name belongs to a lock of another kind";
            case errc::would_deadlock:
                return "the owner holds the lock already, and would wait for itself";
            case errc::outcome_unknown:
                return "the write may have been carried out";
            case errc::fingerprint_mismatch:
                return "the key was used for another request";
            case errc::invalid_argument:
                return "an argument is impossible";
        }
        return "unknown colock error";
    }

    [[nodiscard]] error_condition default_error_condition(int value) const noexcept override {
        switch (static_cast<errc>(value)) {
            case errc::contended:
                return condition::contended;
            case errc::no_quorum:
            case errc::too_slow:
            case errc::client_closed:
            case errc::forked:
                return condition::unavailable;
            case errc::lease_lost:
            case errc::lease_expired:
            case errc::max_hold_exceeded:
                return condition::lost;
            case errc::not_held:
            case errc::not_fenced:
            case errc::wrong_lease:
            case errc::limit_mismatch:
            case errc::wrong_kind:
            case errc::would_deadlock:
            case errc::outcome_unknown:
            case errc::fingerprint_mismatch:
            case errc::invalid_argument:
                break;
        }
        return {value, *this};
    }
};

class condition_category_type final : public boost::system::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "colock.condition"; }

    [[nodiscard]] std::string message(int value) const override {
        switch (static_cast<condition>(value)) {
            case condition::contended:
                return "the lock is not free";
            case condition::unavailable:
                return "the lock instances are unavailable";
            case condition::lost:
                return "the lease was lost";
        }
        return "unknown colock condition";
    }
};

}  // namespace

const boost::system::error_category& error_category() noexcept {
    static const errc_category category;
    return category;
}

const boost::system::error_category& condition_category() noexcept {
    static const condition_category_type category;
    return category;
}

error::error(boost::system::error_code code, std::string details)
    : code_(code),
      details_(details.empty() ? nullptr
                               : std::make_shared<const std::string>(std::move(details))) {}

const std::string& error::details() const noexcept {
    // It outlives all static objects.
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
    static const std::string& none = *new std::string;
    return details_ ? *details_ : none;
}

std::string error::message() const {
    return details_ ? code_.message() + ": " + *details_ : code_.message();
}

config_error::config_error(std::string field, const std::string& problem)
    : std::invalid_argument(field.empty() ? problem : field + ": " + problem),
      field_(std::move(field)) {}

}  // namespace v1
}  // namespace colock
