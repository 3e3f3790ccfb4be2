// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "interop/scenarios.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace colock::interop {
namespace {

using namespace std::chrono_literals;

// Far longer than any scenario, so a lock becomes free only by a release.
const std::string long_ttl = " 10000";
constexpr auto long_ttl_ms = 10'000;
const std::string longer_ttl = " 60000";
constexpr auto short_ttl = 1s;
const std::string short_ttl_ms = " 1000";

constexpr auto hand_over_bound = 2s;  // node-redlock waits 300 ms between attempts, colock 250 ms.
constexpr auto clock_slack = 10ms;    // Between the clocks of the servers and of this process.

void let_wait() {
    std::this_thread::sleep_for(300ms);
}

double ms(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

/// Returns whether every server that held the lock's current token still holds it. The current token is the
/// one on most servers. On the others, the former holder's key may have been about to expire.
bool still_has_all(const std::vector<std::string>& before, const std::vector<std::string>& now) {
    const std::string& token = *std::ranges::max_element(
        before, {}, [&](const std::string& one) { return std::ranges::count(before, one); });
    for (std::size_t i = 0; i != before.size(); ++i) {
        if (before[i] == token && now[i] != token) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::chrono::nanoseconds scenarios::hand_off() {
    const auto what = label("hand over");
    const std::string name = "interop:hand_off";
    expect_word(first_.ask("take " + name + long_ttl), "taken", what);
    expect_word(second_.ask("take " + name + long_ttl), "denied", what + ", while it is held");
    expect_word(first_.ask("release " + name), "released", what);
    expect_word(second_.ask("take " + name + long_ttl), "taken",
                what + ", right after the release");

    first_.tell("wait " + name + long_ttl);
    let_wait();
    const auto released = second_.ask("release " + name);
    const auto taken = first_.answer();
    expect_word(released, "released", what);
    expect_word(taken, "taken", what + ", waiting");
    const auto late = taken.ended - released.began;
    findings_.expect(late >= 0ns, what + ": the waiting one had the lock before the release");
    findings_.expect(late <= hand_over_bound,
                     what + ": took " + std::to_string(ms(late)) + " ms after the release");
    expect_word(first_.ask("release " + name), "released", what);
    return late;
}

void scenarios::extended() {
    const auto what = label("extended");
    const std::string name = "interop:extended";
    constexpr int tries = 5;
    for (int i = 1;; ++i) {
        const auto taken = first_.ask("take " + name + short_ttl_ms);
        expect_word(taken, "taken", what);
        const auto extended = first_.ask("extend " + name + long_ttl);
        if (extended.word == "refused" && extended.ended - taken.began >= short_ttl && i < tries) {
            first_.ask("release " + name);  // This machine was too slow.
            continue;
        }
        expect_word(extended, "extended", what);
        break;
    }
    std::this_thread::sleep_for(short_ttl + clock_slack);
    expect_word(second_.ask("take " + name + long_ttl), "denied", what + ", after the first ttl");
    expect_word(first_.ask("release " + name), "released", what);
    expect_word(second_.ask("take " + name + long_ttl), "taken", what + ", after the release");
    expect_word(second_.ask("release " + name), "released", what);
}

void scenarios::stale() {
    const std::string name = "interop:stale";
    for (const bool extend : {true, false}) {
        const auto what = label(extend ? "stale extend" : "stale release");
        expect_word(first_.ask("take " + name + long_ttl), "taken", what);
        // The servers lose the key. The holder does not detect this until it asks them.
        remove(name, servers_.size());
        expect_word(second_.ask("take " + name + long_ttl), "taken", what + ", by the other");
        const auto before = values(name);
        if (extend) {
            expect_word(first_.ask("extend " + name + longer_ttl), "refused", what);
        }
        expect_word(first_.ask("release " + name), "refused", what);
        findings_.expect(values(name) == before, what + ": the other's keys were changed");
        for (const auto& server : servers_) {
            const auto left = std::stol(server.command({"PTTL", name}).value_or("0"));
            findings_.expect(left <= long_ttl_ms, what + ": the other's ttl was changed");
        }
        expect_word(second_.ask("release " + name), "released", what + ", by the other");
    }
}

std::chrono::nanoseconds scenarios::expired() {
    const auto what = label("expired");
    const std::string name = "interop:expired";
    const auto abandoned = first_.ask("take " + name + short_ttl_ms);
    expect_word(abandoned, "taken", what);
    first_.pause();
    const auto taken = second_.ask("wait " + name + long_ttl);
    expect_word(taken, "taken", what + ", after the ttl");
    const auto late = taken.ended - (abandoned.ended + short_ttl);
    findings_.expect(taken.ended - abandoned.began >= short_ttl - clock_slack,
                     what + ": taken over before the ttl was over");
    findings_.expect(late <= hand_over_bound,
                     what + ": taken over only " + std::to_string(ms(late)) + " ms after the ttl");
    const auto before = values(name);
    first_.resume();
    expect_word(first_.ask("release " + name), "refused", what + ", too late");
    findings_.expect(still_has_all(before, values(name)), what + ": the other's keys were changed");
    expect_word(second_.ask("release " + name), "released", what);
    return late;
}

void scenarios::minorities() {
    const auto what = label("minorities");
    const std::string name = "interop:minorities";
    const std::string strange = "strange";

    plant(name, 2);
    expect_word(first_.ask("take " + name + long_ttl), "taken", what + ", with two strange keys");
    expect_word(second_.ask("take " + name + long_ttl), "denied", what + ", while it is held");
    expect_word(first_.ask("release " + name), "released", what);
    expect_word(second_.ask("take " + name + long_ttl), "taken", what + ", with two strange keys");
    expect_word(second_.ask("release " + name), "released", what);
    const std::vector<std::string> only_strange{strange, strange, "none", "none", "none"};
    findings_.expect_soon([&] { return values(name) == only_strange; },
                          what + ": not only the strange keys are left after the releases");

    plant(name, 3);
    expect_word(first_.ask("take " + name + long_ttl), "denied",
                what + ", with three strange keys");
    const std::vector<std::string> undone{strange, strange, strange, "none", "none"};
    findings_.expect_soon([&] { return values(name) == undone; },
                          what + ": not only the strange keys are left after a failed attempt");
    remove(name, 3);
    expect_word(second_.ask("take " + name + long_ttl), "taken", what + ", after a failed attempt");
    expect_word(second_.ask("release " + name), "released", what);
}

void scenarios::leftovers() {
    const auto what = label("leftovers");
    const std::string name = "interop:leftovers";
    constexpr int tries = 10;
    for (int i = 1;; ++i) {
        plant(name, 3);
        second_.tell("wait " + name + long_ttl);
        test::wait_until([&] { return servers_.holding(name) == servers_.size(); });
        remove(name, 3);
        const auto taken = first_.ask("take " + name + long_ttl);
        if (taken.word == "taken") {
            findings_.expect(servers_.holding(name) == servers_.size(),
                             what + ": keys are missing");
            let_wait();
            const auto released = first_.ask("release " + name);
            expect_word(released, "released", what);
            const auto then = second_.answer();
            expect_word(then, "taken", what + ", by the other");
            findings_.expect(then.ended >= released.began, what + ": both had the lock");
            expect_word(second_.ask("release " + name), "released", what);
            return;
        }
        // Only if the next attempt of the other came first.
        expect_word(second_.answer(), "taken", what + ", by the other");
        expect_word(second_.ask("release " + name), "released", what);
        if (i == tries) {
            findings_.expect(false, what + ": kept out " + std::to_string(tries) + " times");
            return;
        }
    }
}

std::vector<std::string> scenarios::values(const std::string& key) const {
    std::vector<std::string> values;
    for (const auto& server : servers_) {
        values.push_back(server.command({"GET", key}).value_or("none"));
    }
    return values;
}

void scenarios::plant(const std::string& key, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        servers_[i].command({"SET", key, "strange", "PX", "30000"});
    }
}

void scenarios::remove(const std::string& key, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        servers_[i].command({"DEL", key});
    }
}

void scenarios::expect_word(const reply& got, const char* word, const std::string& what) {
    findings_.expect(got.word == word, what + ": " + got.word + " instead of " + word);
}

std::string scenarios::label(const std::string& scenario) const {
    return scenario + " (" + first_.kind() + ", " + second_.kind() + ")";
}

}  // namespace colock::interop
