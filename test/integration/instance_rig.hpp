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

#include <algorithm>
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

// Tests instances. The input is commands, and the output is votes as text.

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

/// One or several instances, with their observer and the receiver of their votes. It works in turns, as the
/// client does: a turn's commands are sent as one batch, in a separate handler. It checks that each instance
/// casts exactly one vote on each command for it, never inside `submit`, and no other vote.
class instance_rig final : public instance::vote_receiver, public instance::instance_observer {
public:
    using strings = std::vector<std::string>;

    /// Creates the instance from a URI and starts it.
    explicit instance_rig(const std::string& uri,
                          const instance::redis::redis_settings& settings = quick_settings())
        : instance_rig(parse_instance_uri("uri", uri), settings) {}

    instance_rig(const instance::redis::any_address& to,
                 const instance::redis::redis_settings& settings) {
        add(to, settings);
        subject().start();
    }

    /// Creates several instances, which share an encoder and get the same batches. They count from 0 in a set
    /// of targets. Databases of one server may serve as several instances here, which a client does not allow.
    explicit instance_rig(const strings& uris,
                          instance::redis::redis_settings settings = quick_settings())
        : first_index_(0) {
        for (const std::string& uri : uris) {
            settings.connected = std::make_shared<instance::redis::voters>();
            add(parse_instance_uri("uri", uri), settings);
        }
        for (const auto& one : instances_) {
            one->start();
        }
    }

    /// Stops the instances. Every command has its votes then, and nothing is left running.
    ~instance_rig() {
        for (const auto& one : instances_) {
            one->stop();
        }
        context_.restart();
        context_.run_for(default_timeout);
        BOOST_TEST(context_.stopped(), "something of the instances still runs");
        std::size_t without = 0;
        std::size_t with_more = 0;
        std::size_t without_right = 0;
        for (const sent& s : sent_) {
            for (std::size_t i = 0; i != size(); ++i) {
                const std::size_t count = s.votes[i].size();
                without += is_for(s, i) && count == 0 ? 1 : 0;
                with_more += count > 1 ? 1 : 0;
                without_right += !is_for(s, i) && count != 0 ? 1 : 0;
            }
        }
        BOOST_TEST(without == 0U, without << " of " << sent_.size() << " commands without a vote");
        BOOST_TEST(with_more == 0U, with_more << " commands with more votes than one");
        BOOST_TEST(without_right == 0U, without_right << " votes on commands for others");
        for (const auto& one : instances_) {
            BOOST_TEST(one->snapshot().in_flight == 0U);
        }
    }

    instance_rig(const instance_rig&) = delete;
    instance_rig& operator=(const instance_rig&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return instances_.size(); }
    [[nodiscard]] instance::instance& subject(std::size_t which = 0) { return *instances_[which]; }
    /// Returns the executor of the event loop, which runs in `run_until` and similar functions.
    [[nodiscard]] boost::asio::any_io_executor executor() { return context_.get_executor(); }
    [[nodiscard]] instance::status status(std::size_t which = 0) const {
        return instances_[which]->snapshot();
    }
    [[nodiscard]] std::size_t pending_calls() const { return pending_calls_; }
    [[nodiscard]] std::size_t state_changes() const { return state_changes_; }
    /// Returns how often an instance has reported that it accepts commands again.
    [[nodiscard]] std::size_t accepting_calls() const { return accepting_calls_; }

    /// Called after each vote has been recorded.
    std::function<void(instance::command_tag)> after_vote;

    /// Called each time before a batch is sent.
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
        s.targets = targets;
        s.wanted.resize(size(), true);
        s.votes.resize(size());
        for (auto& of_instance : s.votes) {
            of_instance.reserve(
                1);  // A vote allocates nothing, because a test lets allocations fail.
        }
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

    /// Submits a command for some of the instances.
    instance::command_tag submit_for(core::instance_set targets, const step_of_kind& what,
                                     std::string key, std::string token = {},
                                     core::time_point deadline = core::never) {
        return submit(what, std::move(key), std::move(token), std::chrono::minutes(10), deadline,
                      targets);
    }

    /// Submits a command for the one instance only. The second function submits it for another instance only.
    instance::command_tag submit_for_it(const step_of_kind& what, std::string key,
                                        std::string token = {}) {
        return submit_for(core::instance_set::only(first_index_), what, std::move(key),
                          std::move(token));
    }
    instance::command_tag submit_for_another(const step_of_kind& what, std::string key,
                                             std::string token = {}) {
        return submit_for(core::instance_set::only(first_index_ + 1), what, std::move(key),
                          std::move(token));
    }

