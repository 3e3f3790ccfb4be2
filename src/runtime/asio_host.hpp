// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_ASIO_HOST_HPP
#define COLOCK_RUNTIME_ASIO_HOST_HPP

#include "core/time.hpp"
#include "instance/instance.hpp"
#include "platform/fork.hpp"
#include "platform/fresh_random.hpp"
#include "runtime/engine.hpp"
#include "runtime/environment.hpp"
#include "runtime/thread_check.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace colock::runtime {

/// An engine in a program: its executor, its timer, its randomness, and what may come at it from other threads and
/// other processes. Whatever happens in the engine begins here, or with a report of an instance.
///
/// Lives as long as anybody refers to it: the client, an operation, a lease, work in the background.
/// When the execution context goes first, `abandon` makes all that is left a no-op.
///
/// Thread-safety: all on the engine's executor, one thread at a time, but what says otherwise.
class asio_host final : public std::enable_shared_from_this<asio_host>, private environment {
public:
    /// Makes the instances. They report to `observer`, which is the engine's, and work on `executor`.
    using instance_factory = std::function<instance_group::list(
        const boost::asio::any_io_executor& executor, instance::instance_observer& observer)>;

    /// With `thread_safe` it works on a strand of its own, and any thread may `run` functions there.
    static std::shared_ptr<asio_host> make(boost::asio::any_io_executor executor, bool thread_safe,
                                           const engine_settings& settings,
                                           const instance_factory& make_instances);
    ~asio_host() = default;

    /// That of an engine that was made by one, as all are in a program.
    [[nodiscard]] static const asio_host& of(const client_context& parts) noexcept {
        return static_cast<const asio_host&>(parts.world);
    }
    [[nodiscard]] static std::shared_ptr<asio_host> of(
        const std::shared_ptr<client_context>& parts) noexcept {
        return {parts, &static_cast<asio_host&>(parts->world)};
    }

    // From any thread:

    /// The host with that number; null if it is gone.
    [[nodiscard]] static std::shared_ptr<asio_host> find(std::uint64_t number);
    /// Not 0, and no other host of the process has or had it.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

    /// Where handlers run that have no executor of their own.
    [[nodiscard]] const boost::asio::any_io_executor& user_executor() const noexcept {
        return user_executor_;
    }
    [[nodiscard]] bool thread_safe() const noexcept { return thread_safe_; }

    /// Whether this process is a child of the one that made the client, which is the parent's alone: nothing
    /// can be started here.
    [[nodiscard]] bool is_inherited() const noexcept { return process_.is_inherited(); }

    [[nodiscard]] const client_context& parts() const noexcept { return engine_.parts(); }
    // These share the ownership of the host.
    [[nodiscard]] std::shared_ptr<client_context> owned_parts() noexcept {
        return {shared_from_this(), &engine_.parts()};
    }
    [[nodiscard]] std::shared_ptr<engine> owned_engine() noexcept {
        return {shared_from_this(), &engine_};
    }

    /// Runs `function` where the engine works: at once, or by way of its strand. Drops it if the
    /// context is gone, and in a child if another thread of the parent may have been inside at the fork.
    template <typename Function>
    void run(Function&& function) {
        if (dead_.load(std::memory_order_acquire)) {
            return;
        }
        if (is_inherited()) {
            if (thread_safe_ || thread_check_.is_of_another()) {
                return;
            }
            end_in_child();
        }
        if (thread_safe_) {
            boost::asio::dispatch(executor_, std::forward<Function>(function));
        } else {
            const thread_check::visit inside(thread_check_);
            std::forward<Function>(function)();
        }
    }

    // On the executor:

    /// The client is destroyed or closed: see `colock::client::close`.
    void close();

    /// In a child of the process that made the client: ends what was under way at the fork, as `close` does, but
    /// without a word to the servers, with which the parent goes on. Idempotent.
    void end_in_child();

    /// The execution context is being destroyed: nothing will run any more.
    void abandon() noexcept;

private:
    asio_host(boost::asio::any_io_executor executor, bool thread_safe,
              const engine_settings& settings);

    /// The last owner may let go on any thread, while what its connections have left to do runs on the strand; so it ends
    /// there.
    static void dispose(asio_host* h) noexcept;

    // The engine's world.
    [[nodiscard]] core::time_point now() const noexcept override;
    void defer() override;
    void wake_at(core::time_point when) override;
    std::uint64_t random() noexcept override { return random_(); }

    void turn();
    void on_timer();
    void let_go_if_closed() noexcept;

    std::uint64_t number_;
    platform::process_mark process_;
    thread_check thread_check_;  // in turns and timers; without a strand, in `run` too
    bool thread_safe_;
    boost::asio::any_io_executor user_executor_;
    boost::asio::any_io_executor executor_;
    boost::asio::any_io_executor work_;  // keeps the context busy until we have closed
    std::atomic<bool> dead_{false};
    std::unique_ptr<boost::asio::steady_timer> timer_;
    platform::fresh_random random_;
    bool ended_in_child_ = false;
    std::shared_ptr<asio_host> self_;  // while closing in the background
    engine engine_;
};

}  // namespace colock::runtime

#endif
