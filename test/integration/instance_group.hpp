// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_INSTANCE_GROUP_HPP
#define COLOCK_TEST_INTEGRATION_INSTANCE_GROUP_HPP

#include "instance_rig.hpp"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Tests all instances of one client together. A turn submits one batch for all of them.

namespace colock::test {

/// Instances that share an encoder and get the same batches. The group checks that each instance casts
/// exactly one vote on each command for it, and no other vote. Databases of one server may serve as several
/// instances here, which a client does not allow.
class instance_group final : public instance::vote_receiver, public instance::instance_observer {
public:
    using strings = std::vector<std::string>;

    explicit instance_group(const strings& uris,
                            instance::redis::redis_settings settings = quick_settings()) {
        for (const std::string& uri : uris) {
            settings.connected = std::make_shared<instance::redis::voters>();
            instances_.push_back(make_instance(instances_.size(), parse_instance_uri("uri", uri),
                                               settings, context_.get_executor(), *this));
        }
        for (const auto& one : instances_) {
            one->start();
        }
    }

    ~instance_group() {
        for (const auto& one : instances_) {
            one->stop();
        }
        context_.restart();
        context_.run_for(default_timeout);
        BOOST_TEST(context_.stopped(), "something of the instances still runs");
        for (const sent& s : sent_) {
            for (std::size_t i = 0; i != s.votes.size(); ++i) {
                BOOST_TEST(s.votes[i].size() == (s.is_for(i) ? 1U : 0U));
            }
        }
        for (const auto& one : instances_) {
            BOOST_TEST(one->snapshot().in_flight == 0U);
        }
    }

    instance_group(const instance_group&) = delete;
    instance_group& operator=(const instance_group&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return instances_.size(); }
    [[nodiscard]] instance::instance& operator[](std::size_t i) { return *instances_[i]; }

    /// Submits a command for all instances or some. Returns the tag of the command. Tags count from 0.
    instance::command_tag submit(const step_of_kind& what, std::string key, std::string token = {},
                                 core::instance_set targets = core::instance_set::all(),
                                 core::time_point deadline = core::never) {
        const auto tag = static_cast<instance::command_tag>(sent_.size());
        sent& s = sent_.emplace_back();
        s.key = std::move(key);
        s.token = std::move(token);
        s.targets = targets;
        s.wanted.resize(size(), true);
        s.votes.resize(size());
        kinds::command command = what.command();
        command.ticket = client_of(s.token);
        command.key = s.key;
        command.token = s.token;
        command.ttl = std::chrono::minutes(10);
        command.deadline = deadline;
        turn_.batch().submit({this, tag, targets, command});
        return tag;
    }

    /// Withdraws a command that has not been sent. Instance `index` must then not execute it.
    void withdraw(instance::command_tag tag, std::size_t index) {
        sent_.at(tag).wanted[index] = false;
        turn_.batch().reconsider();
    }

    /// Sends the commands submitted so far to all instances.
    void flush() {
        const auto batch = turn_.end();
        const core::time_point now = std::chrono::steady_clock::now();
        for (const auto& one : instances_) {
            one->send(batch, now);
        }
    }

    template <std::predicate Predicate>
    void run_until(Predicate predicate, boost::source_location location = BOOST_CURRENT_LOCATION) {
        const auto deadline = std::chrono::steady_clock::now() + default_timeout;
        while (!predicate()) {
            if (std::chrono::steady_clock::now() >= deadline) {
                throw deadline_passed(default_timeout, location);
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

    [[nodiscard]] bool voted(instance::command_tag tag, std::size_t index) const {
        return !sent_.at(tag).votes[index].empty();
    }

    /// Flushes, and returns the votes of all instances on all commands since the last call. There is one text
    /// for each command, in order, such as "granted, denied: another, none".
    strings votes(boost::source_location location = BOOST_CURRENT_LOCATION) {
        flush();
        strings result;
        for (; next_to_tell_ != sent_.size(); ++next_to_tell_) {
            const sent& s = sent_[next_to_tell_];
            std::string& text = result.emplace_back();
            for (std::size_t i = 0; i != size(); ++i) {
                if (s.is_for(i)) {
                    run_until([&] { return !s.votes[i].empty(); }, location);
                }
                text += (i == 0 ? "" : ", ") + (s.votes[i].empty() ? "none" : s.votes[i].front());
            }
        }
        return result;
    }

private:
    struct sent {
        std::string key;
        std::string token;
        core::instance_set targets;
        std::vector<bool> wanted;
        std::vector<strings> votes;

        [[nodiscard]] bool is_for(std::size_t index) const { return targets.contains(index); }
    };

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point /*now*/) override {
        sent_.at(tag).votes.at(index).push_back(to_text(vote));
    }

    bool wanted(std::size_t index, instance::command_tag tag) const override {
        BOOST_TEST(sent_.at(tag).is_for(index));
        return sent_.at(tag).wanted.at(index);
    }

    void on_state_change(std::size_t index) override { BOOST_TEST(index < size()); }

    void on_accepting(std::size_t index) override { BOOST_TEST(index < size()); }
    void on_key_changed(std::size_t /*index*/, std::string_view /*key*/) override {}
    void on_all_keys_changed(std::size_t /*index*/) override {}
    void on_pending(std::size_t index) override {
        BOOST_TEST(index < size());
        boost::asio::post(context_, [this] { flush(); });
    }

    boost::asio::io_context context_{1};
    std::vector<std::unique_ptr<instance::instance>> instances_;
    client_turn turn_;
    std::deque<sent> sent_;
    std::size_t next_to_tell_ = 0;
};

}  // namespace colock::test

#endif
