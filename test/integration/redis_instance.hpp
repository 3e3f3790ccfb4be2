// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_REDIS_INSTANCE_HPP
#define COLOCK_TEST_INTEGRATION_REDIS_INSTANCE_HPP

#include "core/vote.hpp"
#include "integration/instance_rig.hpp"
#include "support/contains.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Helpers for the tests of an instance on a real server.

namespace colock::test {

using strings = std::vector<std::string>;

/// Returns a server for the tests that leave it unchanged. Each call empties it.
inline redis_server& shared_server() {
    static redis_server server;
    server.flush();
    return server;
}

inline std::string local_uri(const redis_server& server, const std::string& before = {},
                             const std::string& after = {}) {
    return "redis://" + before + "127.0.0.1:" + std::to_string(server.port()) + after;
}

inline std::string detail_of(const core::vote& vote) {
    return vote.detail ? *vote.detail : std::string();
}

/// Returns the number after `name:` in INFO.
inline long info_number(const redis_server& server, const std::string& name) {
    const std::string info = server.command({"INFO", "all"}).value_or("");
    const auto position = info.find("\n" + name + ":");
    return position == std::string::npos ? -1 : std::stol(info.substr(position + name.size() + 2));
}

/// Acquires `keys` locks, and releases them in one batch.
inline void release_many(instance_rig& rig, int keys, const std::string& prefix = {}) {
    for (int i = 0; i != keys; ++i) {
        rig.submit(core::step::acquire, prefix + std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == strings(static_cast<std::size_t>(keys), "granted"),
               boost::test_tools::per_element());
    for (int i = 0; i != keys; ++i) {
        rig.submit(core::step::release, prefix + std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == strings(static_cast<std::size_t>(keys), "granted"),
               boost::test_tools::per_element());
}

}  // namespace colock::test

#endif
