// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_MEMORY_MEMORY_INSTANCE_HPP
#define COLOCK_INSTANCE_MEMORY_MEMORY_INSTANCE_HPP

#include "instance/instance.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace colock::instance::memory {

/// Creates an instance inside this process. All instances with the same name share their keys, even across
/// clients. The keys exist as long as one of these instances does. It is always ready and votes within
/// `send`.
std::unique_ptr<instance> make_memory_instance(std::size_t index, const std::string& name,
                                               std::size_t max_in_flight,
                                               instance_observer& observer);

}  // namespace colock::instance::memory

#endif
