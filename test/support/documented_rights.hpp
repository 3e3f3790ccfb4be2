// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_DOCUMENTED_RIGHTS_HPP
#define COLOCK_TEST_SUPPORT_DOCUMENTED_RIGHTS_HPP

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test {

extern const char* const source_folder;  // of the repository

/// Returns the rights that docs/permissions.md gives to the user of a server, without the password.
inline std::vector<std::string> documented_rights() {
    const std::string begin = "ACL SETUSER colock ";
    std::ifstream page(std::string(source_folder) + "/docs/permissions.md");
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with(begin)) {
            std::vector<std::string> result;
            std::istringstream words(line.substr(begin.size()));
            for (std::string word; words >> word;) {
                if (!word.starts_with('>')) {
                    result.push_back(word);
                }
            }
            return result;
        }
    }
    throw std::runtime_error("docs/permissions.md has no line " + begin);
}

}  // namespace colock::test

#endif
