// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_NODE_HPP
#define COLOCK_INSTANCE_REDIS_NODE_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "core/vote.hpp"
#include "instance/batch.hpp"
#include "instance/instance.hpp"
#include "instance/redis/address.hpp"
#include "instance/redis/connection.hpp"
#include "instance/redis/encoder.hpp"
#include "instance/redis/replica_wait.hpp"
#include "instance/redis/resend_queue.hpp"
#include "instance/redis/resolve.hpp"
#include "instance/send_window.hpp"
#include "platform/fork.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::instance::redis {

/// How long a restarted server may not grant locks.
struct quarantine_settings {
    core::duration length{};  ///< From the server's start, on its own clock. 0 = no quarantine.
    core::drift_bound drift;  ///< The drift of that clock.
};

struct node_settings {
    connection_settings connection;
    /// How long a grant waits for `address::replicas_acked`.
    std::chrono::milliseconds replicas_timeout{};
    core::backoff reconnect;
    std::size_t max_in_flight = 65536;
    /// A server that has not answered for this long gets no new locks until it does.
    core::duration stall_timeout{};
    quarantine_settings quarantine;
    /// Shared by the nodes of a client.
    std::shared_ptr<redis::encoder> encoder = std::make_shared<redis::encoder>();
};

/// Why a server may not grant locks, and until when.
struct quarantine_reason {
    core::time_point until = core::time_point::min();
    std::string why{};
    std::string setting{};  ///< The setting that determines the length.
};

/// Returns the end of a text about a quarantine: ", grants locks in 3 s (restart_quarantine)". Rounded up.
std::string grants_in(core::time_point end, std::string_view setting);

/// The instance's decision about a server that has passed the probe.
struct admission {
    std::string objection{};  ///< Why the server must not vote. Empty = it may.
    quarantine_reason quarantine{};
};

class node;

/// The instance that owns a node. Receives its events, on the node's executor.
class node_observer {
public:
    /// The server has passed the probe. Returns whether it may vote, and its quarantine.
    virtual admission admit(const node& from, const server_facts& facts) = 0;
    /// Its connection has ended, or an attempt to connect has failed.
    virtual void on_disconnected(const node& from) = 0;
    /// `ready` or `starting` has changed.
    virtual void on_state_change(const node& from) = 0;
    /// See `connection_owner`. The observer owns the command again.
    virtual void on_redirected(const node& from, const submission& command,
                               const resp::value& error) = 0;
    /// It has commands to send again. It needs a call of `send`, even with an empty batch.
    virtual void on_pending() = 0;
    /// It accepts commands again, after votes that failed because it was down.
    virtual void on_accepting() = 0;
    /// See `instance_observer`.
    virtual void on_key_changed(std::string_view key) = 0;
    virtual void on_all_keys_changed() = 0;

protected:
    ~node_observer() = default;
};

/// One server at one address. It cycles through connecting, probing, quarantined, ready and down. It keeps a
/// connection open, and carries the commands of instance number `index` over it. It outlives its observer
/// until its last asynchronous operation has ended.
///
/// Thread-safety: one thread at a time, except for `snapshot`.
class node final : public std::enable_shared_from_this<node>, public connection_owner {
public:
    /// `seed` feeds the jitter of reconnects.
    node(std::size_t index, address to, const node_settings& settings, std::uint64_t seed,
         const boost::asio::any_io_executor& executor, node_observer& observer);

    /// Starts to connect. Retries until `stop`.
    void start();

    /// Records that votes have failed because there was no node. `on_accepting` will be called.
    void was_missed() noexcept { was_missed_ = true; }

    [[nodiscard]] const address& where() const noexcept { return to_; }
    [[nodiscard]] std::size_t in_flight() const noexcept {
        return in_flight_.load(std::memory_order_relaxed);
    }
    /// Returns whether it has commands to send again.
    [[nodiscard]] bool wants_to_send() const noexcept { return !to_resend_.empty(); }

    /// Closes the connection permanently. Unanswered commands fail. Idempotent.
    void stop();

    /// Stops, and drops the observer without further calls.
    void forget() noexcept;

    /// Sends a batch like `instance::send`. Uses `form` if it is given.
    void send(const std::shared_ptr<const batch>& commands, core::time_point now,
              std::optional<script_form> form = std::nullopt);

