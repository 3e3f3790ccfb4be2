// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/sentinel_watch.hpp"

#include "instance/redis/info_field.hpp"
#include "platform/clock.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <utility>

namespace colock::instance::redis {
namespace asio = boost::asio;

sentinel_watch::sentinel_watch(address to, std::vector<std::string> addresses,
                               std::string master_name, const connection_settings& settings,
                               const core::backoff& reconnect, std::uint64_t seed,
                               const asio::any_io_executor& executor, sentinel_observer& observer)
    : to_(std::move(to)),
      addresses_(std::move(addresses)),
      master_name_(std::move(master_name)),
      settings_(settings),
      reconnect_(reconnect),
      random_(seed),
      executor_(executor),
      observer_(&observer),
      backoff_timer_(executor) {
    status_.address = to_.display;
    status_.role = "sentinel";
}

void sentinel_watch::start() {
    asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->keep_asking(); }, asio::detached);
}

void sentinel_watch::stop() {
    if (std::exchange(stopped_, true)) {
        return;
    }
    change_state(state::closed, {});
    backoff_timer_.cancel();
    if (dialog_) {
        dialog_->close();
    }
}

void sentinel_watch::forget() noexcept {
    stopped_ = true;
    observer_ = nullptr;
    dialog_.reset();
}

void sentinel_watch::ask_now() noexcept {
    if (dialog_) {
        dialog_->wake();
    }
}

asio::awaitable<void> sentinel_watch::keep_asking() {
    const auto self = shared_from_this();
    while (!stopped_ && !process_.is_inherited()) {
        std::string reason;
        try {
            reason = co_await find_and_ask();
        } catch (const std::exception& failure) {
            reason = failure.what();
        }
        if (stopped_ || process_.is_inherited()) {
            break;
        }
        if (dialog_) {
            dialog_->close();
            dialog_.reset();
        }
        change_state(state::down, reason);
        tell(std::nullopt);
        if (observer_ != nullptr) {
            observer_->on_unreachable(*this);
        }
        backoff_timer_.expires_after(reconnect_.delay(tries_++, core::next_random(random_)));
        co_await backoff_timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

/// Queries the Sentinel at the first of its addresses that answers, until this dialog ends. Returns the
/// reason.
asio::awaitable<std::string> sentinel_watch::find_and_ask() {
    std::string reason;
    std::vector<std::string> hosts = addresses_;
    const std::string endpoint = endpoint_text(to_.host, to_.port);
    settings_.first_addresses->order(endpoint, hosts);
    for (const std::string& host : hosts) {
        address at = to_.at(host, to_.port);
        if (at.tls_host.empty()) {
            at.tls_host = to_.host;
        }
        const auto sentinel = dialog_ = std::make_shared<dialog>(executor_, at, settings_);
        reason = co_await sentinel->open();
        if (reason.empty()) {
            if (hosts.size() > 1) {
                settings_.first_addresses->prefer(endpoint, host);
            }
            co_return co_await ask(sentinel, host);
        }
        if (stopped_) {
            break;
        }
        sentinel->close();
    }
    co_return reason;
}

asio::awaitable<std::string> sentinel_watch::ask(std::shared_ptr<dialog> sentinel,
                                                 const std::string& numeric_host) {
    const std::vector<std::string_view> who_are_you{"SENTINEL", "MYID"};
    const std::vector<std::string_view> subscribe{"SUBSCRIBE", "+switch-master"};
    const std::vector<std::string_view> who_is_master{"SENTINEL", "MASTER", master_name_};
    // If MYID is refused, the address alone identifies the Sentinel. If SUBSCRIBE is refused, polling
    // replaces it.
    const dialog::answer identity = co_await sentinel->ask(who_are_you);
    if (observer_ != nullptr) {
        observer_->on_identity(*this, numeric_host,
                               identity.problem().empty()
                                   ? std::string(resp::cursor(identity.reply).next().text)
                                   : std::string());
    }
    co_await sentinel->ask(subscribe);
    while (!stopped_) {
        const dialog::answer answer = co_await sentinel->ask(who_is_master);
        if (!answer.failure.empty() || stopped_) {
            break;
        }
        tries_ = 0;
        tell(read(answer));
        co_await sentinel->rest(shortest_interval, urgent_ ? urgent_interval : usual_interval);
        if (sentinel->take_message() && observer_ != nullptr) {
            observer_->on_failover_message();
        }
    }
    co_return sentinel->end_reason();
}

/// Reads the reply, which is a map. It includes how long the server at this address has been seen in its
/// role. See https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/
std::optional<named_master> sentinel_watch::read(const dialog::answer& answer) {
    if (const std::string problem = answer.problem(); !problem.empty()) {
        change_state(state::down, "it reports for '" + master_name_ + "': " + problem);
        return std::nullopt;
    }
    named_master result;
    core::milliseconds age{};
    resp::cursor values(answer.reply);
    const resp::value root = values.next();
    for (std::size_t i = 0; i + 1 < root.children; i += 2) {
        const resp::value name = values.next();
        values.skip_children(name);
        const resp::value value = values.next();
        values.skip_children(value);
        if (name.text == "ip") {
            result.host = value.text;
        } else if (name.text == "port") {
            result.port = value.text;
        } else if (name.text == "role-reported-time") {
            age = read_time<core::milliseconds>(value.text).value_or(core::milliseconds(0));
        }
    }
    if (result.host.empty() || result.port.empty()) {
        change_state(state::down, "it reports no address of '" + master_name_ + "'");
        return std::nullopt;
    }
    result.since = platform::clock::now() - age;
    change_state(state::ready, {});
    return result;
}

void sentinel_watch::tell(const std::optional<named_master>& opinion) {
    if (observer_ != nullptr) {
        observer_->on_opinion(*this, opinion);
    }
}

void sentinel_watch::change_state(state now, const std::string& reason) {
    const std::lock_guard lock(status_mutex_);
    if (status_.state != state::closed) {
        status_.state = now;
        if (now == state::down) {
            status_.reason = reason;
        }
    }
}

node_info sentinel_watch::snapshot() const {
    const std::lock_guard lock(status_mutex_);
    return status_;
}

}  // namespace colock::instance::redis
