// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_MEMORY_MEMORY_INSTANCE_HPP
#define COLOCK_INSTANCE_MEMORY_MEMORY_INSTANCE_HPP

#include "instance/instance.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace colock::instance::memory {

/// An instance inside this process. All that are made with the same name, by whichever client, share
/// their keys; these last as long as one of them does. Always ready; votes in `send`.
std::unique_ptr<instance> make_memory_instance(std::size_t index, const std::string& name,
                                               std::size_t max_in_flight,
                                               instance_observer& observer);

}  // namespace colock::instance::memory

#endif
