// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_DIFFERENTIAL_RANDOM_COMMAND_HPP
#define COLOCK_TEST_INTEGRATION_DIFFERENTIAL_RANDOM_COMMAND_HPP

#include "kinds/script.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// Generates random commands and script calls. They use few keys, so they meet values of all types. Many of
/// them are invalid.
///
/// It leaves out what the small Redis does not model: numbers with spaces or in hexadecimal. The server must
/// keep the order of hashes with values of up to 1,024 bytes.
class random_command {
public:
    using command = std::vector<std::string>;

    explicit random_command(std::uint64_t seed) : random_(seed) {}

    /// The probability that a key is in any slot instead of the slot of the command's other keys.
    double any_slot = 1;

    /// Returns a command or a script call.
    command next(std::int64_t now_in_milliseconds);

    /// Returns the names of all keys.
    [[nodiscard]] static const std::vector<std::string>& keys();

    /// Returns a random number from 0 to `count` - 1.
    std::size_t below(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
    }
    bool chance(double p) { return std::bernoulli_distribution(p)(random_); }
    template <typename Type>
    const Type& one_of(const std::vector<Type>& all) {
        return all[below(all.size())];
    }

private:
    command plain();
    command around_plain();
    command production();
    command step_of_mutex();
    command step_of_semaphore();
    command step_of_several_names();
    command step_of_order();
    command step_of_record();
    command exact_call(const kinds::script& script, const command& keys, const command& arguments);
    /// Returns the same call, sometimes with another word in place of a key or an argument.
    command call(const kinds::script& script, const command& keys, const command& arguments);
    void spoil(command& words);
    std::string word(std::string_view variable);
    std::string key();
    std::string token();
    std::string ttl();

    std::mt19937_64 random_;
    std::int64_t now_ = 0;
    std::string lock_;  // The lock whose keys the command uses.
};

}  // namespace colock::test

#endif
