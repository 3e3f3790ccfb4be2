#ifndef COLOCK_TEST_SIMULATION_CHECKER_HPP
#define COLOCK_TEST_SIMULATION_CHECKER_HPP

#include "simulation/server.hpp"
#include "simulation/world.hpp"

#include "core/lease.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace colock::simulation {

struct token_life;

/// Knows everything, in true time, and says when a promise was broken. The rules:
///
/// - *mutual exclusion*: no two leases of one resource are valid at one moment, each by its own
///   client's clock (see `claims` for the excuse).
/// - *backed validity*: to the end of its validity a lease has its key on a quorum of the instances,
///   those where it was destroyed included. This is what mutual exclusion rests on, and it can be
///   broken long before somebody else happens to come by.
/// - *fresh token*: no two attempts have the same one.
/// - *nothing after the end*: no acquire, extend or heal is sent for a token that was let go.
/// - *loss in time*: the loss of a lease is announced before its validity ends.
/// - *needless loss*: see `claims`.
/// - *undone*: when all commands of a token were answered, and its life has ended before its keys
///   were gone by themselves, no instance has its key.
/// - *gone after the ttl*: some time after everything is quiet, no instance has any key.
/// - *deadline*, *liveness*: an acquire ends when its caller wanted it to; with a healthy majority
///   every acquire and every release ends.
/// - *token check*: no command changes the key of another token.
class checker {
public:
    checker(world& w, std::vector<std::unique_ptr<server>>& servers)
        : world_(w), servers_(servers) {}

    void on_fresh_token(const std::string& token);
    void on_sent(const token_life& life, core::lease_tag tag);
    /// The lease has become valid, or its validity has changed.
    void on_validity(token_life& life);
    /// It was let go or lost: it is not valid any more.
    void on_invalid(token_life& life);
    void on_lost(token_life& life, core::loss why);
    void on_ended(token_life& life);
    void on_destroyed(std::size_t server, const std::string& token);

    /// After everything was quiet for long enough.
    void expect_no_keys(const std::vector<std::string>& keys);

    void add(token_life& life);

private:
    [[nodiscard]] std::string describe(const token_life& life) const;
    [[nodiscard]] bool counts_now(const token_life& life) const;
    [[nodiscard]] std::uint64_t held_at(const token_life& life) const;
    [[nodiscard]] bool excused(const token_life& life) const;
    void expect_backed(const token_life& life);

    world& world_;
    std::vector<std::unique_ptr<server>>& servers_;
    std::map<std::string, token_life*> lives_;               // by token
    std::map<std::string, std::vector<token_life*>> valid_;  // by key
};

}  // namespace colock::simulation

#endif
