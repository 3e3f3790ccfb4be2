// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_COMPLETIONS_HPP
#define COLOCK_RUNTIME_LOOP_COMPLETIONS_HPP

#include "runtime/loop/operation.hpp"
#include "runtime/loop/turn_clock.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace colock::runtime {

/// The finished operations whose callers will be notified in the next turn.
class completions {
public:
    explicit completions(turn_clock& when) : turns_(when) {}

    /// Schedules `deliver` of the operation for the next turn.
    void add(std::shared_ptr<operation> finished) {
        finished_.push_back(std::move(finished));
        turns_.schedule();
    }

    /// Called in a turn. Selects the operations that have finished so far for `deliver`. Later ones follow in the
    /// next turn.
    void collect() {
        if (next_ == delivering_.size()) {
            delivering_.clear();
            next_ = 0;
            delivering_.swap(finished_);
        }
    }

    /// Runs the handlers of the selected operations. A handler may throw, and the next call continues with the
    /// rest.
    void deliver() {
        while (next_ != delivering_.size()) {
            const auto operation = std::move(delivering_[next_++]);
            operation->deliver();
        }
    }

    [[nodiscard]] bool empty() const noexcept { return finished_.empty(); }

    /// Destroys the operations without calls of their handlers.
    void drop() noexcept {
        const auto finished = std::exchange(finished_, {});
        const auto delivering = std::exchange(delivering_, {});
        next_ = 0;
    }

private:
    turn_clock& turns_;
    std::vector<std::shared_ptr<operation>> finished_;
    std::vector<std::shared_ptr<operation>> delivering_;
    std::size_t next_ = 0;  // The first undelivered element of `delivering_`.
};

}  // namespace colock::runtime

#endif
