// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_RECORD_SPEC_HPP
#define COLOCK_RUNTIME_RECORD_SPEC_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "kinds/kind.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace colock::runtime {

struct client_context;

/// The common part of a record object and its operations: the client, the record's name, and the checked
/// options.
struct record_spec {
    std::shared_ptr<client_context> owner;
    const kinds::lock_kind* kind = nullptr;
    std::string key;  ///< Prefix and resource: the name on the instance.
    std::size_t prefix_size = 0;
    std::size_t longest_value = std::size_t{64} << 20U;  ///< The limit of a write.
    core::milliseconds ttl{0};                           ///< Of a value. 0 = it does not expire.
    core::backoff retry;
    core::duration unavailable_timeout{};
    std::size_t longest_in_reply = std::size_t{64}
                                   << 20U;  ///< A longer value would end the connection.

    [[nodiscard]] std::string_view resource() const noexcept {
        return std::string_view(key).substr(prefix_size);
    }
};

}  // namespace colock::runtime

#endif
