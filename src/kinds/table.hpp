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

/// What a server's TIME tells: the time since 1970.
using wall_time = std::chrono::microseconds;

/// When a command is executed. The clocks are the caller's, so that a simulation can give each server its own.
struct instant {
    core::time_point now{};
    wall_time wall{};  ///< only for commands about fences, and for writes of records
};

/// A server's keys, in memory: values of any type, each with a name and a ttl. A lock kind uses the names that it uses on servers,
/// and stores its own types there.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class table {
public:
    /// A value and its end. Most values are tokens, so a string is stored without a further allocation.
    class entry {
    public:
        /// Returns the value. Returns null if it is of another type: then another kind wrote it.
        template <typename T>
        [[nodiscard]] T* as() noexcept {
            if constexpr (std::is_same_v<T, std::string>) {
                return other_.has_value() ? nullptr : &text_;
            } else {
                return std::any_cast<T>(&other_);
            }
        }

        /// The lock that wrote the value, as `denied_by_kind` wants it. Empty if its type does not tell.
        [[nodiscard]] std::string lock_name() const {
            return name_of_ != nullptr ? name_of_(other_) : std::string();
        }

        core::time_point expires;

    private:
        friend table;

        std::string text_;
        std::any other_;  // if it is no string
        std::string (*name_of_)(const std::any&) = nullptr;
    };

    /// Executes a command as its kind says, and answers as a server would.
    core::vote execute(const kinds::command& command, core::time_point now, wall_time wall = {});

    /// The names that the last command has written or deleted: clients that have asked for one of them may want to know.
    [[nodiscard]] const std::vector<std::string>& changes() const noexcept { return changes_; }

    /// How many names there are. Expired ones that were not yet collected count.
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

    /// Forgets everything, as a server that restarts without its data.
    void clear() noexcept { entries_.clear(); }

    // For kinds:

    /// Returns what has that name, until the next `put` or `erase` of it. Returns null if there is none, or if it has expired.
    [[nodiscard]] entry* find(std::string_view name, core::time_point now);

    /// Puts a string there, in place of any other value.
    entry& put(std::string_view name, std::string_view text, core::time_point expires);

    /// Puts a value there whose type can be copied. It may have a `lock_name`.
    template <typename T>
        requires(!std::convertible_to<T, std::string_view>)
    entry& put(std::string_view name, T value, core::time_point expires) {
        entry& written = write(name, expires);
        written.other_ = std::move(value);
        if constexpr (requires(const T& of) { of.lock_name(); }) {
            written.name_of_ = [](const std::any& of) {
                return std::string(std::any_cast<const T&>(of).lock_name());
            };
        }
        return written;
    }

    void erase(std::string_view name);

    /// The value or its end was changed in place. It need not be told of a name that no client asks for.
    void changed(std::string_view name) { changes_.emplace_back(name); }

private:
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const noexcept {
            return std::hash<std::string_view>{}(name);
        }
    };

    /// Makes an empty string.
    entry& write(std::string_view name, core::time_point expires);
    void collect_expired(core::time_point now);

    std::unordered_map<std::string, entry, hash, std::equal_to<>> entries_;
    std::vector<std::string> changes_;
    std::size_t collect_at_ = 1024;  // the size at which to look for expired ones again
};

}  // namespace colock::kinds

#endif
