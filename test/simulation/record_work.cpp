// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/record_work.hpp"

#include "simulation/client.hpp"

#include "kinds/versioned/versioned.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulation {
namespace {

constexpr std::size_t different_values = 3;  // Few, so values recur.
constexpr std::size_t most_tries = 5;        // Of an update.

/// Returns the next value, as the function of an update computes it.
std::string value_after(const stored_record& now) {
    return std::to_string(now.value ? (std::stoul(*now.value) + 1) % different_values : 0);
}

bool has_answer(const record_life& life) {
    return life.outcome == core::write_outcome::applied ||
           life.outcome == core::write_outcome::refused;
}

}  // namespace

record_call::record_call(client& by, std::shared_ptr<const runtime::record_spec> spec,
                         const runtime::record_request& request, handler on_finished)
    : record_operation(spec, request),
      client_(by),
      on_finished_(std::move(on_finished)),
      life_(std::make_shared<record_life>()) {
    life_->client = by.who();
    life_->key = spec->key;
    life_->request = request;
    life_->ttl = request.value ? spec->ttl : core::milliseconds(0);
    life_->patience = spec->unavailable_timeout;
    life_->longest_pause =
        request.tries == 0 ? core::duration::zero() : spec->retry.longest_total(request.tries);
}

void record_call::deliver() {
    life_->outcome = result();
    life_->reported.version = version();
    life_->reported.value = take_value();
    client_.records().on_delivered(*this);
    on_finished_(*life_);
}

std::shared_ptr<const runtime::record_spec> record_work::some_spec(const std::string& name) {
    dice& random = world_.random;
    auto spec = std::make_shared<runtime::record_spec>();
    spec->owner = client_.owner();
    spec->kind = &kinds::versioned;
    spec->key = name;
    spec->ttl = random.chance(0.5) ? core::milliseconds(0)
                                   : core::milliseconds(10 + static_cast<int>(random.below(200)));
    spec->retry = {1ms, 16ms};
    spec->unavailable_timeout = random.chance(0.15) ? 0ms : random.between(20ms, 400ms);
    return spec;
}

void record_work::start(const std::vector<std::string>& records,
                        const std::vector<std::string>& locks, true_time end) {
    end_ = end;
    hurries_ = world_.random.chance(0.2);
    const std::size_t users = 1 + world_.random.below(2);
    for (std::size_t i = 0; i != users; ++i) {
        user& u = users_.emplace_back();
        u.known.resize(records.size());
        for (const std::string& name : records) {
            u.records.push_back(some_spec(name));
        }
        for (const std::string& name : locks) {
            u.locks.push_back(some_spec(name));
        }
        think(u);
    }
}

void record_work::think(user& u) {
    const duration longest = hurries_ ? 200us : world_.random.chance(0.7) ? 5ms : 60ms;
    client_.post(world_.now() + world_.random.up_to(longest), [this, &u] { work(u); });
}

void record_work::work(user& u) {
    dice& random = world_.random;
    if (world_.now() >= end_ || client_.engine().closing()) {
        return;
    }
    const std::size_t which = random.chance(0.75) ? 0 : random.below(u.records.size());
    if (random.chance(0.03)) {
        begin(u.locks[random.below(u.locks.size())], {},
              [this, &u](const record_life&) { think(u); });
    } else if (random.chance(0.3)) {
        begin(u.records[which], {}, learning(u, which));
    } else if (random.chance(0.6)) {
        write(u, which);
    } else {
        update(u, which, 0);
    }
}

/// Writes, mostly from the latest version that the user has seen.
void record_work::write(user& u, std::size_t which) {
    dice& random = world_.random;
    runtime::record_request request;
    request.writes = true;
    if (random.chance(0.75)) {
        request.value = std::to_string(random.below(different_values));
    }
    const std::uint64_t known = u.known[which];
    request.expected = random.chance(0.9) ? known : random.chance(0.5) ? 0 : known + 1;
    begin(u.records[which], request, learning(u, which));
}

/// Updates as `versioned::update` does: reads a value and writes the next one. After a refusal it starts
/// again.
void record_work::update(user& u, std::size_t which, std::size_t tries) {
    runtime::record_request read;
    read.tries = tries;
    begin(u.records[which], read, [this, &u, which, tries](const record_life& found) {
        if (!has_answer(found)) {
            think(u);
            return;
        }
        runtime::record_request request;
        request.writes = true;
        request.expected = found.reported.version;
        request.value = value_after(found.reported);
        begin(u.records[which], request, [this, &u, which, tries](const record_life& written) {
            if (written.outcome == core::write_outcome::refused && tries + 1 != most_tries) {
                update(u, which, tries + 1);
            } else {
                learning(u, which)(written);
            }
        });
    });
}

/// Returns a handler that records the reported version for the user.
record_call::handler record_work::learning(user& u, std::size_t which) {
    return [this, &u, which](const record_life& life) {
        if (has_answer(life)) {
            u.known[which] = life.reported.version;
        }
        think(u);
    };
}

void record_work::begin(const std::shared_ptr<const runtime::record_spec>& on,
                        const runtime::record_request& request, record_call::handler on_finished) {
    const auto made = std::make_shared<record_call>(client_, on, request, std::move(on_finished));
    client_.record_rules().on_started(*made->life());
    running_.push_back(made);
    client_.act([&] { made->start(made); });
    if (world_.goes_wrong(world_.faults().cancellations)) {
        client_.post(world_.now() + world_.random.up_to(5ms), [this, made] {
            if (made->running()) {
                world_.count(fault::cancellation);
                client_.act([&] { made->cancel(); });
            }
        });
    }
}

void record_work::on_delivered(const record_call& one) {
    const auto found = std::ranges::find(running_, &one, [](const auto& r) { return r.get(); });
    const auto last = *found;
    running_.erase(found);
    record_life& life = *last->life();
    life.ended = world_.now();
    if (world_.tracing()) {
        world_.tell(client_.who(), "is told of its " +
                                       std::string(life.request.writes ? "write" : "read") +
                                       " of " + life.key + ": outcome " +
                                       std::to_string(static_cast<int>(*life.outcome)) +
                                       ", version " + std::to_string(life.reported.version));
    }
    client_.record_rules().on_told(life);
}

/// Checks that an operation ends when its time for retries is over.
void record_work::expect_in_time() const {
    constexpr duration grace = 5ms;  // For a slow turn.
    for (const auto& one : running_) {
        const record_life& life = *one->life();
        const true_time since = std::max(life.started, client_.paused_until());
        const duration longest = (life.patience + life.longest_pause) * 5 / 4 + grace;
        if (life.patience != core::duration::zero() && world_.now() > since + longest) {
            world_.violation("deadline", client_.who() + " has not been told of its operation on " +
                                             life.key + " in time");
        }
    }
}

}  // namespace colock::simulation
