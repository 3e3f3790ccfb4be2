// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_WRITABLE_FILE_HPP
#define COLOCK_TEST_SUPPORT_WRITABLE_FILE_HPP

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace colock::test {

/// For CLI11's check() of an option that names a file for results: what could not be written after
/// the work is refused before it. Empty if all is well, else what is wrong.
inline std::string writable_file(const std::string& path) {
    std::error_code ignored;
    const bool is_new = !std::filesystem::exists(path, ignored);
    if (!std::ofstream(path, std::ios::app)) {
        return "cannot write " + path;
    }
    if (is_new) {
        std::filesystem::remove(path, ignored);
    }
    return {};
}

}  // namespace colock::test

#endif
