#ifndef COLOCK_INSTANCE_REDIS_VOTERS_HPP
#define COLOCK_INSTANCE_REDIS_VOTERS_HPP

#include "instance/redis/address.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace colock::instance::redis {

/// The servers to which the instances of a client are connected: none is to vote twice.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class voters {
public:
    /// Instance `index` is connected to that server at that address, until it leaves. Gives the reason why it must
    /// not: another instance is connected to the same database of this server. Empty if there is none.
    std::string join(std::size_t index, const std::string& run_id, const address& to);
    void leave(std::size_t index, const address& to) noexcept;

private:
    struct voter {
        std::size_t index;
        std::string run_id;
        int database;
        std::string address;
    };
    std::vector<voter> all_;
};

}  // namespace colock::instance::redis

#endif
