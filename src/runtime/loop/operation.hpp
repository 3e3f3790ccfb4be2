// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_OPERATION_HPP
#define COLOCK_RUNTIME_LOOP_OPERATION_HPP

#include <memory>
#include <utility>

namespace colock::runtime {

/// An operation that a caller has started and waits for. The layer above derives from each kind and adds the
/// caller's handler.
///
/// It keeps itself alive from `start` until it has finished, so that few other objects need to share it.
/// Atomic reference counts took a sixth of the CPU time of a lock.
///
/// All members are called on the engine's executor.
class operation {
public:
    operation() = default;
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    virtual ~operation() = default;

    /// Starts. It may finish immediately, but the caller is notified later. If it throws, the caller is not
    /// notified.
    void start(std::shared_ptr<operation> self) {
        self_ = std::move(self);
        try {
            on_start();
        } catch (...) {
            if (const auto dying = take()) {
                on_not_started();
            }
            throw;
        }
    }

    /// Cancels the operation. No effect once it has finished.
    virtual void cancel() = 0;

    /// Calls the caller's handler with the result. The engine calls it once, after the operation has
    /// finished, from its own turn. A handler therefore never runs inside another loop.
    virtual void deliver() = 0;

    [[nodiscard]] bool running() const noexcept { return self_ != nullptr; }

    /// Null unless it is running.
    [[nodiscard]] const std::shared_ptr<operation>& self() const noexcept { return self_; }

    /// Ends the operation. The caller schedules its delivery or drops it.
    [[nodiscard]] std::shared_ptr<operation> take() noexcept { return std::move(self_); }

protected:
    virtual void on_start() = 0;
    /// `on_start` has thrown. Leaves what it has joined.
    virtual void on_not_started() {}

private:
    friend class completions;

    std::shared_ptr<operation> self_;   // While running.
    std::shared_ptr<operation> after_;  // The next one that has finished.
};

}  // namespace colock::runtime

#endif
