// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "part.hpp"

#include <iostream>

int main() {
    const std::string locked = lock_once();
    std::cout << "locked " << locked << " inside a shared library\n";
    return locked == "shared-library" ? 0 : 1;
}
