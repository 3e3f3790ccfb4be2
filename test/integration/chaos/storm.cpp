// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/storm.hpp"

#include <algorithm>
#include <iterator>

namespace colock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

const std::string client_stop = "client_stop";

const fault& fault_of(const std::string& kind) {
    return *std::ranges::find(instance_faults(), kind, &fault::name);
}

}  // namespace

storm::storm(test::servers& servers, test::proxies& network, fleet& clients, milliseconds ttl,
             const std::vector<std::string>& only, random_engine random)
    : clients_(clients), ttl_(ttl), random_(random), kinds_(only.empty() ? kinds() : only) {
    places_.reserve(servers.size());
    for (std::size_t i = 0; i != servers.size(); ++i) {
        places_.push_back({{servers[i], network[i]}});
    }
    for (const auto& kind : kinds_) {
        counts_[kind] = 0;
    }
}

/// An endless script keeps its server from answering. It would also block the thread that waits for the
/// reply, so the server is killed.
storm::~storm() {
    for (place& one : places_) {
        if (one.what.caller.joinable()) {
            one.what.server.kill();
        }
    }
}

std::vector<std::string> storm::kinds() {
    std::vector<std::string> names{client_stop};
    std::ranges::transform(instance_faults(), std::back_inserter(names), &fault::name);
    return names;
}

void storm::blow(time_point now) {
    end_what_is_due(now);
    if (now >= next_) {
        begin_one(now);
    }
}

void storm::calm_down() {
    end_what_is_due(time_point::max());
}

void storm::end_what_is_due(time_point now) {
    for (place& one : places_) {
        if (one.now != nullptr && now >= one.until) {
            end(one);
        }
    }
    if (paused_client_ && now >= client_wakes_) {
        clients_.resume(*paused_client_);
        paused_client_.reset();
    }
}

void storm::end(place& where) {
    where.now->end(where.what);
    where.now = nullptr;
    // A fault that ends without a command may end later than now.
    where.healed = std::max(steady_clock::now(), where.until);
}

void storm::begin_one(time_point now) {
    constexpr std::size_t minority = 2;
    const auto kind = next_kind();
    const bool possible = kind == client_stop
                              ? !paused_client_
                              : count_troubled() < std::min(minority, places_.size() / 2);
    if (!possible) {
        // A fault of another kind may be possible.
        std::ranges::rotate(deck_, std::next(deck_.begin()));
        return;
    }
    deck_.pop_front();
    if (kind == client_stop) {
        pause_a_client(now);
    } else {
        begin_at_a_well_one(fault_of(kind), now);
    }
    ++counts_[kind];
    next_ = now + between(100ms, 400ms);
}

void storm::begin_at_a_well_one(const fault& kind, time_point now) {
    std::vector<std::size_t> well;
    for (std::size_t i = 0; i != places_.size(); ++i) {
        if (!troubled(i)) {
            well.push_back(i);
        }
    }
    place& one =
        places_[well[std::uniform_int_distribution<std::size_t>(0, well.size() - 1)(random_)]];
    const auto duration = between(kind.shortest, kind.longest);
    one.now = &kind;
    one.until = now + duration;
    kind.begin(one.what, duration, random_);
}

/// The client is stopped for longer than the ttl, so its leases have expired when it resumes.
void storm::pause_a_client(time_point now) {
    paused_client_ = std::uniform_int_distribution<std::size_t>(0, clients_.size() - 1)(random_);
    client_wakes_ = now + between(ttl_ + ttl_ / 10, 2 * ttl_);
    clients_.pause(*paused_client_);
}

bool storm::troubled(std::size_t index) const {
    const place& one = places_[index];
    return one.now != nullptr || !clients_.all_ready(index, one.healed);
}

std::size_t storm::count_troubled() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i != places_.size(); ++i) {
        count += troubled(i) ? 1 : 0;
    }
    return count;
}

/// Reshuffles the deck when all kinds have been drawn.
std::string storm::next_kind() {
    if (deck_.empty()) {
        deck_.assign(kinds_.begin(), kinds_.end());
        std::ranges::shuffle(deck_, random_);
    }
    return deck_.front();
}

milliseconds storm::between(milliseconds shortest, milliseconds longest) {
    return milliseconds(std::uniform_int_distribution(shortest.count(), longest.count())(random_));
}

std::string storm::to_text() const {
    std::string text;
    for (std::size_t i = 0; i != places_.size(); ++i) {
        const std::string what = places_[i].now != nullptr ? places_[i].now->name
                                 : troubled(i)             ? "recovering"
                                                           : "";
        if (!what.empty()) {
            text += (text.empty() ? "" : ", ") + std::to_string(i) + " " + what;
        }
    }
    if (paused_client_) {
        text +=
            (text.empty() ? "client " : ", client ") + std::to_string(*paused_client_) + " stopped";
    }
    return text.empty() ? "all well" : text;
}

}  // namespace colock::chaos
