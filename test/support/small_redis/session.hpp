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

/// A connection of a client to a server. Bytes come in, and replies and pushes go out. It speaks RESP3 from the beginning.
///
/// The server must outlive it.
class session {
public:
    explicit session(server& host);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    /// Executes all commands that are complete, and keeps the rest until more comes. The server's wall clock shows `now`.
    /// Returns false if the bytes are no commands. Then the server would close the connection.
    bool receive(std::string_view bytes, wall_microseconds now);

    /// What the server has sent. The caller takes it out.
    std::string& output() noexcept { return output_; }

    [[nodiscard]] std::int64_t id() const noexcept { return id_; }

    /// What CLIENT TRACKING and its like have set.
    struct flags {
        bool is_tracking = false;
        bool is_opt_in = false;
        bool is_no_loop = false;
        bool is_caching = false;  ///< until the next command
        bool is_asking = false;   ///< likewise
    };
    flags state;
    std::string name;

private:
    friend class server;

    bool execute(std::string_view command, wall_microseconds now);
    /// Forgets what counts for one command only. `c` is null if the server does not know the command.
    void end_command(const command* c);
    /// Appends a push about a key that has changed, or about all keys. If a command of this session is being executed, the push
    /// follows its reply.
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
    std::string pending_;  // pushes
};

}  // namespace colock::small_redis

#endif
