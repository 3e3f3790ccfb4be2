// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/detail/asio_settings.hpp>

namespace colock {
inline namespace v1 {
namespace detail {

const char COLOCK_ASIO_SETTINGS = 0;

}  // namespace detail
}  // namespace v1
}  // namespace colock
