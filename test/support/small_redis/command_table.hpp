// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_COMMAND_TABLE_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_COMMAND_TABLE_HPP

#include "support/small_redis/dialect.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace colock::small_redis {

struct execution;

/// The words of a command. The first word is its name.
using words = std::span<const std::string_view>;

/// The positions of the keys of a command.
struct key_positions {
    std::int8_t first = 0;  ///< 0 means that there are no keys.
    std::int8_t last = 0;   ///< -1 means the last word.
    std::int8_t step = 1;
    std::int8_t count_at =
        0;  ///< If not 0, this word is the number of keys, and they begin at `first`.
};

struct command {
    enum flag : std::uint8_t {
        reads = 1,         ///< Client tracking remembers its keys.
        writes = 2,        ///< A replica refuses it.
        needs_memory = 4,  ///< Refused if the server is out of memory.
        not_in_scripts = 8,
        while_loading = 16,  ///< Allowed while the server loads its data.
        has_subcommands = 32,
    };

    std::string_view name;  ///< In lower case. A subcommand has the form "client|id".
    int arity;              ///< The number of words. If negative, the minimum.
    unsigned flags;
    key_positions keys{};
    void (*run)(execution& e) = nullptr;
    std::optional<dialect::feature> needs{};  ///< Only dialects with this feature have the command.

    [[nodiscard]] bool has(flag f) const noexcept { return (flags & f) != 0; }
    [[nodiscard]] bool accepts(std::size_t word_count) const noexcept {
        const auto count = static_cast<int>(word_count);
        return arity >= 0 ? count == arity : count >= -arity;
    }
};

/// The meaning of the first words of a command.
struct command_lookup {
    const command* found = nullptr;
    const command* container = nullptr;  ///< The container of an unknown subcommand.
};

/// Looks up a command, which must not be empty.
command_lookup find_command(words command, const dialect& speaks);

/// Returns the names of all commands of all servers. Some names are repeated.
std::vector<std::string_view> command_names();

/// A range of the keys of a command. It is empty if the number of keys is wrong.
class command_keys {
public:
    command_keys(const command& c, words all);
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] std::string_view operator[](std::size_t i) const {
        return all_[first_ + i * step_];
    }

private:
    words all_;
    std::size_t first_ = 0;
    std::size_t step_ = 1;
    std::size_t count_ = 0;
};

/// Returns true if a word is this one, in any case. `lower` is in lower case.
bool is_word(std::string_view text, std::string_view lower) noexcept;

}  // namespace colock::small_redis

#endif
