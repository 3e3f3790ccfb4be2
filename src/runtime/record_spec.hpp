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

/// What an object for a record and its operations have in common: the client, the record's name, and the options, checked.
struct record_spec {
    std::shared_ptr<client_context> owner;
    const kinds::lock_kind* kind = nullptr;
    std::string key;  ///< prefix and resource, the name at the instance
    std::size_t prefix_size = 0;
    std::size_t longest_value = std::size_t{64} << 20U;  ///< That a write may have.
    core::milliseconds ttl{0};  ///< of a value; 0: it does not end by itself
    core::backoff retry;
    core::duration unavailable_timeout{};
    std::size_t longest_in_reply = std::size_t{64}
                                   << 20U;  ///< a longer value would end the connection

    [[nodiscard]] std::string_view resource() const noexcept {
        return std::string_view(key).substr(prefix_size);
    }
};

}  // namespace colock::runtime

#endif
