// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_KIND_HPP
#define COLOCK_KINDS_KIND_HPP

#include "core/agreement.hpp"
#include "core/vote.hpp"
#include "kinds/admission.hpp"
#include "kinds/capabilities.hpp"
#include "kinds/coalescing.hpp"
#include "kinds/command.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::kinds {

struct instant;
class queue_kind;
class table;

/// The properties of a kind that do not depend on a command.
struct kind_traits {
    std::string_view name;
    kinds::admission admission = kinds::admission::exclusive();
    /// Prefix of the tokens of its holders.
    std::string_view token_prefix{};
    /// How the values of a quorum's grants must agree: see `core::lease`.
    core::agreement agreement = core::agreement::none;
    /// Whether each holder has its own value, such as a fence.
    bool value_per_holder = false;
    /// How adjacent releases are combined. Null if each is sent separately.
    const coalescing* releases = nullptr;
    /// The key holds only the token. If the server has a native delete command, that command can
    /// release the key.
    bool released_natively = false;
    /// An acquire sets the names to the token if none of them exists. If the server has a command for
    /// this, it is used.
    bool acquired_natively = false;
    /// These replies are grants without further data: `+OK` to an acquire, and `:1` to an extend or a
    /// release. Nearly every reply is one of them, so they are recognized without a call.
    bool acquire_grants_by_ok = false;
    bool holder_grants_by_one = false;
    /// A denied attempt may be followed by an immediate second one, which has `command::contended`
    /// and may succeed.
    bool tries_twice = false;
    /// Lifetime of a waiter's announcement. 0 if the kind has none: see `lock_kind::announce`.
    core::milliseconds announcement_ttl{0};
    /// Its waiters join the remote queue if they can.
    bool joins_remote_queue = true;
    /// The order of its waiters is binding: see `core::queue_place`. `queue()` keeps their places.
    bool orders_waiters = false;
    /// Its lease can become a reader's lease of a shared kind.
    bool is_downgradable = false;
};

/// Defines how an instance executes the steps of a lock, over RESP and in memory. The state machines do not
/// depend on the kind.
///
/// To add a kind, derive a class and define an object of it that lives as long as the program.
///
/// Thread-safe.
class lock_kind {
public:
    explicit constexpr lock_kind(const kind_traits& traits) noexcept : traits_(traits) {}
    lock_kind(const lock_kind&) = delete;
    lock_kind& operator=(const lock_kind&) = delete;

    [[nodiscard]] const kind_traits& traits() const noexcept { return traits_; }

    /// Returns whether an announcement precedes a contended acquire. `remaining` ignores what the
    /// announcement removes.
    [[nodiscard]] bool announces() const noexcept {
        return traits_.announcement_ttl != core::milliseconds(0);
    }

    /// Writes the announcement that precedes a contended acquire, as one command with one reply. The reply is
    /// ignored. The command removes holders that have expired. If `command::announces`, it also announces
    /// that the sender waits.
    virtual void announce(const command& /*command*/, resp::command_writer& /*to*/) const {}

    /// Writes `step::withdraw`, which removes an announcement.
    virtual void withdraw(const command& /*command*/, resp::command_writer& /*to*/) const {}

    /// Writes any other command for a server, as one command with one reply.
    virtual void encode(const command& command, const capabilities& server, script_form form,
                        resp::command_writer& to) const = 0;

    /// Returns whether the server's own command executes this step. If the server refuses it, a script
    /// is sent instead.
    [[nodiscard]] bool is_native(const command& command, const capabilities& server,
                                 script_form form) const noexcept {
        if (form != script_form::shortest) {
            return false;
        }
        return command.step == core::step::release
                   ? server.native_delete != native_delete::none && traits_.released_natively
                   : core::takes_key(command) && !command.heals && server.sets_several &&
                         traits_.acquired_natively;
    }

    /// Returns how the command is combined with adjacent ones. Returns null if it is sent separately.
    [[nodiscard]] const coalescing* coalesces(const command& command, const capabilities& server,
                                              script_form form) const noexcept {
        if (command.step != core::step::release) {
            return nullptr;
        }
        const bool is_usual = form == script_form::shortest && !server.is_clustered &&
                              !is_native(command, server, form);
        return is_usual || form == script_form::many_in_full ? traits_.releases : nullptr;
    }

    /// Returns the vote on a reply. The reply is not an error and has no nested values. It is not one of the
    /// grants that the traits describe.
    [[nodiscard]] virtual core::vote decode(const command& command,
                                            const resp::value& reply) const = 0;

    /// Returns the vote on the reply to a command that `is_native`.
    [[nodiscard]] virtual core::vote decode_native(const command& command,
                                                   const resp::value& reply) const {
        return decode(command, reply);
    }

    /// Returns the words of a denial, for an error's text: "denied, ...". `detail` is the printable form of
    /// the vote's detail.
    [[nodiscard]] virtual std::string why(const core::vote& denial, std::string_view detail) const;

    /// Executes a command in memory.
    virtual core::vote execute(const command& command, table& keys, const instant& at) const = 0;

    /// Returns the kind that keeps the remote queue of its keys. The default queue kind defines this
    /// function, so no file here includes that kind.
    [[nodiscard]] virtual const queue_kind& queue() const noexcept;

    /// Returns whether a command uses auxiliary keys of colock in addition to the lock's key.
    [[nodiscard]] virtual bool has_auxiliary_key(const command& /*command*/) const { return false; }

    /// Returns the commands that replace this one while a cluster moves its slot. Some keys of the command
    /// may then be on another node, and both nodes refuse it. Each replacement has one key, and they are sent
    /// one after the other. Returns nothing if the command must wait until the slot has moved.
    [[nodiscard]] virtual std::vector<command> apart(const command& /*command*/) const {
        return {};
    }

protected:
    ~lock_kind() = default;

private:
    kind_traits traits_;
};

/// A kind that keeps the remote queue of a key, with the steps join and leave. For `remaining`, the key of
/// the command is the name of a ticket.
class queue_kind : public lock_kind {
public:
    using lock_kind::lock_kind;

    /// Returns the name of a ticket in the queue of a key. Servers report changes of the ticket
    /// under this name.
    [[nodiscard]] virtual std::string ticket_name(std::string_view key,
                                                  std::uint64_t number) const = 0;

protected:
    ~queue_kind() = default;
};

/// Returns whether an announcement precedes a command: see `lock_kind`. ASKING applies to a single command,
/// so no announcement is sent with it.
inline bool is_behind_announcement(const command& command, script_form form) noexcept {
    return command.contended && core::takes_key(command) && form != script_form::asking &&
           command.kind->announces();
}

}  // namespace colock::kinds

#endif
