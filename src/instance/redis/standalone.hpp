// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_STANDALONE_HPP
#define COLOCK_INSTANCE_REDIS_STANDALONE_HPP

#include "instance/instance.hpp"
#include "instance/redis/node.hpp"
#include "instance/redis/redis_instance.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace colock::instance::redis {

/// The topology of a single server: each command goes to the one node.
class standalone final : public instance, private node_observer {
public:
    standalone(std::size_t index, const address& to, const redis_settings& settings,
               std::uint64_t seed, const boost::asio::any_io_executor& executor,
               instance_observer& observer);
    standalone(const standalone&) = delete;
    standalone& operator=(const standalone&) = delete;
    ~standalone() override;

    void start() override { node_->start(); }
    void stop() override { node_->stop(); }
    void send(const std::shared_ptr<const batch>& commands, core::time_point now) override {
        node_->send(commands, now);
    }
    [[nodiscard]] bool ready() const noexcept override { return node_->ready(); }
    [[nodiscard]] bool takes_commands(core::time_point now) const override {
        return node_->takes_commands(now);
    }
    [[nodiscard]] bool answers_since(core::time_point then) const override {
        return node_->answers_since(then);
    }
    [[nodiscard]] std::size_t room() const noexcept override {
        return node_->ready() ? node_->room() : unlimited;
    }
    [[nodiscard]] bool starting() const noexcept override { return node_->starting(); }
    [[nodiscard]] std::uint64_t keeper_id() const noexcept override { return node_->keeper_id(); }
    [[nodiscard]] status snapshot() const override { return node_->snapshot(); }

private:
    admission admit(const node& from, const server_facts& facts) override;
    void on_disconnected(const node& from) override { voters_->leave(index_, from.where()); }
    void on_state_change(const node& /*from*/) override { observer_.on_state_change(index_); }
    void on_redirected(const node& /*from*/, const submission& /*command*/,
                       const resp::value& /*error*/) override {}  // Only in a cluster.
    void on_pending() override { observer_.on_pending(index_); }
    void on_accepting() override { observer_.on_accepting(index_); }
    void on_key_changed(std::string_view key) override { observer_.on_key_changed(index_, key); }
    void on_all_keys_changed() override { observer_.on_all_keys_changed(index_); }

    std::size_t index_;
    address to_;
    instance_observer& observer_;
    std::shared_ptr<voters> voters_;
    std::shared_ptr<node> node_;
};

}  // namespace colock::instance::redis

#endif
