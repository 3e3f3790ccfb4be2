// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_WRITABLE_FILE_HPP
#define COLOCK_TEST_SUPPORT_WRITABLE_FILE_HPP

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace colock::test {

/// Checks an option that names a file for results, as a check() of CLI11. It rejects an unwritable file
/// before the work starts. Returns an empty text, or the error.
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
