#ifndef COLOCK_RUNTIME_OPERATION_HPP
#define COLOCK_RUNTIME_OPERATION_HPP

#include <memory>

namespace colock::runtime {

/// Something that a caller has started and waits for. The floor above derives from each kind and
/// adds the caller's handler.
///
/// All members are called on the engine's executor.
class operation : public std::enable_shared_from_this<operation> {
public:
    operation() = default;
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    virtual ~operation() = default;

    /// Begins. May `finish` at once; the caller hears of it later.
    virtual void start() = 0;

    /// The caller does not want it any more. No effect once finished.
    virtual void cancel() = 0;

    /// Calls the caller's handler with the result. The engine calls it once, after `finish`, from
    /// its own turn, so that a handler runs on top of no one's loop.
    virtual void deliver() = 0;
};

}  // namespace colock::runtime

#endif
