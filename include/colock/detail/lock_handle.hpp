// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_DETAIL_LOCK_HANDLE_HPP
#define COLOCK_DETAIL_LOCK_HANDLE_HPP

#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/handlers.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace colock::kinds {
class lock_kind;
}

namespace colock::runtime {
struct handover;
struct lock_spec;
}  // namespace colock::runtime

namespace colock {
inline namespace v1 {
namespace detail {

/// A lease that another process has detached, or the reason why a text is none.
struct detached_lease {
    std::shared_ptr<const runtime::handover> lease;  ///< Null if the text is none.
    std::string problem;
};

/// What a lock is made of: a name, options, and what kind of lease is taken on it. A mutex has one side, a shared mutex
/// has two. See there for what the operations do.
///
/// Thread-safety: distinct objects safe; shared objects: const members safe.
class COLOCK_EXPORT lock_handle {
public:
    using executor_type = client::executor_type;
    using duration = std::chrono::milliseconds;
    using time_point = std::chrono::steady_clock::time_point;

    /// Whether an owner may enter the lock again while holding it.
    enum class reentry : bool { refused, allowed };

    /// Throws `config_error` for a resource that is empty or longer than 64 KiB, or options that cannot work. The kind
    /// lives as long as the program.
    lock_handle(client& client, std::string_view resource, const lock_options& options,
                const kinds::lock_kind& kind, reentry again = reentry::refused);

    /// Of a lock with several names, of which there is at least one. Waiters of this client queue up for the first one.
    lock_handle(const std::shared_ptr<runtime::client_context>& owner,
                std::span<const std::string_view> resources, const lock_options& options,
                const kinds::lock_kind& kind, reentry again = reentry::refused);

    /// What a lock keeps of its client. It stays the same after a move of the client. Null if the client was moved from.
    static std::shared_ptr<runtime::client_context> owner_of(const client& client);

    /// The same name and options with another kind of lease. The kind lives as long as the program.
    [[nodiscard]] lock_handle with_kind(const kinds::lock_kind& kind) const;

    /// The same name and options, but every operation fails with `invalid_argument` and these details.
    [[nodiscard]] lock_handle with_problem(std::string problem) const;
    /// A lock on which every operation fails like that.
    static lock_handle invalid(client& client, std::string_view resource,
                               const config_error& problem);

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(spec_); }
    [[nodiscard]] executor_type body_executor() const;
    [[nodiscard]] std::string_view resource() const noexcept;
    [[nodiscard]] const std::shared_ptr<const runtime::lock_spec>& spec() const noexcept {
        return spec_;
    }

    /// `owner` is the number of a `lock_owner`, or 0.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto acquire(CompletionToken&& token = {}, std::uint64_t owner = 0) const {
        return boost::asio::async_initiate<CompletionToken, void(error, lease)>(
            starts<&lock_handle::start_acquire>{spec_}, token, owner);
    }

    template <typename CompletionToken>
    auto try_acquire_until(time_point deadline, CompletionToken&& token,
                           std::uint64_t owner = 0) const {
        return boost::asio::async_initiate<CompletionToken, void(error, lease)>(
            starts<&lock_handle::start_try_acquire>{spec_}, token, owner, deadline);
    }

    /// A lock like that of a lease which another process has detached, with these options.
    static lock_handle of_lease(client& client, const detached_lease& lease,
                                const lock_options& options);

    /// Goes on with that lease.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto adopt(std::shared_ptr<const runtime::handover> adopted,
               CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, lease)>(
            starts<&lock_handle::start_adopt>{spec_}, token, std::move(adopted));
    }

    /// See `reentrant_mutex`.
    [[nodiscard]] lease try_reenter(std::uint64_t owner) const;

    /// `timeout` from now; for one that is not positive, the time that has passed.
    static time_point deadline_after(duration timeout) noexcept;

    static const executor_type& executor_of(
        const std::shared_ptr<const runtime::lock_spec>& spec) noexcept;

private:
    explicit lock_handle(std::shared_ptr<const runtime::lock_spec> spec) noexcept
        : spec_(std::move(spec)) {}

    using shared_spec = std::shared_ptr<const runtime::lock_spec>;
    template <auto Start>
    using starts = initiation<Start, &executor_of, shared_spec>;

    static void start_adopt(std::shared_ptr<const runtime::lock_spec> spec,
                            std::shared_ptr<const runtime::handover> adopted,
                            handler<lease> handler);
    static void start_acquire(std::shared_ptr<const runtime::lock_spec> spec, std::uint64_t owner,
                              handler<lease> handler);
    static void start_try_acquire(std::shared_ptr<const runtime::lock_spec> spec,
                                  std::uint64_t owner, time_point deadline, handler<lease> handler);

    std::shared_ptr<const runtime::lock_spec> spec_;
};

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
