// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_ENVIRONMENT_HPP
#define COLOCK_RUNTIME_ENVIRONMENT_HPP

#include "core/time.hpp"

#include <cstdint>

namespace colock::runtime {

/// The world as an engine sees it: the time, the loop that it runs in, and chance. Made of Asio in a program (see
/// `asio_host`), and of virtual time in tests and in the simulation. Nothing else in this layer reads a clock.
class environment {
public:
    environment() = default;
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;

    /// The time on the library's clock: see `core::time_point`.
    [[nodiscard]] virtual core::time_point now() const noexcept = 0;

    /// Has `engine::turn` called soon, once, but not before this returns.
    virtual void defer() = 0;

    /// Has `engine::wake` called at that time, or somewhat before it, in place of any time that was set earlier;
    /// `core::never` clears it.
    virtual void wake_at(core::time_point when) = 0;

    /// 64 random bits: tokens consist of them.
    virtual std::uint64_t random() noexcept = 0;

protected:
    ~environment() = default;
};

}  // namespace colock::runtime

#endif
