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

    void receive(runtime::acquired_event one) noexcept override { to_->on_acquired(one); }
    void receive(runtime::denied_event one) noexcept override { to_->on_denied(one); }
    void receive(runtime::lost_event one) noexcept override {
        if (auto reason = unless_out_of_memory(
                [&] { return detail::error_of(one.why, std::move(one.details)); })) {
            to_->on_lost({std::move(one.resource), std::move(one.token), one.fence, one.holders,
                          *std::move(reason)});
        }
    }
    void receive(runtime::instance_event one) noexcept override {
        to_->on_instance_changed({one.index, detail::info_of(std::move(one.status))});
    }
    void receive(runtime::blocked_event one) noexcept override { to_->on_blocked(one); }

private:
    std::shared_ptr<observer> to_;
};

}  // namespace

observer::~observer() = default;

// By default, nothing happens.
void observer::on_acquired(const acquired_event& /*event*/) noexcept {}
void observer::on_denied(const denied_event& /*event*/) noexcept {}
void observer::on_lost(const lost_event& /*event*/) noexcept {}
void observer::on_instance_changed(const instance_changed_event& /*event*/) noexcept {}
void observer::on_blocked(const blocked_event& /*event*/) noexcept {}

std::shared_ptr<runtime::event_receiver> detail::receiver_for(std::shared_ptr<observer> to) {
    return to ? std::make_shared<observer_receiver>(std::move(to)) : nullptr;
}

}  // namespace v1
}  // namespace colock
