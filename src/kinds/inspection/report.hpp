// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_INSPECTION_REPORT_HPP
#define COLOCK_KINDS_INSPECTION_REPORT_HPP

#include "core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::kinds {

/// The largest number of holders, of waiting writers, and of waiters that a report lists.
inline constexpr std::size_t most_listed = 100;
/// The longest string at a key that is reported as a token. Tokens of other libraries have any form.
inline constexpr std::size_t longest_token = 1024;

/// What an instance has at the name of a lock. The order of the members is that of the fields on the wire, as
/// report.lua writes them. A list begins with the number of its items.
struct key_report {
    struct holder {
        std::string token;
        std::uint64_t permits = 1;
        /// -1 ms if the key has no ttl.
        core::milliseconds remaining{0};

        friend bool operator==(const holder&, const holder&) = default;
    };

    /// A client of which a writer waits.
    struct writer {
        std::uint64_t client = 0;
        core::milliseconds remaining{0};  ///< Of its mark.

        friend bool operator==(const writer&, const writer&) = default;
    };

    struct waiter {
        std::uint64_t client = 0;
        std::uint64_t number = 0;  ///< Its number in the client. 0 in a remote queue.

        friend bool operator==(const waiter&, const waiter&) = default;
    };

    /// One of these words:
    /// - `nothing`: there is no key.
    /// - `token`: an exclusive holder's token.
    /// - `readers`: tokens of readers, or marks of writers, or both.
    /// - `permits`: the permits of a semaphore.
    /// - `result`: the result of a name that was run once.
    /// - `record`: a value with a version.
    /// - `string`: another string.
    /// - Otherwise the type of the value, such as `list`. It is `value` if nobody knows the type.
    std::string content = "nothing";
    core::milliseconds ttl{-2};  ///< As PTTL: -1 for a key without a ttl, -2 for no key.
    std::uint64_t size = 0;      ///< The length of a `string`.
    std::uint64_t limit = 0;     ///< Of a semaphore.
    std::uint64_t in_use = 0;    ///< The number of permits that have holders.
    std::uint64_t version = 0;   ///< Of a record.
    bool has_value = false;      ///< Whether the record has a value.
    std::uint64_t holder_count = 0;
    std::vector<holder> holders;
    std::uint64_t writer_count = 0;
    std::vector<writer> writers;
    std::uint64_t fence = 0;  ///< The fence counter, or 0.
    std::uint64_t waiter_count = 0;
    std::vector<waiter> waiters;

    friend bool operator==(const key_report&, const key_report&) = default;
};

/// Returns the report in the form that report.lua returns.
[[nodiscard]] std::string to_text(const key_report& report);

/// Returns the report in a text, or nothing if the text has another form.
[[nodiscard]] std::optional<key_report> parse_report(std::string_view text);

}  // namespace colock::kinds

#endif
