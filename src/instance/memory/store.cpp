#include "instance/memory/store.hpp"

#include <algorithm>
#include <utility>

namespace colock::instance::memory {

using core::holder;
using core::verb;
using core::vote;

core::vote store::execute(const core::command& command, core::time_point now) {
    const auto found = find_live(command.key, now);
    const bool exists = found != keys_.end();
    const bool ours = exists && found->second.token == command.token;
    switch (command.verb) {
        case verb::acquire:
            if (exists) {
                return vote::denied(holder::another);
            }
            collect_expired(now);
            keys_.emplace(command.key, entry{std::string(command.token), now + command.ttl});
            return vote::granted();

        case verb::extend:
            if (ours) {
                found->second.expires = std::max(found->second.expires, now + command.ttl);
                return vote::granted();
            }
            break;

        case verb::release:
            if (ours) {
                keys_.erase(found);
                return vote::granted();
            }
            break;

        case verb::remaining:
            if (exists) {
                return vote::denied(holder::another, std::chrono::duration_cast<core::milliseconds>(
                                                         found->second.expires - now));
            }
            return vote::denied(holder::nobody, core::milliseconds(0));
    }
    return vote::denied(exists ? holder::another : holder::nobody);
}

store::key_map::iterator store::find_live(std::string_view key, core::time_point now) {
    const auto found = keys_.find(key);
    if (found != keys_.end() && found->second.expires <= now) {
        keys_.erase(found);
        return keys_.end();
    }
    return found;
}

/// Whenever the number of keys has doubled since the last time: amortised constant work.
void store::collect_expired(core::time_point now) {
    if (keys_.size() >= collect_at_) {
        std::erase_if(keys_, [now](const auto& item) { return item.second.expires <= now; });
        collect_at_ = std::max<std::size_t>(1024, 2 * keys_.size());
    }
}

}  // namespace colock::instance::memory
