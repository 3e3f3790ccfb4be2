// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A program of a user, as far as check.sh needs it.

#include <colock/detail/asio_settings.hpp>

int main() {}
