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

/// The operations that have finished, and whose callers are to hear of it in the next turn.
class completions {
public:
    explicit completions(turn_clock& when) : turns_(when) {}

    /// Has the operation's `deliver` called in the next turn.
    void add(std::shared_ptr<operation> finished) {
        finished_.push_back(std::move(finished));
        turns_.schedule();
    }

    /// In a turn: runs the handlers of what has finished until now; what finishes meanwhile has its turn later. A handler
    /// may throw out of it: the rest is for the next call.
    void deliver() {
        if (next_ == delivering_.size()) {
            delivering_.clear();
            next_ = 0;
            delivering_.swap(finished_);
        }
        while (next_ != delivering_.size()) {
            const auto operation = std::move(delivering_[next_++]);
            operation->deliver();
        }
    }

    [[nodiscard]] bool empty() const noexcept { return finished_.empty(); }

    /// Destroys them; their handlers are never called.
    void drop() noexcept {
        const auto finished = std::exchange(finished_, {});
        const auto delivering = std::exchange(delivering_, {});
        next_ = 0;
    }

private:
    turn_clock& turns_;
    std::vector<std::shared_ptr<operation>> finished_;
    std::vector<std::shared_ptr<operation>> delivering_;
    std::size_t next_ = 0;  // the first of `delivering_` that is still to be delivered
};

}  // namespace colock::runtime

#endif
