// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_EXECUTION_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_EXECUTION_HPP

#include "support/small_redis/command_table.hpp"
#include "support/small_redis/keyspace.hpp"
#include "support/small_redis/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

namespace colock::small_redis {

class server;
class session;

/// The state of a running script.
struct script_run {
    bool was_out_of_memory = false;  ///< At the start of the script.
    bool has_written = false;        ///< The script has called a write command, even if it failed.
};

/// The execution of one command by a server.
struct execution {
    server& host;
    session* client;  ///< The sender, or null if there is none to get pushes.
    words arguments;
    wall_microseconds now;  ///< Constant until the command or the script has ended.
    reply& out;
    script_run* script = nullptr;  ///< The script that calls the command, or null.
    execution* caller = nullptr;   ///< The call of that script.

    [[nodiscard]] std::string_view word(std::size_t i) const { return arguments[i]; }
    [[nodiscard]] std::string_view key() const { return arguments[1]; }
    [[nodiscard]] wall_milliseconds now_in_milliseconds() const noexcept;

    /// Returns true if the key exists and has not expired.
    [[nodiscard]] bool sees(std::string_view name) const noexcept;
    /// Returns the key, or null if it is missing or expired. Removes an expired key, except on a replica.
    [[nodiscard]] const record* read(std::string_view name);
    /// Returns the same key as `read`, for a change.
    [[nodiscard]] record* change(std::string_view name);
    /// Replaces the key with an empty one without a ttl, and returns it.
    record& replace(std::string_view name);
    /// Removes the key. Returns true if it existed.
    bool erase(std::string_view name);
    /// Moves the content of the first name to the second name.
    void rename(std::string_view from, std::string_view to);
    /// Reports a changed key. Commands call it for each key that they change.
    void has_changed(std::string_view name);

    /// A value of one type, as found by `read` or `change`. It is null if the key is missing or has another
    /// type. In the second case `is_wrong` is true, and the error has been written.
    template <typename Type>
    struct typed {
        Type* value = nullptr;
        bool is_wrong = false;
    };
    template <typename Type>
    typed<const Type> read_as(std::string_view name) {
        return as<const Type>(read(name));
    }
    template <typename Type>
    typed<Type> change_as(std::string_view name) {
        return as<Type>(change(name));
    }

    /// Returns the value of the key, for a change. If the key is missing, writes 0 and returns null. If it has
    /// another type, writes an error and returns null.
    template <typename Type>
    Type* change_or_report_0() {
        const auto found = change_as<Type>(key());
        if (found.value == nullptr && !found.is_wrong) {
            out.integer(0);
        }
        return found.value;
    }

    /// Finishes a command that has removed elements of the key. If none is left, removes the key.
    void finish_removal(bool is_empty) {
        if (is_empty) {
            erase(key());
        } else {
            has_changed(key());
        }
    }

    /// Removes the elements that the words after the key name, and writes how many there were. `remove` takes
    /// the value and a name, and returns the number of elements that it has removed.
    template <typename Type, typename Function>
    void remove_elements(Function remove) {
        if (Type* const value = change_or_report_0<Type>()) {
            std::size_t removed = 0;
            for (const std::string_view name : arguments.subspan(2)) {
                removed += remove(*value, name);
            }
            out.integer(static_cast<std::int64_t>(removed));
            if (removed != 0) {
                finish_removal(value->size() == 0);
            }
        }
    }

    /// Writes the number of elements of the key.
    template <typename Type>
    void report_size() {
        const auto found = read_as<Type>(key());
        if (!found.is_wrong) {
            const std::size_t size = found.value == nullptr ? 0 : found.value->size();
            out.integer(static_cast<std::int64_t>(size));
        }
    }

    /// The value of the key, or null if the key is missing, and the interval that the two words after the key
    /// give.
    template <typename Type>
    struct interval {
        const Type* value;
        std::int64_t first;
        std::int64_t last;
    };
    /// Reads them. Writes an error if a word is no integer, or if the key has another type.
    template <typename Type>
    std::optional<interval<Type>> read_interval() {
        const auto first = integer(2);
        const auto last = first ? integer(3) : std::nullopt;
        const auto found = last ? read_as<Type>(key()) : typed<const Type>{nullptr, true};
        return found.is_wrong ? std::nullopt
                              : std::optional(interval<Type>{found.value, *first, *last});
    }

    /// Returns the integer in a word. Writes an error if it is invalid.
    std::optional<std::int64_t> integer(
        std::size_t i, std::string_view error = "ERR value is not an integer or out of range");

private:
    template <typename Type, typename Record>
    typed<Type> as(Record* one) {
        if (one == nullptr) {
            return {};
        }
        if (Type* const value = std::get_if<std::remove_const_t<Type>>(&one->content)) {
            return {value};
        }
        out.wrong_type();
        return {nullptr, true};
    }
};

}  // namespace colock::small_redis

#endif
