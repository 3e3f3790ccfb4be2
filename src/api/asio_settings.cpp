// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/detail/asio_settings.hpp>

namespace colock::inline v1::detail {

const char COLOCK_ASIO_SETTINGS = 0;

}  // namespace colock::inline v1::detail
