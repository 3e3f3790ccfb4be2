// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Compares the static properties of each command in the small Redis and in a real server. A random command
// seldom has one word too many, so it hits a wrong arity only by chance.

#include "twins.hpp"

#include "resp/reader.hpp"
#include "resp/value.hpp"
#include "support/redis_server.hpp"
#include "support/small_redis/command_table.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace colock::test {
namespace {

/// The static properties of a command: the number of words, the requirements, and the positions of the keys.
struct form {
    std::int64_t arity = 0;
    bool writes = false;
    bool needs_memory = false;
    bool not_in_scripts = false;
    bool while_loading = false;
    /// False if a word of the command gives the number of keys.
    bool has_fixed_keys = false;
    std::int64_t first_key = 0;
    std::int64_t last_key = 0;
    std::int64_t key_step = 0;

    friend bool operator==(const form&, const form&) = default;
    friend std::ostream& operator<<(std::ostream& out, const form& one) {
        out << one.arity << " words" << (one.writes ? ", writes" : "")
            << (one.needs_memory ? ", needs memory" : "")
            << (one.not_in_scripts ? ", not in scripts" : "")
            << (one.while_loading ? ", while loading" : "");
        if (one.has_fixed_keys) {
            out << ", keys " << one.first_key << " to " << one.last_key << " by " << one.key_step;
        }
        return out;
    }
};

/// Returns the form in the small Redis. Empty if it does not support the command.
std::optional<form> small_form_of(std::string_view name, const small_redis::dialect& speaks) {
    using small_redis::command;
    const std::size_t bar = std::min(name.find('|'), name.size());
    const std::string_view words[] = {name.substr(0, bar),
                                      name.substr(std::min(bar + 1, name.size()))};
    const std::size_t count = bar == name.size() ? 1 : 2;
    const command* const found =
        small_redis::find_command(std::span(words).first(count), speaks).found;
    if (found == nullptr) {
        return std::nullopt;
    }
    const bool has_fixed_keys = found->keys.first != 0 && found->keys.count_at == 0;
    return form{.arity = found->arity,
                .writes = found->has(command::writes),
                .needs_memory = found->has(command::needs_memory),
                .not_in_scripts = found->has(command::not_in_scripts),
                .while_loading = found->has(command::while_loading),
                .has_fixed_keys = has_fixed_keys,
                .first_key = has_fixed_keys ? found->keys.first : 0,
                .last_key = has_fixed_keys ? found->keys.last : 0,
                .key_step = has_fixed_keys ? found->keys.step : 0};
}

std::int64_t number_in(const resp::value& value) {
    return std::stoll(std::string(value.text));
}

/// Returns the form that a real server reports. Empty if it does not support the command.
std::optional<form> real_form_of(std::string_view name, raw_connection& server) {
    received answer;
    server.send(encoded({"COMMAND", "INFO", std::string(name)}));
    server.receive(1, answer);
    resp::cursor values(answer.replies.front());
    values.next();  // The list of commands.
    if (values.next().type == resp::type::null) {
        return std::nullopt;
    }
    values.next();  // The name.
    form result{.arity = number_in(values.next())};
    bool has_moving_keys = false;
    for (std::size_t flags = values.next().children; flags != 0; --flags) {
        const std::string_view flag = values.next().text;
        result.writes |= flag == "write";
        result.needs_memory |= flag == "denyoom";
        result.not_in_scripts |= flag == "noscript";
        result.while_loading |= flag == "loading";
        has_moving_keys |= flag == "movablekeys";
    }
    const std::int64_t first = number_in(values.next());
    if (first != 0 && !has_moving_keys) {
        result.has_fixed_keys = true;
        result.first_key = first;
        result.last_key = number_in(values.next());
        result.key_step = number_in(values.next());
    }
    return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(small_redis_differential)

BOOST_AUTO_TEST_CASE(commands_have_the_form_that_the_server_tells) {
    const redis_server real;
    raw_connection connection(real.port());
    connection.send(encoded({"HELLO", "3"}));
    received ignored;
    connection.receive(1, ignored);
    for (const std::string_view name : small_redis::command_names()) {
        BOOST_TEST_CONTEXT(name) {
            const auto wanted = real_form_of(name, connection);
            const auto found = small_form_of(name, dialect_of(real));
            BOOST_TEST(found.has_value() == wanted.has_value());
            if (found && wanted) {
                BOOST_TEST(*found == *wanted);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
