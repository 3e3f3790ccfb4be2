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
    /// The address of the other instance that is connected to the same database of this server; empty if there is
    /// none, and then the server is that of instance `index` until it leaves.
    std::string join(std::size_t index, const std::string& run_id, const address& to);
    void leave(std::size_t index) noexcept;

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
