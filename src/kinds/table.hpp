// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_TABLE_HPP
#define COLOCK_KINDS_TABLE_HPP

#include "core/time.hpp"
#include "core/vote.hpp"
#include "kinds/command.hpp"

#include <any>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colock::kinds {

/// The time since 1970, as a server's TIME reports it.
using wall_time = std::chrono::microseconds;

/// When a command is executed. The caller provides the clocks, so a simulation can give each server its own.
struct instant {
    core::time_point now{};
    wall_time wall{};  ///< Needed only for fences and for writes of records.
};

/// The keys of a server, in memory: values of any type, each with a name and a ttl. A lock kind uses the same
/// names as on servers, and stores its own types there.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class table {
public:
    /// A value and its end. Most values are tokens, so a string is stored without a further allocation.
    class entry {
    public:
        /// Returns the value, or null if it has another type. In that case another kind wrote it.
        template <typename T>
        [[nodiscard]] T* as() noexcept {
            if constexpr (std::is_same_v<T, std::string>) {
                return other_.has_value() ? nullptr : &text_;
            } else {
                return std::any_cast<T>(&other_);
            }
        }

        /// Returns the name of the lock that wrote the value, in the form for `denied_by_kind`. Returns an
        /// empty text if the value's type does not have a name.
        [[nodiscard]] std::string lock_name() const {
            return name_of_ != nullptr ? name_of_(other_) : std::string();
        }

        core::time_point expires;

    private:
        friend table;

        std::string text_;
        std::any other_;  // Empty if the value is a string.
        std::string (*name_of_)(const std::any&) = nullptr;
    };

    /// Executes a command as its kind defines, and returns the vote that a server would give.
    core::vote execute(const kinds::command& command, core::time_point now, wall_time wall = {});

    /// Returns the names that the last command has written or deleted. Clients that track one of
    /// them are notified.
    [[nodiscard]] const std::vector<std::string>& changes() const noexcept { return changes_; }

    /// Returns the number of names. Expired names that were not yet collected count.
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

    /// Removes all keys, like a restart of a server without its data.
    void clear() noexcept { entries_.clear(); }

    // The following functions are for kinds.

    /// Returns the entry with this name, or null if there is none or it has expired. The pointer is valid
    /// until the next `put` or `erase` of this name.
    [[nodiscard]] entry* find(std::string_view name, core::time_point now);

    /// Stores a string in place of any other value.
    entry& put(std::string_view name, std::string_view text, core::time_point expires);

    /// Stores a value of a copyable type. The type may have a `lock_name`.
    template <typename T>
        requires(!std::convertible_to<T, std::string_view>)
    entry& put(std::string_view name, T value, core::time_point expires) {
        std::any made = std::move(value);  // Before the write, because there may be no memory.
        entry& written = write(name, expires);
        written.other_ = std::move(made);
        if constexpr (requires(const T& of) { of.lock_name(); }) {
            written.name_of_ = [](const std::any& of) {
                return std::string(std::any_cast<const T&>(of).lock_name());
            };
        }
        return written;
    }

    void erase(std::string_view name);

    /// Records that the value or its end was changed in place. This is not needed for a name that
    /// no client tracks.
    void changed(std::string_view name) { changes_.emplace_back(name); }

private:
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const noexcept {
            return std::hash<std::string_view>{}(name);
        }
    };

    /// Makes the entry an empty string.
    entry& write(std::string_view name, core::time_point expires);
    void collect_expired(core::time_point now);

    std::unordered_map<std::string, entry, hash, std::equal_to<>> entries_;
    std::vector<std::string> changes_;
    std::size_t collect_at_ = 1024;  // Size at which expired entries are collected next.
};

}  // namespace colock::kinds

#endif
