// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_OPERATION_HPP
#define COLOCK_RUNTIME_LOOP_OPERATION_HPP

#include <memory>
#include <utility>

namespace colock::runtime {

/// Something that a caller has started and waits for. The layer above derives from each kind and
/// adds the caller's handler.
///
/// It keeps itself alive from `start` until it has finished, so that few others need a share in it:
/// counting references, which another thread might do too, was a sixth of what a lock cost.
///
/// All members are called on the engine's executor.
class operation {
public:
    operation() = default;
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    virtual ~operation() = default;

    /// Begins. May finish at once; the caller hears of it later.
    void start(std::shared_ptr<operation> self) {
        self_ = std::move(self);
        on_start();
    }

    /// The caller does not want it any more. No effect once finished.
    virtual void cancel() = 0;

    /// Calls the caller's handler with the result. The engine calls it once, after the operation has
    /// finished, from its own turn, so that a handler runs on top of no one's loop.
    virtual void deliver() = 0;

    [[nodiscard]] bool running() const noexcept { return self_ != nullptr; }

    /// Null unless it is running.
    [[nodiscard]] const std::shared_ptr<operation>& self() const noexcept { return self_; }

    /// Ends the running: the caller has it delivered, or drops it.
    [[nodiscard]] std::shared_ptr<operation> take() noexcept { return std::move(self_); }

protected:
    virtual void on_start() = 0;

private:
    std::shared_ptr<operation> self_;  // while running
};

}  // namespace colock::runtime

#endif
