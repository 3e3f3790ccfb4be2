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

/// What a server that passed the probe has reported.
struct server_facts {
    std::string version;
    std::string run_id;
    std::optional<std::chrono::seconds> uptime;  ///< Empty if it is not reported.
    kinds::capabilities capabilities;
    /// Whether it may have been a replica since its start. True if it does not report this. Used only in
    /// deployments that promote replicas.
    bool may_be_promoted = false;
    /// Of its current term as master. It changes with each promotion.
    std::string replication_id{};
    /// Why it cannot serve locks of a kind: it refuses commands in scripts that this kind needs. Null if it
    /// can.
    std::shared_ptr<const std::string> refused_to_readers{};
    std::shared_ptr<const std::string> refused_to_semaphores{};
    std::shared_ptr<const std::string> refused_to_fenced{};
    std::shared_ptr<const std::string> refused_to_records{};
    std::shared_ptr<const std::string> refused_to_orders{};
    /// Whether scripts may use keys that were not declared. A queue of waiting clients needs this, because its
    /// scripts compute the names of tickets from its entries.
    bool allows_undeclared_keys = true;
};

/// The deployment of an instance, from its URI.
enum class deployment : std::uint8_t { standalone, sentinel, cluster };

/// The commands on a new connection, before the server may vote. They log in, select the database, request
/// the server's identity and role, and load the scripts. A script then tries each command that locks need.
///
/// A server that refuses any of these must not vote. It could grant a lock in the wrong database, or a lock
/// that it cannot renew or release. A server must not vote either if it is not a master, or is not deployed
/// as the URI says.
class probe {
public:
    /// Prepares the probe. It tries commands inside scripts on a key that begins with `key_prefix` and does
    /// not exist. Throws `address_error` if the password cannot be read.
    explicit probe(const address& to, redis::deployment deployment = deployment::standalone,
                   std::string_view key_prefix = {});

    /// Returns the commands.
    [[nodiscard]] std::string_view text() const noexcept { return text_; }

    /// Handles the bytes of each reply, in order, until `answered`.
    void on_reply(std::string_view reply);
    [[nodiscard]] bool begun() const noexcept { return next_ != 0; }
    [[nodiscard]] bool answered() const noexcept { return next_ == steps_.size(); }

    /// Returns why the server must not vote, according to the replies so far.
    [[nodiscard]] std::optional<std::string> objection() const;

    /// Returns the password that the commands contain.
    [[nodiscard]] const std::string& password() const noexcept { return password_; }

    /// Returns the facts about a server without an objection.
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
    std::string mode_;  // From HELLO. Empty if it was not reported.
    std::string role_;
    std::size_t info_ = 0;
    std::optional<std::size_t> replication_;
    std::size_t tracking_ = 0;
    std::size_t trial_ = 0;
    // Indexed like `kinds::script_commands`. The error, if the command was refused.
    std::vector<std::string> refusals_;
    std::string undeclared_;  // The error for a key that was not declared.
    std::size_t delifeq_ = 0;
    std::size_t delex_ = 0;
    std::optional<std::size_t> msetex_;
};

}  // namespace colock::instance::redis

#endif
