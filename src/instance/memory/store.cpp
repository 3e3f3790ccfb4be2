#include "instance/memory/store.hpp"

#include "instance/auxiliary_key.hpp"
#include "instance/fence.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace colock::instance::memory {

using core::key_state;
using core::verb;
using core::vote;

namespace {

vote used_up() {
    return vote::failed(core::failure::server_error,
                        std::make_shared<const std::string>(
                            "FENCE the fence counter holds no number below 2^53 to go on with"));
}

}  // namespace

core::vote store::execute(const core::command& command, core::time_point now, wall_time wall) {
    changes_.clear();
    const auto found = find_live(command.key, now);
    const bool exists = found != keys_.end();
    const bool ours = exists && found->second.token == command.token;
    switch (command.verb) {
        case verb::acquire:
        case verb::acquire_fenced:
            if (exists) {
                return vote::denied(key_state::foreign);
            }
            return take(command, now, wall);

        case verb::extend:
            if (ours) {
                found->second.expires = std::max(found->second.expires, now + command.ttl);
                changes_.emplace_back(command.key);
                return vote::granted();
            }
            break;

        case verb::release:
            if (ours) {
                keys_.erase(found);
                changes_.emplace_back(command.key);
                return vote::granted();
            }
            break;

        case verb::remaining:
            if (exists) {
                return vote::denied(
                    key_state::foreign,
                    std::chrono::duration_cast<core::milliseconds>(found->second.expires - now));
            }
            return vote::denied(key_state::absent, core::milliseconds(0));

        case verb::join_queue:
            return join(command, now);
        case verb::leave_queue:
            return leave(command, now);

        case verb::count_fence: {
            const std::uint64_t fence = count(command, now, wall);
            return fence == 0 ? used_up() : vote::granted(fence);
        }

        case verb::raise_fence:
            if (ours) {
                const std::uint64_t fence = count(command, now, wall);
                return fence == 0 ? used_up() : vote::granted(fence);
            }
            break;
    }
    return vote::denied(exists ? key_state::foreign : key_state::absent);
}

store::key_map::iterator store::find_live(std::string_view key, core::time_point now) {
    const auto found = keys_.find(key);
    if (found != keys_.end() && found->second.expires <= now) {
        keys_.erase(found);
        return keys_.end();
    }
    return found;
}

/// As the scripts do: see fence.lua.
std::uint64_t store::next_fence(const core::command& command, core::time_point now,
                                wall_time wall) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(wall);
    const auto floor = static_cast<std::uint64_t>(seconds.count()) << fence_second_bits;
    const auto found = counters_.find(command.key);
    if (found == counters_.end() || found->second.expires <= now) {
        const auto seed = floor | static_cast<std::uint64_t>((wall - seconds).count());
        return std::max(seed, command.fence);
    }
    const std::uint64_t value = found->second.value;
    return command.fence == 0 ? std::max(value + 1, floor) : std::max(value, command.fence);
}

/// Moves the counter on; 0 if it cannot be.
std::uint64_t store::count(const core::command& command, core::time_point now, wall_time wall) {
    const std::uint64_t value = next_fence(command, now, wall);
    if (value >= core::fence_limit) {
        return 0;
    }
    counters_.insert_or_assign(std::string(command.key), counter{value, now + fence_idle});
    return value;
}

/// The counter first, so that nobody has the key whom it has not counted.
core::vote store::take(const core::command& command, core::time_point now, wall_time wall) {
    collect_expired(now);
    vote granted = vote::granted();
    if (command.verb == verb::acquire_fenced) {
        granted.fence = count(command, now, wall);
        if (granted.fence == 0) {
            return used_up();
        }
    }
    write(command.key, command.token, now + command.ttl);
    return granted;
}

void store::write(std::string_view key, std::string_view token, core::time_point expires) {
    keys_.insert_or_assign(std::string(key), entry{std::string(token), expires});
    changes_.emplace_back(key);
}

/// As join.lua.
core::vote store::join(const core::command& command, core::time_point now) {
    collect_expired(now);
    const std::string ticket = ticket_key(command.key, command.fence);
    const auto ours = find_live(ticket, now);
    if (ours != keys_.end() && !ours->second.token.empty()) {
        return vote::failed(core::failure::server_error,
                            std::make_shared<const std::string>("QUEUE the key " + ticket +
                                                                " was not written by colock"));
    }
    if (ours == keys_.end() || ours->second.expires - now < command.ttl / 2) {
        write(ticket, {}, now + command.ttl);
    }
    queue& waiting = queues_[std::string(command.key)];
    if (waiting.expires <= now) {
        waiting.numbers.clear();
    }
    waiting.expires = now + command.ttl;
    auto at = std::find(waiting.numbers.begin(), waiting.numbers.end(), command.fence);
    if (at == waiting.numbers.end()) {
        at = waiting.numbers.insert(at, command.fence);
    }
    while (at != waiting.numbers.begin()) {
        --at;
        if (find_live(ticket_key(command.key, *at), now) != keys_.end()) {
            return vote::granted(*at);
        }
        at = waiting.numbers.erase(at);
    }
    return vote::granted(std::uint64_t{0});
}

/// As leave.lua.
core::vote store::leave(const core::command& command, core::time_point now) {
    const auto ours = find_live(ticket_key(command.key, command.fence), now);
    if (ours != keys_.end() && ours->second.token.empty()) {
        changes_.push_back(ours->first);
        keys_.erase(ours);
    }
    const auto found = queues_.find(command.key);
    if (found == queues_.end() || found->second.expires <= now) {
        return vote::granted(std::uint64_t{0});
    }
    std::erase(found->second.numbers, command.fence);
    const std::size_t left = found->second.numbers.size();
    if (left == 0) {
        queues_.erase(found);
    }
    return vote::granted(left);
}

void store::forget_counter(std::string_view key) {
    counters_.erase(std::string(key));
}

/// Whenever the number of keys has doubled since the last time: amortised constant work.
void store::collect_expired(core::time_point now) {
    if (keys_.size() + counters_.size() + queues_.size() >= collect_at_) {
        const auto is_over = [now](const auto& item) { return item.second.expires <= now; };
        std::erase_if(keys_, is_over);
        std::erase_if(counters_, is_over);
        std::erase_if(queues_, is_over);
        collect_at_ =
            std::max<std::size_t>(1024, 2 * (keys_.size() + counters_.size() + queues_.size()));
    }
}

}  // namespace colock::instance::memory
