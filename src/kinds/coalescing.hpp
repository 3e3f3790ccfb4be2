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

    /// The server does nothing else while it executes one command, so it is given no more at once.
    static constexpr std::size_t most = 64;

    /// Writes at least two commands, and at most `most`.
    virtual void encode(std::span<const command* const> commands, script_form form,
                        resp::command_writer& to) const = 0;

    /// What a reply that is no error means to the `index`-th of `count` commands.
    [[nodiscard]] virtual core::vote decode(std::size_t index, std::size_t count,
                                            const resp::value& reply) const = 0;

protected:
    constexpr coalescing() = default;
    ~coalescing() = default;
};

}  // namespace colock::kinds

#endif
