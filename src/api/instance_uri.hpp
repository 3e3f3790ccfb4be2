// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_INSTANCE_URI_HPP
#define COLOCK_API_INSTANCE_URI_HPP

#include "instance/redis/uri.hpp"

#include <colock/error.hpp>

#include <string>
#include <string_view>

namespace colock {
inline namespace v1 {

/// Parses an instance's URI: see `config::instances`. Throws `config_error` for `field`; its text never shows the password.
inline instance::redis::any_address parse_instance_uri(const std::string& field,
                                                       std::string_view uri) {
    try {
        return instance::redis::parse_uri(uri);
    } catch (const instance::redis::uri_error& problem) {
        throw config_error(field, problem.what());
    }
}

}  // namespace v1
}  // namespace colock

#endif
