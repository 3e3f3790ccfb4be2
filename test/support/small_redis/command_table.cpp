// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/command_table.hpp"

#include "support/small_redis/commands.hpp"
#include "support/small_redis/number_text.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace colock::small_redis {
namespace {

constexpr std::size_t longest_name = 31;

constexpr char to_lower(char c) noexcept {
    return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// A name in lower case, without heap memory.
class lower_case {
public:
    explicit lower_case(std::string_view name) { append(name); }
    void append(std::string_view more) {
        for (const char c : more.substr(0, longest_name - size_)) {
            buffer_[size_++] = to_lower(c);
        }
    }
    [[nodiscard]] std::string_view text() const noexcept { return {buffer_.data(), size_}; }

private:
    std::array<char, longest_name> buffer_{};
    std::size_t size_ = 0;
};

template <typename Function>
void for_each_entry(Function function) {
    for (const std::span<const command> family :
         {string_commands, key_commands, list_commands, sorted_set_commands, hash_commands,
          script_commands, connection_commands}) {
        for (const command& one : family) {
            function(one);
        }
    }
}

/// A hash table of all commands by name, with open addressing. If several entries have the same name, the
/// server uses the first that it supports.
class table {
public:
    table() {
        for_each_entry([this](const command& one) {
            std::size_t at = hash(one.name);
            while (slots_[at] != nullptr) {
                at = (at + 1) % slots_.size();
            }
            slots_[at] = &one;
        });
    }

    [[nodiscard]] const command* find(std::string_view name, const dialect& speaks) const {
        for (std::size_t at = hash(name); slots_[at] != nullptr; at = (at + 1) % slots_.size()) {
            const command& one = *slots_[at];
            if (one.name == name && (!one.needs || speaks.has(*one.needs))) {
                return &one;
            }
        }
        return nullptr;
    }

private:
    static std::size_t hash(std::string_view name) {
        std::size_t result = 14695981039346656037U;  // FNV-1a.
        for (const char c : name) {
            result = (result ^ static_cast<unsigned char>(c)) * 1099511628211U;
        }
        return (result >> 20U) % 256;
    }

    std::array<const command*, 256> slots_{};
};

const table& all_commands() {
    static const table result;
    return result;
}

}  // namespace

command_lookup find_command(words command, const dialect& speaks) {
    const table& all = all_commands();
    lower_case name(command[0]);
    command_lookup result;
    result.found = command[0].size() > longest_name ? nullptr : all.find(name.text(), speaks);
    if (result.found != nullptr && result.found->has(command::has_subcommands) &&
        command.size() > 1) {
        result.container = result.found;
        name.append("|");
        name.append(command[1]);
        result.found = all.find(name.text(), speaks);
    }
    return result;
}

std::vector<std::string_view> command_names() {
    std::vector<std::string_view> result;
    for_each_entry([&result](const command& one) { result.push_back(one.name); });
    return result;
}

command_keys::command_keys(const command& c, words all)
    : all_(all),
      first_(static_cast<std::size_t>(c.keys.first)),
      step_(static_cast<std::size_t>(c.keys.step)) {
    if (first_ == 0 || all.size() <= first_) {
        return;
    }
    const std::size_t most = (all.size() - first_ + step_ - 1) / step_;
    if (c.keys.count_at != 0) {
        const auto count = to_integer(all[static_cast<std::size_t>(c.keys.count_at)]);
        count_ = count && *count > 0 && static_cast<std::size_t>(*count) <= most
                     ? static_cast<std::size_t>(*count)
                     : 0;
    } else {
        count_ =
            c.keys.last < 0 ? most : (static_cast<std::size_t>(c.keys.last) - first_) / step_ + 1;
    }
}

bool is_word(std::string_view text, std::string_view lower) noexcept {
    return text.size() == lower.size() &&
           std::ranges::equal(text, lower, {}, [](char c) { return to_lower(c); });
}

}  // namespace colock::small_redis
