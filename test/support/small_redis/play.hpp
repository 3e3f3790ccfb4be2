// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_PLAY_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_PLAY_HPP

#include "support/resp_text.hpp"
#include "support/small_redis/server.hpp"
#include "support/small_redis/session.hpp"

#include "resp/reader.hpp"
#include "resp/writer.hpp"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace colock::small_redis {

/// The start time of the clock of the tests.
inline constexpr wall_microseconds start_of_time = 1'800'000'000'000'000;

/// Returns all replies in these bytes as text, separated by `; `: `+OK; *[:1 $a]`.
inline std::string shown(std::string_view replies) {
    std::string result;
    resp::reader reader(std::size_t(1) << 30U);
    while (!replies.empty()) {
        result += result.empty() ? "" : "; ";
        if (reader.read(replies) != resp::reader::status::complete) {
            return result + "incomplete";
        }
        resp::cursor values(replies);
        result += test::to_text(values);
        replies.remove_prefix(reader.size());
    }
    return result;
}

/// Encodes a command.
inline std::string encoded(words command) {
    std::string buffer;
    resp::command_writer writer(buffer);
    writer.write(command);
    return std::string(writer.text());
}

/// A server for tests. The test sets its clock.
struct play {
    explicit play(const dialect& speaks = redis_8) : host(speaks) {}

    /// Returns the reply of the server, as text.
    std::string operator()(std::initializer_list<std::string_view> command) {
        return shown(host.execute(now, command));
    }
    /// Returns the reply to a script.
    std::string eval(std::string_view script, std::initializer_list<std::string_view> keys = {},
                     std::initializer_list<std::string_view> arguments = {}) {
        const std::string count = std::to_string(keys.size());
        std::vector<std::string_view> command{"EVAL", script, count};
        command.insert(command.end(), keys);
        command.insert(command.end(), arguments);
        return shown(host.execute(now, words(command)));
    }
    void pass_milliseconds(std::int64_t how_many) { now += how_many * 1000; }

    server host;
    wall_microseconds now = start_of_time;
};

/// A client of a `play`.
struct player {
    explicit player(play& of) : of_(of), connection(of.host) {}

    /// Sends a command, and returns the output of the server as text.
    std::string operator()(std::initializer_list<std::string_view> command) {
        connection.receive(encoded(words(command.begin(), command.size())), of_.now);
        return received();
    }
    /// Returns the output of the server since the last call.
    std::string received() {
        const std::string bytes = std::exchange(connection.output(), {});
        return shown(bytes);
    }

private:
    play& of_;

public:
    session connection;
};

}  // namespace colock::small_redis

#endif
