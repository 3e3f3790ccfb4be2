#include "instance/redis/voters.hpp"

namespace colock::instance::redis {

std::string voters::join(std::size_t index, const std::string& run_id, const address& to) {
    if (run_id.empty()) {
        return {};  // nobody can tell
    }
    for (const voter& other : all_) {
        if (other.index != index && other.run_id == run_id && other.database == to.database) {
            return "it is the same server as " + other.address + " (run_id " + run_id + ")";
        }
    }
    leave(index, to);
    all_.push_back({index, run_id, to.database, to.display});
    return {};
}

void voters::leave(std::size_t index, const address& to) noexcept {
    std::erase_if(
        all_, [&](const voter& one) { return one.index == index && one.address == to.display; });
}

}  // namespace colock::instance::redis
