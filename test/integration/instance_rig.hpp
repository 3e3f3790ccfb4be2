// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_INSTANCE_RIG_HPP
#define COLOCK_TEST_INTEGRATION_INSTANCE_RIG_HPP

#include "api/instance_uri.hpp"
#include "core/vote.hpp"
#include "instance/batch.hpp"
#include "instance/instance.hpp"
#include "instance/memory/memory_instance.hpp"
#include "instance/redis/redis_instance.hpp"
#include "instance/shared_pool.hpp"
#include "kinds/command.hpp"
#include "support/deadline.hpp"
#include "support/step_of_kind.hpp"
#include "support/vote_text.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/assert/source_location.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// Tests one instance. The input is commands, and the output is votes as text.

namespace colock::test {

/// Returns settings with which a test does not wait long.
inline instance::redis::redis_settings quick_settings() {
    using namespace std::chrono_literals;
    instance::redis::redis_settings settings;
    settings.connection.connect_timeout = 5s;  // Long, because the machine may be busy.
    settings.connection.silence_timeout = 10s;
    settings.reconnect = {1ms, 20ms};
    settings.stall_timeout = 30s;  // In effect never.
    return settings;
}

/// Returns the instance of a URI, without starting it.
inline std::unique_ptr<instance::instance> make_instance(
    std::size_t index, const instance::redis::any_address& to,
    const instance::redis::redis_settings& settings, const boost::asio::any_io_executor& executor,
    instance::instance_observer& observer) {
    constexpr std::uint64_t seed = 1;
    const auto make = [&](const auto& where) -> std::unique_ptr<instance::instance> {
        if constexpr (std::is_same_v<decltype(where), const instance::redis::memory_address&>) {
            return instance::memory::make_memory_instance(index, where.name, settings.max_in_flight,
                                                          observer);
        } else {
            return instance::redis::make_redis_instance(index, where, settings, seed, executor,
                                                        observer);
        }
    };
    return std::visit(make, to);
}

/// Collects the commands of a turn in a batch. Two batches alternate, so their memory is reused.
class client_turn {
public:
    [[nodiscard]] instance::batch& batch() noexcept { return *batch_; }
    [[nodiscard]] std::size_t number() const noexcept { return number_; }

    /// Returns the batch to send, and begins another one.
    std::shared_ptr<const instance::batch> end() {
        ++number_;
        return std::exchange(batch_, empty_batch());
    }

private:
    std::shared_ptr<instance::batch> empty_batch() {
        auto result = pool_.take([] { return std::make_shared<instance::batch>(); });
        result->clear();
        return result;
    }

    instance::shared_pool<instance::batch> pool_;
    std::shared_ptr<instance::batch> batch_ = empty_batch();
    std::size_t number_ = 0;
};

/// An instance, with its observer and the receiver of its votes. It works in turns, as the client does: a
/// turn's commands are sent as one batch, in a separate handler. It checks that each command for this
/// instance gets exactly one vote, never inside `submit`. A command for another instance must get none.
class instance_rig final : public instance::vote_receiver, public instance::instance_observer {
public:
    /// Creates the instance from a URI and starts it.
    explicit instance_rig(const std::string& uri,
                          const instance::redis::redis_settings& settings = quick_settings())
        : instance_rig(colock::parse_instance_uri("uri", uri), settings) {}

    instance_rig(const instance::redis::any_address& to,
                 const instance::redis::redis_settings& settings)
        : instance_(make_instance(own_index, to, settings, context_.get_executor(), *this)) {
        instance_->start();
    }

    /// Stops the instance. Every command has its vote then, and nothing is left running.
    ~instance_rig() {
        instance_->stop();
        context_.restart();
        context_.run_for(default_timeout);
        BOOST_TEST(context_.stopped(), "something of the instance still runs");
        std::size_t without = 0;
        std::size_t with_more = 0;
        std::size_t without_right = 0;
        for (const sent& s : sent_) {
            without += s.for_us && s.votes == 0 ? 1 : 0;
            with_more += s.votes > 1 ? 1 : 0;
            without_right += !s.for_us && s.votes != 0 ? 1 : 0;
        }
        BOOST_TEST(without == 0U, without << " of " << sent_.size() << " commands without a vote");
        BOOST_TEST(with_more == 0U, with_more << " commands with more votes than one");
        BOOST_TEST(without_right == 0U, without_right << " votes on commands for others");
        BOOST_TEST(instance_->snapshot().in_flight == 0U);
    }

    instance_rig(const instance_rig&) = delete;
    instance_rig& operator=(const instance_rig&) = delete;

    [[nodiscard]] instance::instance& subject() { return *instance_; }
    /// Returns the executor of the event loop, which runs in `run_until` and similar functions.
    [[nodiscard]] boost::asio::any_io_executor executor() { return context_.get_executor(); }
    [[nodiscard]] instance::status status() const { return instance_->snapshot(); }
    [[nodiscard]] std::size_t pending_calls() const { return pending_calls_; }
    [[nodiscard]] std::size_t state_changes() const { return state_changes_; }
    /// Returns how often the instance has reported that it accepts commands again.
    [[nodiscard]] std::size_t accepting_calls() const { return accepting_calls_; }

