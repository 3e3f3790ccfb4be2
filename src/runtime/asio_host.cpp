// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/asio_host.hpp"

#include "platform/clock.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace colock::runtime {
namespace {

/// Shuts down the hosts of an execution context when the context is destroyed. Otherwise their members would
/// outlive the services that they use.
class host_registry final : public boost::asio::execution_context::service {
public:
    static inline boost::asio::execution_context::id id;

    explicit host_registry(boost::asio::execution_context& context) : service(context) {}

    void add(const std::shared_ptr<asio_host>& h) {
        const std::lock_guard lock(mutex_);
        std::erase_if(hosts_, [](const auto& known) { return known.expired(); });
        hosts_.push_back(h);
    }

private:
    void shutdown() override {
        for (const auto& known : std::exchange(hosts_, {})) {
            if (const auto h = known.lock()) {
                h->abandon();
            }
        }
    }

    /// Called in the child before the context runs there, if the program calls Asio's `notify_fork`.
    void notify_fork(boost::asio::execution_context::fork_event event) override {
        if (event == boost::asio::execution_context::fork_child) {
            for (const auto& known : hosts_) {
                if (const auto h = known.lock()) {
                    h->end_in_child();
                }
            }
        }
    }

    std::mutex mutex_;
    std::vector<std::weak_ptr<asio_host>> hosts_;
};

/// The hosts of the process, by number. A moved-from lease has only this number.
class host_directory {
public:
    /// Never destroyed, because the destructors of static objects may still use leases.
    static host_directory& instance() {
        static auto* const all = new host_directory;  // NOLINT(*-owning-memory)
        return *all;
    }

    std::uint64_t next_number() noexcept { return ++last_number_; }

    void add(const std::shared_ptr<asio_host>& h) {
        if (const auto lock = enter()) {
            hosts_.insert_or_assign(h->number(), h);
        }
    }
    void remove(std::uint64_t number) {
        if (const auto lock = enter()) {
            hosts_.erase(number);
        }
    }
    std::shared_ptr<asio_host> find(std::uint64_t number) {
        const auto lock = enter();
        const auto found = lock ? hosts_.find(number) : hosts_.end();
        return found == hosts_.end() ? nullptr : found->second.lock();
    }

private:
    /// The mutex is only locked briefly. In a child it may stay locked, if another thread held it at the
    /// fork.
    static constexpr core::duration longest_wait = std::chrono::milliseconds(100);

    /// Returns an empty lock after `longest_wait`. It does not use std::timed_mutex, because GCC 12's
    /// ThreadSanitizer does not support it.
    std::unique_lock<std::mutex> enter() {
        std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) {
            const core::time_point end = platform::clock::now() + longest_wait;
            while (!lock.try_lock() && platform::clock::now() < end) {
                std::this_thread::yield();
            }
        }
        return lock;
    }

    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::weak_ptr<asio_host>> hosts_;
    std::atomic<std::uint64_t> last_number_{0};
};

}  // namespace

std::shared_ptr<asio_host> asio_host::find(std::uint64_t number) {
    return number == 0 ? nullptr : host_directory::instance().find(number);
}

std::shared_ptr<asio_host> asio_host::make(boost::asio::any_io_executor executor, bool thread_safe,
                                           const engine_settings& settings,
                                           const instance_factory& make_instances) {
    std::shared_ptr<asio_host> result(new asio_host(std::move(executor), thread_safe, settings),
                                      &dispose);
    auto& context = boost::asio::query(result->user_executor_, boost::asio::execution::context);
    boost::asio::use_service<host_registry>(context).add(result);
    host_directory::instance().add(result);
    result->engine_.take(make_instances(result->executor_, result->engine_.observer()));
    result->run([result] { result->engine_.start(); });
    return result;
}

asio_host::asio_host(boost::asio::any_io_executor executor, bool thread_safe,
                     const engine_settings& settings)
    : number_(host_directory::instance().next_number()),
      thread_safe_(thread_safe),
      user_executor_(std::move(executor)),
      executor_(thread_safe ? boost::asio::any_io_executor(boost::asio::make_strand(user_executor_))
                            : user_executor_),
      work_(boost::asio::prefer(executor_, boost::asio::execution::outstanding_work_t::tracked)),
      timer_(std::make_unique<boost::asio::steady_timer>(executor_)),
      engine_(*this, settings) {
    random_.refresh();
}

void asio_host::dispose(asio_host* h) noexcept {
    std::unique_ptr<asio_host> owned(h);
    host_directory::instance().remove(h->number_);
    if (h->thread_safe_ && !h->dead_ && !h->is_inherited()) {
        try {
            boost::asio::dispatch(boost::asio::any_io_executor(h->executor_),
                                  [dying = std::move(owned)] {});
        } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; then it ends here
        }
    }
}

// --- Environment of the engine -------------------------------------------------------------------

core::time_point asio_host::now() const noexcept {
    return platform::clock::now();
}

void asio_host::defer() {
    if (auto self = weak_from_this()
                        .lock()) {  // Otherwise it is being destroyed on the strand: see `dispose`.
        boost::asio::post(executor_, [self = std::move(self)] { self->turn(); });
    }
}

void asio_host::wake_at(core::time_point when) {
    if (!timer_) {
        return;
    }
    if (when == core::never) {
        timer_->cancel();
        return;
    }
    // A child may share the file descriptor with which Asio waits for timers.
    if (is_inherited()) {
        return;
    }
    // A timer does not count the time while the machine is suspended. Long waits are therefore split.
    constexpr core::duration longest = std::chrono::seconds(1);
    const core::time_point now = platform::clock::now();
    timer_->expires_after(when <= now ? core::duration::zero() : std::min(when - now, longest));
    timer_->async_wait([weak = weak_from_this()](const boost::system::error_code& failure) {
        const auto self = weak.lock();
        if (!failure && self && !self->dead_) {  // Otherwise it was set again, or the host is gone.
            self->on_timer();
        }
    });
}

// --- Events in the engine ------------------------------------------------------------------------

void asio_host::turn() {
    const thread_check::visit inside(thread_check_);
    if (is_inherited()) {
        end_in_child();
    }
    // Every token belongs to a command, so the end of a turn always follows.
    const struct end_of_turn {
        platform::fresh_random& random;
        ~end_of_turn() { random.refresh(); }
    } end{random_};
    engine_.turn();
    let_go_if_closed();
}

void asio_host::on_timer() {
    const thread_check::visit inside(thread_check_);
    if (is_inherited()) {
        end_in_child();
        return;
    }
    engine_.wake();
    let_go_if_closed();
}

void asio_host::close() {
    if (!engine_.closing() && !dead_) {
        self_ = shared_from_this();
        engine_.close();
    }
}

void asio_host::end_in_child() {
    if (!std::exchange(ended_in_child_, true) && !dead_) {
        engine_.parts().events.stop();
        engine_.close_at_once();
        let_go_if_closed();
    }
}

/// The caller holds another reference.
void asio_host::let_go_if_closed() noexcept {
    if (engine_.closed() && !dead_) {
        work_ = boost::asio::any_io_executor();
        self_.reset();
    }
}

void asio_host::abandon() noexcept {
    const auto self = shared_from_this();
    dead_.store(true, std::memory_order_release);
    timer_.reset();
    engine_.abandon();
    self_.reset();
    // Leases may outlive the context, but a strand must not.
    work_ = boost::asio::any_io_executor();
    executor_ = boost::asio::system_executor();
    user_executor_ = boost::asio::system_executor();
}

}  // namespace colock::runtime
