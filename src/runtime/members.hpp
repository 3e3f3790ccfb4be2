// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_MEMBERS_HPP
#define COLOCK_RUNTIME_MEMBERS_HPP

#include "core/client_hold.hpp"
#include "core/outcome.hpp"
#include "core/queue_ticket.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/operations/operation.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

// What the operations, leases and queues of a client are to each other, and to its engine.

namespace colock::runtime {

class lease_driver;
class local_queue;

using in_client =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct members>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
using at_key =
    boost::intrusive::list_base_hook<boost::intrusive::tag<local_queue>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// Why an operation has failed for want of a quorum.
struct failure_to_acquire {
    core::acquire_outcome outcome = core::acquire_outcome::no_quorum;
    core::time_point no_quorum_since;
    std::string details;
};

/// An operation that wants a lease.
class waiter : public operation, public in_client, public at_key {
public:
    [[nodiscard]] virtual const std::shared_ptr<const lock_spec>& wanted() const noexcept = 0;

    [[nodiscard]] virtual core::time_point arrived() const noexcept = 0;

    /// Nobody of the client is before it any more.
    virtual void begin() = 0;
    /// It has the lease now, or a share in it.
    virtual void receive(std::shared_ptr<lease_driver> lease) = 0;
    /// Fails as the one that was at the key has, if it has waited as long as it may for a quorum.
    [[nodiscard]] virtual bool fails_with(const failure_to_acquire& first,
                                          core::time_point now) = 0;

    /// What it has found out so far. Contended: an instance has denied, or another client is before it in the remote queue.
    /// Nothing: no attempt has ended, and no instance has denied.
    [[nodiscard]] virtual std::optional<core::acquire_outcome> finding() const noexcept = 0;
    /// What an error of it would tell now.
    [[nodiscard]] virtual std::string story() const = 0;

    /// What the remote queue advises.
    virtual void on_advice(core::queue_ticket::advice advice) = 0;
    /// What an instance tells of the key that is in the way.
    virtual void note_remaining(std::size_t index, const core::vote& vote) = 0;
    /// Whether it has been told that the key has no ttl.
    [[nodiscard]] virtual bool met_key_without_ttl() const noexcept = 0;

    /// Too few instances were ready for it, and that may have changed.
    virtual void on_instances_changed(bool quorum_is_back) = 0;
    /// Something has happened to its key at instance number `index`.
    virtual void on_key_changed(std::size_t index) = 0;
    /// Something has happened to another key of its lock, while it is at the first one.
    virtual void on_more_key_changed(std::size_t index) = 0;
    /// The client is being closed.
    virtual void on_close() = 0;
    /// There is no world any more.
    virtual void on_abandon() noexcept = 0;
};

/// A lease of the client, from its attempt to the end of its release.
class client_lease : public in_client, public at_key {
public:
    /// Of the lock that it is a lease of now: the readers' side, after a downgrade.
    [[nodiscard]] virtual const lock_spec& spec() const noexcept = 0;
    /// For how long its client has the key by it.
    [[nodiscard]] const core::client_hold& held() const noexcept { return hold_; }
    void hold_since(core::time_point sent, core::time_point now) noexcept {
        hold_ = core::client_hold(sent, now);
    }
    /// Whether an operation with that lock may have a share in it.
    [[nodiscard]] virtual bool may_be_shared(const lock_spec& wanted,
                                             core::time_point now) const = 0;
    /// It has one more holder.
    virtual std::shared_ptr<lease_driver> add_holder() = 0;

    /// Instance number `index` takes commands again.
    virtual void on_accepting(std::size_t index) = 0;
    /// The client is being closed: the lease is lost.
    virtual void on_close() = 0;
    /// Whether the closing client need not wait for it any longer: see `core::lease::settled`.
    [[nodiscard]] virtual bool settled(core::time_point now) const = 0;
    /// Whether it was released, and too few instances have answered.
    [[nodiscard]] virtual bool unanswered() const = 0;
    /// The connections are gone: nothing more can be released.
    virtual void on_closed() = 0;
    virtual void on_abandon() noexcept = 0;

protected:
    ~client_lease() = default;

    core::client_hold hold_;
};

/// The client's ticket in the remote queue of a key.
class remote_ticket : public in_client {
public:
    /// The latest that is known of it.
    [[nodiscard]] virtual core::queue_ticket::advice advice() const noexcept = 0;
    /// Whether no other client was before it when it joined last.
    [[nodiscard]] virtual bool is_first() const noexcept = 0;
    /// Whether another client was. Both are false before the first answer.
    [[nodiscard]] virtual bool has_others_before() const noexcept = 0;
    /// An attempt was denied, with these votes. It may have written to the lock's key all the same: an announcement.
    virtual void on_denied(const core::round& votes, bool may_have_written) = 0;
    /// An attempt was granted: the ticket stays until the release, but no longer than for a while.
    virtual void on_held() = 0;
    /// Nobody of this client waits there any more, nor has the lock.
    virtual void leave() = 0;

    virtual void on_lock_changed(std::size_t index) = 0;
    /// Of the ticket that `members::watched` has it under.
    virtual void on_ticket_changed(std::size_t index) = 0;
    virtual void on_all_keys_changed(std::size_t index) = 0;
    virtual void on_instance_changed(std::size_t index) = 0;
    virtual void on_abandon() noexcept = 0;

protected:
    ~remote_ticket() = default;
};

/// All of a client's, for its engine to tell them.
struct members {
    template <typename T>
    using list = boost::intrusive::list<T, boost::intrusive::base_hook<in_client>,
                                        boost::intrusive::constant_time_size<false>>;

    list<waiter> waiters;
    list<client_lease> leases;
    /// Of the leases, those that hear, until their end, when an instance takes commands again, and are in no other list.
    list<client_lease> giving_back;
    list<remote_ticket> tickets;
    /// By the other keys of their locks: those that are at the first.
    std::unordered_multimap<std::string_view, waiter*> at_more_keys;
    /// By the name of the ticket that it is to be told of. The name stays where it is until it is taken out.
    std::unordered_map<std::string_view, remote_ticket*> watched;
};

}  // namespace colock::runtime

#endif
