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

/// What a kind is, in short.
struct kind_traits {
    std::string_view name;
    kinds::admission admission = kinds::admission::exclusive();
    /// What the tokens of its holders begin with.
    std::string_view token_prefix{};
    /// What the values of a quorum's grants have to be: see `core::lease`.
    core::agreement agreement = core::agreement::none;
    /// Whether each holder has a value of its own, as a fence.
    bool value_per_holder = false;
    /// How adjacent releases are sent as one; null if each is sent by itself.
    const coalescing* releases = nullptr;
    /// The key holds nothing but the token. So the server's own command to delete it will do, if there is one.
    bool released_natively = false;
    /// An acquire sets the names to the token, if none of them exists. So the server's own command will do, if there is one.
    bool acquired_natively = false;
    /// Replies that are grants with nothing else to tell: `+OK` to an acquire, and `:1` to an extend or a release. Nearly every
    /// reply is one, so they are recognized without a call.
    bool acquire_grants_by_ok = false;
    bool holder_grants_by_one = false;
    /// An attempt that was denied may succeed at once, as the next has `command::contended`.
    bool tries_twice = false;
    /// How long a waiter's announcement lives; 0 for a kind without: see `lock_kind::announce`.
    core::milliseconds announcement_ttl{0};
    /// Its waiters join the remote queue, if they can.
    bool joins_remote_queue = true;
    /// The order of its waiters binds: see `core::queue_place`. `queue()` keeps their places.
    bool orders_waiters = false;
    /// Its lease can become a reader's of a shared kind.
    bool is_downgradable = false;
};

/// What an instance does with the steps of a lock: over RESP, and the same in memory. Machines know rounds and votes,
/// and no kinds.
///
/// A kind is added by an object of a derived class, which lives as long as the program.
///
/// Thread-safe.
class lock_kind {
public:
    explicit constexpr lock_kind(const kind_traits& traits) noexcept : traits_(traits) {}
    lock_kind(const lock_kind&) = delete;
    lock_kind& operator=(const lock_kind&) = delete;

    [[nodiscard]] const kind_traits& traits() const noexcept { return traits_; }

    /// Whether a contended acquire comes behind an announcement. `remaining` leaves out what that clears away.
    [[nodiscard]] bool announces() const noexcept {
        return traits_.announcement_ttl != core::milliseconds(0);
    }

    /// Writes what stands in front of a contended acquire, as one command with one reply, which tells nothing. It announces that
    /// the sender waits, if `command::announces`, and clears away what does not hold the key any more.
    virtual void announce(const command& /*command*/, resp::command_writer& /*to*/) const {}

    /// Writes `step::withdraw`: takes an announcement back.
    virtual void withdraw(const command& /*command*/, resp::command_writer& /*to*/) const {}

    /// Writes any other command for a server, as one that has one reply.
    virtual void encode(const command& command, const capabilities& server, script_form form,
                        resp::command_writer& to) const = 0;

    /// Whether a command goes to the server as one of the server's own. If the server refuses that, it is sent by a script.
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

    /// With which adjacent commands it is sent as one; null if it is sent by itself.
    [[nodiscard]] const coalescing* coalesces(const command& command, const capabilities& server,
                                              script_form form) const noexcept {
        if (command.step != core::step::release) {
            return nullptr;
        }
        const bool is_usual = form == script_form::shortest && !server.is_clustered &&
                              !is_native(command, server, form);
        return is_usual || form == script_form::many_in_full ? traits_.releases : nullptr;
    }

    /// What a reply means that is no error, and no grant of those that the traits tell of. It has no other values inside it.
    [[nodiscard]] virtual core::vote decode(const command& command,
                                            const resp::value& reply) const = 0;

    /// The same for a command that `is_native`.
    [[nodiscard]] virtual core::vote decode_native(const command& command,
                                                   const resp::value& reply) const {
        return decode(command, reply);
    }

    /// Returns the words of a denial, for an error's text: "denied, ...". `detail` is the printable form of the vote's.
    [[nodiscard]] virtual std::string why(const core::vote& denial, std::string_view detail) const;

    /// Carries a command out in memory.
    virtual core::vote execute(const command& command, table& keys, const instant& at) const = 0;

    /// The kind that keeps the remote queue of its keys. The usual one defines this function, so that nothing here includes it.
    [[nodiscard]] virtual const queue_kind& queue() const noexcept;

    /// Whether a command works on keys of our own beside the lock's key.
    [[nodiscard]] virtual bool has_auxiliary_key(const command& /*command*/) const { return false; }

    /// While a cluster moves a slot, one key of a command may be here and one there, and both nodes refuse it. Returns what
    /// to do in its place, with one key each, one after the other. Returns nothing if it has to wait until the slot has moved.
    [[nodiscard]] virtual std::vector<command> apart(const command& /*command*/) const {
        return {};
    }

protected:
    ~lock_kind() = default;

private:
    kind_traits traits_;
};

/// A kind that keeps the remote queue of a key, with the steps join and leave. `remaining` of a ticket is asked by its name.
class queue_kind : public lock_kind {
public:
    using lock_kind::lock_kind;

    /// The name of a ticket in the queue of that key, under which servers tell of its changes.
    [[nodiscard]] virtual std::string ticket_name(std::string_view key,
                                                  std::uint64_t number) const = 0;

protected:
    ~queue_kind() = default;
};

/// Whether a command comes behind an announcement: see `lock_kind`. (ASKING serves for a single command, so there is none
/// behind that.)
inline bool is_behind_announcement(const command& command, script_form form) noexcept {
    return command.contended && core::takes_key(command) && form != script_form::asking &&
           command.kind->announces();
}

}  // namespace colock::kinds

#endif
