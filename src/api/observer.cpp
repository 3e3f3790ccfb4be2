// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/observer.hpp>

#include "api/instance_info.hpp"
#include "api/lock_error.hpp"
#include "api/receiver.hpp"

#include <new>
#include <optional>
#include <utility>

namespace colock {
inline namespace v1 {
namespace {

/// Returns what `make` returns. Nothing if there is no memory for it, and then the event is lost.
template <typename Make>
auto unless_out_of_memory(const Make& make) noexcept -> std::optional<decltype(make())> {
    try {
        return make();
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
}

class observer_receiver final : public runtime::event_receiver {
public:
    explicit observer_receiver(std::shared_ptr<observer> to) noexcept : to_(std::move(to)) {}

    void receive(runtime::acquired_event one) noexcept override {
        to_->on_acquired({one.resource, one.token, one.fence, one.is_shared, one.waited});
    }
    void receive(runtime::denied_event one) noexcept override {
        to_->on_denied({one.resource, one.attempts, one.is_contended, one.waited});
    }
    void receive(runtime::lost_event one) noexcept override {
        if (const auto reason = unless_out_of_memory(
                [&] { return detail::error_of(one.why, std::move(one.details)); })) {
            to_->on_lost({one.resource, one.token, one.fence, one.holders, *reason});
        }
    }
    void receive(runtime::instance_event one) noexcept override {
        if (const auto info =
                unless_out_of_memory([&] { return detail::info_of(std::move(one.status)); })) {
            to_->on_instance_changed(one.index, *info);
        }
    }
    void receive(runtime::blocked_event one) noexcept override { to_->on_blocked(one.time); }

private:
    std::shared_ptr<observer> to_;
};

}  // namespace

observer::~observer() = default;

// By default, nothing happens.
void observer::on_acquired(const acquired_event& /*event*/) noexcept {}
void observer::on_denied(const denied_event& /*event*/) noexcept {}
void observer::on_lost(const lost_event& /*event*/) noexcept {}
void observer::on_instance_changed(std::size_t /*index*/,
                                   const instance_info& /*instance*/) noexcept {}
void observer::on_blocked(std::chrono::nanoseconds /*time*/) noexcept {}

std::shared_ptr<runtime::event_receiver> detail::receiver_for(std::shared_ptr<observer> to) {
    return to ? std::make_shared<observer_receiver>(std::move(to)) : nullptr;
}

}  // namespace v1
}  // namespace colock