    /// Returns whether locks may be acquired on it.
    [[nodiscard]] bool ready() const noexcept { return ready_; }
    /// See `instance::takes_commands`.
    [[nodiscard]] bool takes_commands(core::time_point now) const {
        return serving_ && (sent_ == 0 || !stalled(now));
    }
    /// See `instance::answers_since`.
    [[nodiscard]] bool answers_since(core::time_point then) const noexcept {
        return serving_ && (sent_ == 0 || connection_->silent_since() >= then);
    }
    /// Returns the free part of the send window, see `instance::room`. Requires `ready`.
    [[nodiscard]] std::size_t room() const noexcept {
        return window_.size() - std::min(window_.size(), sent_);
    }
    /// Returns whether it accepts commands. During a quarantine it accepts only commands that do not rely on
    /// its memory.
    [[nodiscard]] bool serving() const noexcept { return serving_; }
    /// Returns whether its first attempt to connect is in progress.
    [[nodiscard]] bool starting() const noexcept { return starting_; }
    /// See `instance::keeper_id`.
    [[nodiscard]] std::uint64_t keeper_id() const noexcept { return ready_ ? keeper_id_ : 0; }
    /// Thread-safe.
    [[nodiscard]] status snapshot() const;

private:
    // The connection.
    boost::asio::awaitable<void> keep_connected();
    boost::asio::awaitable<std::string> connect_and_serve();
    boost::asio::awaitable<std::string> serve_at(std::string host);
    void on_probing() override;
    std::string on_ready(const server_facts& facts) override;
    void on_ended(const std::string& reason) override;
    void change_state(state now, const std::string& reason);

    // Quarantine.
    void note_server(core::time_point now);
    [[nodiscard]] quarantine_reason young(core::time_point now) const;
    void quarantine(const quarantine_reason& r);

    // Commands out.
    [[nodiscard]] script_form usual_form() const noexcept;
    void resend(core::time_point now);
    void send_some(const std::vector<submission>& commands, script_form form, core::time_point now,
                   bool again = false);
    template <typename Encode>
    void execute(const std::shared_ptr<const batch>& commands, script_form form,
                 core::time_point now, const Encode& encode);
    void send_batch(sent_batch sent, std::string_view text, core::time_point now);
    [[nodiscard]] core::failure refuse(const submission& one, core::time_point now) const;
    [[nodiscard]] core::vote refused(const submission& one, core::failure why) const;
    [[nodiscard]] std::shared_ptr<const std::string> why_not(const submission& one) const noexcept;
    [[nodiscard]] bool refuses_some() const noexcept;
    void ask_again(core::time_point now);
    [[nodiscard]] bool stalled(core::time_point now) const;
    void send_again(const submission& command, script_form form);

    // Replicas.
    void replicate(const submission& command, const core::vote& granted, core::time_point now);
    void wait_for_replicas();
    void wake_server_later();
    void on_replicated(const resp::value& reply, core::time_point now) override;
    void vote_on_replicated(core::failure reason, core::time_point now,
                            const std::shared_ptr<const std::string>& why = {});

    // Answers in.
    void on_vote(const submission& command, const core::vote& vote, core::time_point now) override;
    void on_refused(const submission& command, bool for_good) override;
    void on_unknown_script(const submission& command, bool of_many) override;
    void on_redirected(const submission& command, const resp::value& error) override;
    void on_key_changed(std::string_view key) override;
    void on_all_keys_changed() override;
    void on_answered(std::optional<core::time_point> first,
                     std::optional<core::time_point> all) override;
    void vote_on(const submission& one, const core::vote& vote, core::time_point now);
    void count_in_flight(std::size_t more) noexcept;
    [[nodiscard]] send_window new_window() const noexcept;

    platform::process_mark process_;
    std::size_t index_;
    address to_;
    node_settings settings_;
    std::uint64_t random_;
    boost::asio::any_io_executor executor_;
    node_observer* observer_;
    boost::asio::steady_timer backoff_timer_;
    boost::asio::steady_timer quarantine_timer_;
    boost::asio::steady_timer wait_timer_;
    resolver resolver_;

    bool stopped_ = false;
    bool serving_ = false;  // Connected and probed, so commands can be sent.
    bool ready_ = false;    // Also not quarantined, so locks may be acquired.
    bool starting_ = true;
    bool answered_ = false;      // The server has answered since the last attempt to connect.
    bool was_accepted_ = false;  // It has also passed the probe and may vote.
    std::size_t tries_ = 0;      // Attempts to connect since it was last ready.
    std::shared_ptr<connection> connection_;
    server_facts facts_;
    core::time_point probed_at_;
    std::optional<std::string> last_run_id_;  // Run id of the last server at this address.
    // Quarantine because the server at this address was replaced.
    quarantine_reason changed_;
    std::uint64_t keeper_id_ = 0;
    std::vector<std::pair<submission, core::vote>> unreplicated_;  // Grants that wait for replicas.

    // Votes have failed because it was down or stalled. Their senders are notified when it is back.
    bool was_missed_ = false;
    bool shortest_refused_ = false;  // Since it was last ready.
    resend_queue to_resend_;
    resend_queue::number next_answer_ = 0;  // Number of the command that is answered next.
    std::size_t sent_ = 0;                  // Commands in flight that were sent to the server.
    send_window window_;
    replica_wait wait_;
    std::string text_with_wait_;
    bool wakes_later_ = false;  // The timer for `wait_` is running.
    // Accepted commands without a vote. Written only on the executor.
    std::atomic<std::size_t> in_flight_{0};
    std::atomic<std::size_t> window_size_{0};  // For `snapshot`.
    std::atomic<core::duration> delay_{core::duration::zero()};

    mutable std::mutex status_mutex_;
    status status_;
    std::string quarantine_setting_;  // The setting that determines the length of the quarantine.
};

}  // namespace colock::instance::redis

#endif
