// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_COMPLETIONS_HPP
#define COLOCK_RUNTIME_LOOP_COMPLETIONS_HPP

#include "runtime/loop/operation.hpp"
#include "runtime/loop/turn_clock.hpp"

#include <memory>
#include <utility>

namespace colock::runtime {

/// The finished operations whose callers will be notified in the next turn. An addition needs no memory.
class completions {
public:
    explicit completions(turn_clock& when) : turns_(when) {}
    completions(const completions&) = delete;
    completions& operator=(const completions&) = delete;
    ~completions() { drop(); }

    /// Schedules `deliver` of the operation for the next turn.
    void add(std::shared_ptr<operation> finished) noexcept {
        std::shared_ptr<operation>& place = last_ == nullptr ? finished_ : last_->after_;
        last_ = finished.get();
        place = std::move(finished);
        turns_.schedule();
    }

    /// Called in a turn. Selects the operations that have finished so far for `deliver`. Later ones follow in the
    /// next turn.
    void collect() noexcept {
        if (delivering_ == nullptr) {
            delivering_ = std::move(finished_);
            last_ = nullptr;
        }
    }

    /// Runs the handlers of the selected operations. A handler may throw, and the next call continues with the
    /// rest.
    void deliver() {
        while (const auto operation = take_first(delivering_)) {
            operation->deliver();
        }
    }

    [[nodiscard]] bool empty() const noexcept { return finished_ == nullptr; }

    /// Destroys the operations without calls of their handlers.
    void drop() noexcept {
        last_ = nullptr;
        for (auto* const list : {&delivering_, &finished_}) {
            while (take_first(*list)) {  // One by one, because one owns the next.
            }
        }
    }

private:
    static std::shared_ptr<operation> take_first(std::shared_ptr<operation>& list) noexcept {
        auto first = std::move(list);
        if (first) {
            list = std::move(first->after_);
        }
        return first;
    }

    turn_clock& turns_;
    std::shared_ptr<operation> finished_;
    operation* last_ = nullptr;  // Of `finished_`.
    std::shared_ptr<operation> delivering_;
};

}  // namespace colock::runtime

#endif
