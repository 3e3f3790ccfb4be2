// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_PROBE_HPP
#define COLOCK_INSTANCE_REDIS_PROBE_HPP

#include "instance/redis/address.hpp"
#include "kinds/capabilities.hpp"
#include "kinds/script_commands.hpp"
#include "resp/value.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

/// What a server that passed the probe has told.
struct server_facts {
    std::string version;
    std::string run_id;
    std::optional<std::chrono::seconds> uptime;  ///< nothing if it does not tell
    kinds::capabilities capabilities;
    /// Whether it may have been a replica since it was started. (Asked of members of a deployment that promotes
    /// replicas; true if it does not tell.)
    bool may_be_promoted = false;
    std::string
        replication_id{};  ///< of its time as master: another one each time that it is promoted
    /// Why it cannot serve readers, permits of semaphores, or locks with fences: the commands that it refuses inside scripts. Null if
    /// it can.
    std::shared_ptr<const std::string> refused_to_readers{};
    std::shared_ptr<const std::string> refused_to_semaphores{};
    std::shared_ptr<const std::string> refused_to_fenced{};
    std::shared_ptr<const std::string> refused_to_records{};
    std::shared_ptr<const std::string> refused_to_orders{};
};

/// How an instance is deployed, as its URI says.
enum class deployment : std::uint8_t { standalone, sentinel, cluster };

/// The questions on a new connection, before the server may vote. They log in, select the database, ask for the server's identity
/// and role, and load the scripts. Then a script tries each command that locks need.
///
/// A server that refuses any of these must not vote. It could grant a lock in the wrong database, or one that cannot be renewed
/// or released. A server that is no master, or not deployed as the URI says, must not vote either.
class probe {
public:
    /// The commands inside scripts are tried on a key that begins with `key_prefix`, and that does not exist. Throws `address_error`
    /// if there is no password where the address has it.
    explicit probe(const address& to, redis::deployment deployment = deployment::standalone,
                   std::string_view key_prefix = {});

    /// The questions.
    [[nodiscard]] std::string_view text() const noexcept { return text_; }

    /// To be called with the bytes of each reply, in order, until it is `answered`.
    void on_reply(std::string_view reply);
    [[nodiscard]] bool begun() const noexcept { return next_ != 0; }
    [[nodiscard]] bool answered() const noexcept { return next_ == steps_.size(); }

    /// Why the server must not vote, as far as the replies that are there tell.
    [[nodiscard]] std::optional<std::string> objection() const;

    /// What is asked has this in it.
    [[nodiscard]] const std::string& password() const noexcept { return password_; }

    /// What a server without objection has told.
    [[nodiscard]] server_facts facts() const;

private:
    enum class expected { success, anything, unknown_script };

    struct step {
        std::string name;
        expected answer = expected::success;
        bool refused = false;
        std::string text{};

        [[nodiscard]] bool passed() const;
    };

    [[nodiscard]] kinds::native_delete native_delete() const;
    [[nodiscard]] std::string wrong_server() const;
    [[nodiscard]] std::shared_ptr<const std::string> refused_to(kinds::needed_by whom,
                                                                std::string_view who) const;
    void read_refusals(std::string_view reply);
    void read_greeting(std::string_view reply);

    std::size_t add(std::string name, expected answer,
                    std::initializer_list<std::string_view> command);

    redis::deployment deployment_;
    std::string password_;
    std::string text_;
    std::vector<step> steps_;
    std::size_t next_ = 0;
    std::string mode_;  // as HELLO has told; empty if it has not
    std::string role_;
    std::size_t info_ = 0;
    std::optional<std::size_t> replication_;
    std::size_t tracking_ = 0;
    std::size_t trial_ = 0;
    std::vector<std::string>
        refusals_;  // the error of each of `kinds::script_commands`, if it was refused
    std::size_t delifeq_ = 0;
    std::size_t delex_ = 0;
    std::optional<std::size_t> msetex_;
};

}  // namespace colock::instance::redis

#endif
