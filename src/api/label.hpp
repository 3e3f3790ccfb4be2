// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_LABEL_HPP
#define COLOCK_API_LABEL_HPP

#include <string>
#include <string_view>

namespace colock {
inline namespace v1 {

/// Throws `config_error` unless `label` may be `config::label`. `field` is what the error calls it.
void check_label(const std::string& field, std::string_view label);

/// Returns a label that `check_label` has accepted as tokens have it: on the host of that name, in that process. Throws
/// `config_error` if that is too long, or if the host name has a character that no label has.
std::string expand_label(const std::string& field, std::string_view label, std::string_view host,
                         long process);

/// On this host, in this process.
std::string expand_label(const std::string& field, std::string_view label);

}  // namespace v1
}  // namespace colock

#endif