    /// Sends the commands submitted so far to all instances. The batch may be empty.
    void flush() {
        const auto batch = turn_.end();
        wants_to_send_ = false;
        if (before_send) {
            before_send();
        }
        const core::time_point now = std::chrono::steady_clock::now();
        for (const auto& one : instances_) {
            one->send(batch, now);
        }
    }

    /// Withdraws a command, so the instance must not execute it from now on.
    void withdraw(instance::command_tag tag, std::size_t which = 0) {
        withdraw_silently(tag, which);
        if (sent_.at(tag).turn == turn_.number()) {
            turn_.batch().reconsider();
        }
    }

    /// Withdraws a command without informing the batch.
    void withdraw_silently(instance::command_tag tag, std::size_t which = 0) {
        sent_.at(tag).wanted.at(which) = false;
    }

    [[nodiscard]] bool voted(instance::command_tag tag, std::size_t which = 0) const {
        return !sent_.at(tag).votes.at(which).empty();
    }
    /// Returns the vote of the first instance.
    [[nodiscard]] core::vote vote_on(instance::command_tag tag) const {
        return voted(tag) ? sent_.at(tag).votes.front().back() : core::vote();
    }

    /// Runs the instances until `predicate()` is true.
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
        run_until(
            [this] {
                return std::all_of(instances_.begin(), instances_.end(),
                                   [](const auto& one) { return one->ready(); });
            },
            location);
    }

    /// Runs until the first instance is down, possibly already retrying. Returns the reason.
    std::string run_until_down(boost::source_location location = BOOST_CURRENT_LOCATION) {
        run_until([this] { return !subject().ready() && !status().reason.empty(); }, location);
        return status().reason;
    }

    /// Runs until each instance has voted on each command for it.
    void run_until_voted(boost::source_location location = BOOST_CURRENT_LOCATION) {
        run_until(
            [this] {
                while (next_unvoted_ != sent_.size() && is_complete(sent_[next_unvoted_])) {
                    ++next_unvoted_;
                }
                return next_unvoted_ == sent_.size();
            },
            location);
    }

    /// Returns the votes on all commands since the last call, in the order of submission. The votes of several
    /// instances are one text, such as "granted, denied: another". A command of another instance has "none".
    strings votes(boost::source_location location = BOOST_CURRENT_LOCATION) {
        run_until_voted(location);
        strings result;
        for (; next_to_tell_ != sent_.size(); ++next_to_tell_) {
            std::string& text = result.emplace_back();
            for (const auto& of_instance : sent_[next_to_tell_].votes) {
                text += text.empty() ? "" : ", ";
                text += of_instance.empty() ? "none" : to_text(of_instance.back());
            }
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
        core::instance_set targets;
        std::vector<bool> wanted;  // These two have an entry for each instance.
        std::vector<std::vector<core::vote>> votes;
        std::size_t turn = 0;  // The turn that sends it.
    };

    void add(const instance::redis::any_address& to,
             const instance::redis::redis_settings& settings) {
        instances_.push_back(
            make_instance(first_index_ + size(), to, settings, context_.get_executor(), *this));
    }

    [[nodiscard]] bool is_for(const sent& s, std::size_t which) const {
        return s.targets.contains(first_index_ + which);
    }

    [[nodiscard]] bool is_complete(const sent& s) const {
        for (std::size_t i = 0; i != size(); ++i) {
            if (is_for(s, i) && s.votes[i].empty()) {
                return false;
            }
        }
        return true;
    }

    /// Returns the position of the instance with this index.
    std::size_t position_of(std::size_t index) const {
        BOOST_TEST_REQUIRE(index - first_index_ < size());
        return index - first_index_;
    }

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point /*now*/) override {
        BOOST_TEST(!submitting_, "a vote inside submit");
        sent_.at(tag).votes[position_of(index)].push_back(vote);
        order_.push_back(tag);
        if (after_vote) {
            after_vote(tag);
        }
    }

    bool wanted(std::size_t index, instance::command_tag tag) const override {
        const std::size_t which = position_of(index);
        BOOST_TEST(is_for(sent_.at(tag), which));
        return sent_.at(tag).wanted[which];
    }

    void on_state_change(std::size_t index) override {
        position_of(index);
        ++state_changes_;
    }

    void on_key_changed(std::size_t /*index*/, std::string_view key) override {
        changed.emplace_back(key);
    }
    void on_all_keys_changed(std::size_t /*index*/) override { changed.emplace_back("*"); }
    void on_accepting(std::size_t index) override {
        position_of(index);
        ++accepting_calls_;
    }

    void on_pending(std::size_t index) override {
        position_of(index);
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

    std::size_t first_index_ = 3;  // Differs from all default values.
    boost::asio::io_context context_{1};
    std::vector<std::unique_ptr<instance::instance>> instances_;
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
