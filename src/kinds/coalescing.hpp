// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_COALESCING_HPP
#define COLOCK_KINDS_COALESCING_HPP

#include "core/vote.hpp"
#include "kinds/capabilities.hpp"
#include "kinds/command.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"

#include <cstddef>
#include <span>

namespace colock::kinds {

/// A way to send adjacent commands, of one kind or of several, as one command with one reply.
///
/// Thread-safe.
class coalescing {
public:
    coalescing(const coalescing&) = delete;
    coalescing& operator=(const coalescing&) = delete;

    /// Maximum number of combined commands. While a server executes one command, it does nothing else.
    static constexpr std::size_t most = 64;

    /// Writes up to `most` commands as one.
    virtual void encode(std::span<const command* const> commands, script_form form,
                        resp::command_writer& to) const = 0;

    /// Returns the vote on the `index`-th of `count` commands. The reply is not an error.
    [[nodiscard]] virtual core::vote decode(std::size_t index, std::size_t count,
                                            const resp::value& reply) const = 0;

protected:
    constexpr coalescing() = default;
    ~coalescing() = default;
};

}  // namespace colock::kinds

#endif
