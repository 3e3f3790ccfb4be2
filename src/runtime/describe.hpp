#ifndef COLOCK_RUNTIME_DESCRIBE_HPP
#define COLOCK_RUNTIME_DESCRIBE_HPP

#include "core/quorum.hpp"
#include "instance/instance.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace colock::runtime {

/// A round as one line for an error's text: the resource, the count, and what each instance voted.
/// Bytes of the resource, and of what a server said, that are not printable ASCII are escaped; long
/// ones are cut.
std::string describe(std::string_view resource, const core::round& votes,
                     const std::vector<instance::status>& instances);

/// The resource alone, in quotes.
std::string describe(std::string_view resource);

}  // namespace colock::runtime

#endif
