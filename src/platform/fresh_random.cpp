// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "platform/fresh_random.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace colock::platform {
namespace {

std::mt19937_64 seeded_by_system() {
    std::random_device entropy;
    std::array<std::random_device::result_type, 16> words{};
    std::generate(words.begin(), words.end(), [&entropy] { return entropy(); });
    std::seed_seq seeds(words.begin(), words.end());
    return std::mt19937_64(seeds);
}

}  // namespace

fresh_random::fresh_random() : generator_(seeded_by_system()) {}

/// Returns entropy of the kernel. A kernel older than Linux 3.17, or a sandbox, may provide none. Clones then
/// differ by their process IDs and the times at which they draw.
std::uint64_t fresh_random::new_entropy() noexcept {
    std::uint64_t result = 0;
    if (::getentropy(&result, sizeof(result)) != 0) {
        const auto time = std::chrono::system_clock::now().time_since_epoch().count();
        result = static_cast<std::uint64_t>(time) ^ static_cast<std::uint64_t>(::getpid()) << 44U;
    }
    return result;
}

}  // namespace colock::platform
