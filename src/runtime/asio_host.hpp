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

/// An engine in a program: its executor, its timer, its random numbers, and its protection from other threads
/// and processes. Every event in the engine starts here, or with a report of an instance.
///
/// It lives as long as it is referenced: by the client, an operation, a lease or background work. If the
/// execution context is destroyed first, `abandon` makes the rest a no-op.
///
/// Thread-safety: all functions run on the engine's executor, one thread at a time, unless stated otherwise.
class asio_host final : public std::enable_shared_from_this<asio_host>, private environment {
public:
    /// Creates the instances. They report to `observer`, the engine's observer, and run on `executor`.
    using instance_factory = std::function<instance_group::list(
        const boost::asio::any_io_executor& executor, instance::instance_observer& observer)>;

    /// Creates a host. With `thread_safe`, it runs on its own strand, and any thread may call `run`.
    static std::shared_ptr<asio_host> make(boost::asio::any_io_executor executor, bool thread_safe,
                                           const engine_settings& settings,
                                           const instance_factory& make_instances);
    ~asio_host() = default;

    /// Returns the host of these parts. Only valid in a program, where each engine belongs to a host.
    [[nodiscard]] static const asio_host& of(const client_context& parts) noexcept {
        return static_cast<const asio_host&>(parts.world);
    }
    [[nodiscard]] static std::shared_ptr<asio_host> of(
        const std::shared_ptr<client_context>& parts) noexcept {
        return {parts, &static_cast<asio_host&>(parts->world)};
    }

    // From any thread:

    /// Returns the host with that number. Null if it no longer exists.
    [[nodiscard]] static std::shared_ptr<asio_host> find(std::uint64_t number);
    /// Returns a number that is not 0 and is never reused in the process.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

    /// Returns the executor of handlers without an associated executor.
    [[nodiscard]] const boost::asio::any_io_executor& user_executor() const noexcept {
        return user_executor_;
    }
    [[nodiscard]] bool thread_safe() const noexcept { return thread_safe_; }

    /// Returns whether this process is a child of the process that created the client. Only the parent can
    /// use the client, and no operation can be started here.
    [[nodiscard]] bool is_inherited() const noexcept { return process_.is_inherited(); }

    [[nodiscard]] const client_context& parts() const noexcept { return engine_.parts(); }
    // These share the ownership of the host.
    [[nodiscard]] std::shared_ptr<client_context> owned_parts() noexcept {
        return {shared_from_this(), &engine_.parts()};
    }
    [[nodiscard]] std::shared_ptr<engine> owned_engine() noexcept {
        return {shared_from_this(), &engine_};
    }

    /// Runs `function` where the engine runs: immediately, or through its strand. Drops it if the context is
    /// gone. In a child, drops it if another thread of the parent may have been inside at the fork.
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

    /// Closes the engine, see `colock::client::close`.
    void close();

    /// Ends the pending operations in a child, like `close`. Sends nothing to the servers, which the parent
    /// continues to use. Idempotent.
    void end_in_child();

    /// Drops everything, because the execution context is being destroyed and runs no further handlers.
    void abandon() noexcept;

private:
    asio_host(boost::asio::any_io_executor executor, bool thread_safe,
              const engine_settings& settings);

    /// Deletes the host on its strand. The last reference may be dropped on any thread, but the handlers of
    /// its connections run on the strand.
    static void dispose(asio_host* h) noexcept;

    // The engine's environment.
    [[nodiscard]] core::time_point now() const noexcept override;
    void defer() override;
    void wake_at(core::time_point when) override;
    std::uint64_t random() noexcept override { return random_(); }

    void turn();
    void on_timer();
    void let_go_if_closed() noexcept;

    std::uint64_t number_;
    platform::process_mark process_;
    thread_check thread_check_;  // Checks turns and timers, and without a strand also `run`.
    bool thread_safe_;
    boost::asio::any_io_executor user_executor_;
    boost::asio::any_io_executor executor_;
    boost::asio::any_io_executor work_;  // Keeps the context busy until the engine has closed.
    std::atomic<bool> dead_{false};
    std::unique_ptr<boost::asio::steady_timer> timer_;
    platform::fresh_random random_;
    bool ended_in_child_ = false;
    std::shared_ptr<asio_host> self_;  // While closing in the background.
    engine engine_;
};

}  // namespace colock::runtime

#endif
