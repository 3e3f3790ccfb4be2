// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A user's program, reduced to what check.sh needs.

#include <colock/detail/asio_settings.hpp>

int main() {}
