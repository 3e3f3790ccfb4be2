// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_STRIPED_HPP
#define COLOCK_STRIPED_HPP

#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/lock_handle.hpp>
#include <colock/multi_mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {
inline namespace v1 {

namespace detail {

/// Returns the stripe of a key: FNV-1a of its bytes, modulo the number of stripes.
COLOCK_EXPORT [[nodiscard]] std::uint32_t stripe_of(std::string_view key,
                                                    std::uint32_t stripes) noexcept;

/// Throws `config_error` for a number of stripes that is not possible.
COLOCK_EXPORT void check_stripes(std::uint32_t stripes);

/// Returns the name of a stripe.
COLOCK_EXPORT [[nodiscard]] std::string name_of_stripe(std::string_view resource,
                                                       std::uint32_t index);

}  // namespace detail

/// A fixed number of locks of one class, among which keys are divided. Tasks with different keys mostly get
/// different locks, so one hot name becomes many. All programs together have as few names as there are
/// stripes, whatever the keys are.
///
/// @code{.cpp}
/// colock::striped<colock::mutex> accounts{locks, "accounts", 64};
/// co_await colock::with_lock(accounts.of("ada"), pay);
///
/// // Two keys may share a stripe. This lock has each stripe once.
/// colock::multi_mutex both = accounts.all_of({"ada", "bob"});
/// co_await colock::with_lock(both, pay);
/// @endcode
///
/// Stripe number `i` is the lock on the name `<resource>:<i>`. The stripe of a key is FNV-1a of its bytes,
/// modulo the number of stripes. This never changes, so programs of all versions agree. All programs must
/// give the same number of stripes. Nothing can check that.
///
/// **Two keys may share a stripe.** A task that takes both by `of`, one after the other, waits for itself. For
/// several keys, take `all_of`, which merges the stripes.
///
/// On a Redis Cluster the stripes are spread over the masters, unless the name has a hash tag.
///
/// `Lock` is `mutex`, `shared_mutex`, `semaphore`, `reentrant_mutex`, or a class whose constructor begins with a
/// `client&` and a name. Copies share the locks, and a move is a copy. A striped object may outlive its client as a
/// `mutex` may.
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe. The rules of `Lock` hold for its
/// operations.
template <typename Lock>
class striped {
public:
    /// The largest number of stripes.
    static constexpr std::uint32_t max_stripes = 65536;

    /// Creates all locks. Sends nothing. `arguments` are those of the locks behind their names, such as
    /// `lock_options`. A stripe takes about 0.4 KiB.
    ///
    /// - Exception safety: Throws `config_error` for a name, a number of stripes or arguments that cannot work.
    template <typename... Arguments>
    striped(client& client, std::string_view resource, std::uint32_t stripes,
            const Arguments&... arguments)
        : owner_(detail::lock_handle::owner_of(client)) {
        detail::check_stripes(stripes);
        auto all = std::make_shared<std::vector<Lock>>();
        all->reserve(stripes);
        for (std::uint32_t i = 0; i != stripes; ++i) {
            all->emplace_back(client, detail::name_of_stripe(resource, i), arguments...);
        }
        stripes_ = std::move(all);
    }

    /// Shares the locks. So an object that was moved from can still be used.
    striped(const striped& other) noexcept = default;
    /// Shares the locks. So an object that was moved from can still be used.
    striped& operator=(const striped& other) noexcept = default;

    /// Returns the number of stripes.
    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(stripes_->size());
    }

    /// Returns the number of the key's stripe, from 0.
    [[nodiscard]] std::uint32_t index_of(std::string_view key) const noexcept {
        return detail::stripe_of(key, size());
    }

    /// Returns the lock of the key's stripe. It lives as long as this object or a copy of it. A copy of the lock
    /// lives on.
    [[nodiscard]] const Lock& of(std::string_view key) const noexcept {
        return (*stripes_)[index_of(key)];
    }

    /// Returns one lock on the stripes of all these keys, each stripe once. It has the options of the stripes. There are at
    /// most `multi_mutex::max_resources` different stripes. `keys` is any input range of strings, such as a
    /// `std::vector<std::string>` or a view.
    ///
    /// It excludes the holders of these stripes. Readers and permits are excluded as well.
    ///
    /// - Exception safety: Throws `config_error` if there is no key, if there are too many stripes, or if the
    ///   stripes have fencing.
    template <detail::names Range>
    [[nodiscard]] multi_mutex all_of(Range&& keys) const {
        std::vector<std::string> names;
        for (auto&& key : keys) {
            names.emplace_back(of(std::forward<decltype(key)>(key)).resource());
        }
        return multi_mutex(owner_, std::move(names), stripes_->front().options());
    }

    /// Returns one lock on the stripes of all these keys: see the other overload.
    [[nodiscard]] multi_mutex all_of(std::initializer_list<std::string_view> keys) const {
        return all_of(std::span(keys.begin(), keys.size()));
    }

private:
    std::shared_ptr<runtime::client_context> owner_;
    std::shared_ptr<const std::vector<Lock>> stripes_;
};

}  // namespace v1
}  // namespace colock

#endif
