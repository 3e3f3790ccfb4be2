// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/fleet.hpp"

#include <algorithm>
#include <stdexcept>

namespace colock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// The time that a client needs to detect a change of its connections.
constexpr auto a_little = 100ms;

constexpr auto longest_answer = 20s;
constexpr auto longest_finish = 70s;  // Longer than a client needs.

}  // namespace

fleet::fleet(const std::string& client, const std::vector<client_settings>& all) {
    members_.reserve(all.size());
    for (const auto& one : all) {
        members_.push_back({{"client " + one.name, {client, nlohmann::json(one).dump()}}});
    }
}

void fleet::poll() {
    const auto now = steady_clock::now();
    for (member& one : members_) {
        if (one.paused) {
            continue;
        }
        read(one);
        if (!one.waiting) {
            one.process.tell("report");
            one.asked = now;
            one.waiting = true;
        } else if (now > std::max(one.asked, one.resumed) + longest_answer) {
            throw std::runtime_error(one.process.name() + ": does not answer");
        }
    }
}

void fleet::read(member& one) {
    if (const auto line = one.process.line()) {
        one.report = nlohmann::json::parse(*line).get<client_report>();
        one.reported = one.asked;
        one.waiting = false;
    }
}

bool fleet::all_ready(std::size_t instance, time_point since) const {
    return std::ranges::all_of(members_, [&](const member& one) {
        return one.paused || (one.reported > std::max(since, one.resumed) + a_little &&
                              one.report.ready.at(instance));
    });
}

void fleet::pause(std::size_t index) {
    member& one = members_.at(index);
    one.process.pause();
    one.paused = true;
}

void fleet::resume(std::size_t index) {
    member& one = members_.at(index);
    one.process.resume();
    one.paused = false;
    one.resumed = steady_clock::now();
}

client_report fleet::total() const {
    client_report sum;
    for (const member& one : members_) {
        sum.sections += one.report.sections;
        sum.cancelled += one.report.cancelled;
        sum.lost += one.report.lost;
        sum.renewed += one.report.renewed;
        sum.unavailable += one.report.unavailable;
    }
    return sum;
}

void fleet::finish() {
    for (member& one : members_) {
        if (one.waiting) {
            one.process.wait_for_line(longest_answer);
        }
        one.process.tell("finish");
    }
    for (member& one : members_) {
        const auto last = one.process.wait_for_line(longest_finish);
        one.report = nlohmann::json::parse(last).get<client_report>();
    }
}

}  // namespace colock::chaos