    /// Called after each vote has been recorded.
    std::function<void(instance::command_tag)> after_vote;

    /// Called each time before the instance gets its batch.
    std::function<void()> before_send;

    /// The keys whose change the server has reported. "*" stands for all keys.
    std::vector<std::string> changed;

    /// Submits a command and returns its tag. Tags count from 0. `value` is a ticket if there is no token.
    instance::command_tag submit(const step_of_kind& what, std::string key, std::string token = {},
                                 core::milliseconds ttl = std::chrono::minutes(10),
                                 core::time_point deadline = core::never,
                                 core::instance_set targets = core::instance_set::all(),
                                 std::uint64_t value = 0) {
        const auto tag = static_cast<instance::command_tag>(sent_.size());
        sent& s = sent_.emplace_back();
        s.key = std::move(key);
        s.token = std::move(token);
        s.for_us = targets.contains(own_index);
        s.turn = turn_.number();
        submitting_ = true;
        kinds::command command = what.command();
        command.ticket = s.token.empty() ? value : client_of(s.token);
        command.key = s.key;
        command.token = s.token;
        command.ttl = ttl;
        command.deadline = deadline;
        command.value = value;
        s.values = what.values;
        command.values = s.values.empty() ? nullptr : &s.values;
        if (what.client != 0) {
            command.ticket = what.client;
            command.place = what.place;
            command.place_ttl = what.place_ttl;
        }
        s.more_names = what.more_keys;
        s.more_keys.assign(s.more_names.begin(), s.more_names.end());
        command.more_keys = s.more_keys;
        turn_.batch().submit({this, tag, targets, command});
        schedule_turn();
        submitting_ = false;
        return tag;
    }

    /// Submits a command for this instance only. The second function submits it for another instance only.
    instance::command_tag submit_for_it(const step_of_kind& what, std::string key,
                                        std::string token = {}) {
        return submit(what, std::move(key), std::move(token), std::chrono::minutes(10), core::never,
                      core::instance_set::only(own_index));
    }
    instance::command_tag submit_for_another(const step_of_kind& what, std::string key,
                                             std::string token = {}) {
        return submit(what, std::move(key), std::move(token), std::chrono::minutes(10), core::never,
                      core::instance_set::only(own_index + 1));
    }

    /// Sends the commands submitted so far. The batch may be empty.
    void flush() {
        const auto batch = turn_.end();
        wants_to_send_ = false;
        if (before_send) {
            before_send();
        }
        instance_->send(batch, std::chrono::steady_clock::now());
    }

    /// Withdraws a command, so the instance must not execute it from now on.
    void withdraw(instance::command_tag tag) {
        withdraw_silently(tag);
        if (sent_.at(tag).turn == turn_.number()) {
            turn_.batch().reconsider();
        }
    }

    /// Withdraws a command without informing the batch.
    void withdraw_silently(instance::command_tag tag) { sent_.at(tag).wanted = false; }

    [[nodiscard]] bool voted(instance::command_tag tag) const { return sent_.at(tag).votes != 0; }
    [[nodiscard]] const core::vote& vote_on(instance::command_tag tag) const {
        return sent_.at(tag).vote;
    }

    /// Runs the instance until `predicate()` is true.
    template <std::predicate Predicate>
    void run_until(Predicate predicate, boost::source_location location = BOOST_CURRENT_LOCATION,
                   std::chrono::steady_clock::duration timeout = default_timeout) {
        const auto deadline = std::chrono::steady_clock::now() + timeout;
        while (!predicate()) {
            if (std::chrono::steady_clock::now() >= deadline) {
                const instance::status now = status();
                BOOST_TEST_MESSAGE("state " << static_cast<int>(now.state) << ", in flight "
                                            << now.in_flight << ", last down: " << now.reason);
                throw deadline_passed(timeout, location);
            }
            context_.restart();
            context_.run_one_for(poll_interval);
        }
    }

    void run_until_ready(boost::source_location location = BOOST_CURRENT_LOCATION) {
        run_until([this] { return instance_->ready(); }, location);
    }

    /// Runs until the instance is down, possibly already retrying. Returns the reason.
    std::string run_until_down(boost::source_location location = BOOST_CURRENT_LOCATION) {
        run_until([this] { return !instance_->ready() && !status().reason.empty(); }, location);
        return status().reason;
    }

    /// Runs until there is a vote on every command for this instance.
    void run_until_voted(boost::source_location location = BOOST_CURRENT_LOCATION) {
        run_until(
            [this] {
                while (next_unvoted_ != sent_.size() &&
                       (sent_[next_unvoted_].votes != 0 || !sent_[next_unvoted_].for_us)) {
                    ++next_unvoted_;
                }
                return next_unvoted_ == sent_.size();
            },
            location);
    }

