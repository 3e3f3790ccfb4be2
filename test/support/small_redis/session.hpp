// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_SESSION_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_SESSION_HPP

#include "support/small_redis/keyspace.hpp"
#include "support/small_redis/server.hpp"

#include "resp/reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::small_redis {

/// A connection of a client to a server. It receives bytes, and produces replies and pushes. It always uses
/// RESP3.
///
/// The server must outlive it.
class session {
public:
    explicit session(server& host);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    /// Executes all complete commands, and keeps the rest until more bytes arrive. `now` is the wall clock of
    /// the server. Returns false if the bytes are not commands. A real server would then close the
    /// connection.
    bool receive(std::string_view bytes, wall_microseconds now);

    /// Returns the bytes that the server has sent. The caller removes them.
    std::string& output() noexcept { return output_; }

    [[nodiscard]] std::int64_t id() const noexcept { return id_; }

    /// Flags that CLIENT TRACKING, CLIENT CACHING and ASKING set.
    struct flags {
        bool is_tracking = false;
        bool is_opt_in = false;
        bool is_no_loop = false;
        bool is_caching = false;  ///< Applies until the next command.
        bool is_asking = false;   ///< Applies until the next command.
    };
    flags state;
    std::string name;

private:
    friend class server;

    bool execute(std::string_view command, wall_microseconds now);
    /// Resets the flags that apply to one command only. `c` is null for an unknown command.
    void end_command(const command* c);
    /// Appends a push about a changed key, or about all keys. While a command of this session is being
    /// executed, the push follows the reply of that command.
    void tell_changed(std::string_view key);
    void tell_flushed();
    [[nodiscard]] std::string& place_for_push() noexcept;
    void after_push(const std::string& to);

    server& host_;
    std::int64_t id_;
    std::string input_;
    resp::reader reader_;
    std::vector<std::string_view> words_;
    std::string output_;
    std::string pending_;  // Pushes that must follow the reply of the current command.
};

}  // namespace colock::small_redis

#endif
