// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_RETIRED_NODES_HPP
#define COLOCK_INSTANCE_REDIS_RETIRED_NODES_HPP

#include "instance/redis/node.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace colock::instance::redis {

/// Nodes that an instance no longer uses, until their last command has its vote.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class retired_nodes {
public:
    /// Adds a node. The caller stops it next.
    void add(const std::shared_ptr<node>& one) {
        std::erase_if(all_, [](const auto& other) { return other.expired(); });
        all_.push_back(one);
    }

    /// Calls `node::forget` on each node.
    void forget() noexcept {
        for (const auto& one : all_) {
            if (const auto alive = one.lock()) {
                alive->forget();
            }
        }
    }

    [[nodiscard]] std::size_t in_flight() const {
        std::size_t result = 0;
        for (const auto& one : all_) {
            if (const auto alive = one.lock()) {
                result += alive->in_flight();
            }
        }
        return result;
    }

private:
    std::vector<std::weak_ptr<node>> all_;
};

}  // namespace colock::instance::redis

#endif