    /// Returns the votes on all commands since the last call, in the order of submission. The entry for a
    /// command of another instance is "none".
    std::vector<std::string> votes(boost::source_location location = BOOST_CURRENT_LOCATION) {
        run_until_voted(location);
        std::vector<std::string> result;
        for (; next_to_tell_ != sent_.size(); ++next_to_tell_) {
            const sent& s = sent_[next_to_tell_];
            result.push_back(s.votes == 0 ? "none" : to_text(s.vote));
        }
        return result;
    }

    /// Submits one command and returns the vote.
    core::vote ask(const step_of_kind& what, std::string key, std::string token = {},
                   core::milliseconds ttl = std::chrono::minutes(10),
                   boost::source_location location = BOOST_CURRENT_LOCATION) {
        const auto tag = submit(what, std::move(key), std::move(token), ttl);
        run_until([&] { return voted(tag); }, location);
        next_to_tell_ = sent_.size();
        return vote_on(tag);
    }

    /// Does the same for a command about fences.
    core::vote ask_fence(const step_of_kind& what, std::string key, std::string token,
                         std::uint64_t value = 0,
                         boost::source_location location = BOOST_CURRENT_LOCATION) {
        const auto tag = submit(what, std::move(key), std::move(token), std::chrono::minutes(10),
                                core::never, core::instance_set::all(), value);
        run_until([&] { return voted(tag); }, location);
        next_to_tell_ = sent_.size();
        return vote_on(tag);
    }

    /// These four return the vote as text.
    std::string acquire(std::string key, std::string token,
                        core::milliseconds ttl = std::chrono::minutes(10)) {
        return to_text(ask(core::step::acquire, std::move(key), std::move(token), ttl));
    }
    std::string extend(std::string key, std::string token,
                       core::milliseconds ttl = std::chrono::minutes(10)) {
        return to_text(ask(core::step::extend, std::move(key), std::move(token), ttl));
    }
    std::string release(std::string key, std::string token) {
        return to_text(ask(core::step::release, std::move(key), std::move(token)));
    }
    std::string remaining(std::string key) {
        return to_text(ask(core::step::remaining, std::move(key)));
    }

    /// Returns the tags in the order in which the votes arrived.
    [[nodiscard]] const std::vector<instance::command_tag>& order_of_votes() const {
        return order_;
    }

private:
    struct sent {
        std::string key;
        std::string token;
        std::string values;
        std::vector<std::string> more_names;
        std::vector<std::string_view> more_keys;
        bool for_us = true;
        bool wanted = true;
        std::size_t turn = 0;  // The turn that sends it.
        std::size_t votes = 0;
        core::vote vote;
    };

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point /*now*/) override {
        BOOST_TEST(index == own_index);
        BOOST_TEST(!submitting_, "a vote inside submit");
        sent& s = sent_.at(tag);
        ++s.votes;
        s.vote = vote;
        order_.push_back(tag);
        if (after_vote) {
            after_vote(tag);
        }
    }

    bool wanted(std::size_t index, instance::command_tag tag) const override {
        BOOST_TEST(index == own_index);
        BOOST_TEST(sent_.at(tag).for_us);
        return sent_.at(tag).wanted;
    }

    void on_state_change(std::size_t index) override {
        BOOST_TEST(index == own_index);
        ++state_changes_;
    }

    void on_key_changed(std::size_t /*index*/, std::string_view key) override {
        changed.emplace_back(key);
    }
    void on_all_keys_changed(std::size_t /*index*/) override { changed.emplace_back("*"); }
    void on_accepting(std::size_t index) override {
        BOOST_TEST(index == own_index);
        ++accepting_calls_;
    }

    void on_pending(std::size_t index) override {
        BOOST_TEST(index == own_index);
        ++pending_calls_;
        wants_to_send_ = true;
        schedule_turn();
    }

    void schedule_turn() {
        if (!std::exchange(turn_scheduled_, true)) {
            boost::asio::post(context_, [this] {
                turn_scheduled_ = false;
                if (wants_to_send_ || !turn_.batch().empty()) {
                    flush();
                }
            });
        }
    }

    static constexpr std::uint32_t own_index = 3;  // Differs from all default values.

    boost::asio::io_context context_{1};
    std::unique_ptr<instance::instance> instance_;
    client_turn turn_;
    bool turn_scheduled_ = false;
    bool wants_to_send_ = false;  // Set by the instance.
    std::deque<sent> sent_;
    std::vector<instance::command_tag> order_;
    std::size_t next_unvoted_ = 0;
    std::size_t next_to_tell_ = 0;
    std::size_t pending_calls_ = 0;
    std::size_t state_changes_ = 0;
    std::size_t accepting_calls_ = 0;
    bool submitting_ = false;
};

}  // namespace colock::test

#endif
