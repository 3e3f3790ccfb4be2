// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_EXECUTION_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_EXECUTION_HPP

#include "support/small_redis/command_table.hpp"
#include "support/small_redis/keyspace.hpp"
#include "support/small_redis/reply.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

namespace colock::small_redis {

class server;
class session;

/// A script that runs.
struct script_run {
    bool was_out_of_memory = false;  ///< when it began. What happens later does not count
    bool has_written = false;        ///< it has called a command that writes, with success or not
};

/// A command that a server executes.
struct execution {
    server& host;
    session* client;  ///< the sender. Null if nobody wants pushes
    words arguments;
    wall_microseconds now;  ///< it stands still until the command, or the script, has ended
    reply& out;
    script_run* script = nullptr;  ///< if a script calls the command
    execution* caller = nullptr;   ///< the call of that script

    [[nodiscard]] std::string_view word(std::size_t i) const { return arguments[i]; }
    [[nodiscard]] std::string_view key() const { return arguments[1]; }
    [[nodiscard]] wall_milliseconds now_in_milliseconds() const noexcept;

    /// Whether the key is there and has not expired.
    [[nodiscard]] bool sees(std::string_view name) const noexcept;
    /// The key, unless it has expired. An expired key is removed, except on a replica.
    [[nodiscard]] const record* read(std::string_view name);
    /// The same, to be changed.
    [[nodiscard]] record* change(std::string_view name);
    /// The key with no value yet and no ttl. It replaces what was there.
    record& replace(std::string_view name);
    /// Returns whether it was there.
    bool erase(std::string_view name);
    /// Has the second name have what the first has.
    void rename(std::string_view from, std::string_view to);
    /// Has to be called for each key that was changed.
    void has_changed(std::string_view name);

    /// A value of one type, which `read` or `change` has found. Null if there is no key, or if it has another type. Then
    /// `is_wrong`, and the error was written.
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

    /// The number in a word. Otherwise writes an error.
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
