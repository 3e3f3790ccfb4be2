// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/cluster_watch.hpp"

#include "resp/reader.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <set>
#include <string_view>
#include <utility>

namespace colock::instance::redis {
namespace asio = boost::asio;

cluster_watch::cluster_watch(const connection_settings& settings, const core::backoff& retry,
                             std::uint64_t seed, const asio::any_io_executor& executor,
                             map_observer& observer)
    : settings_(settings),
      retry_(retry),
      random_(seed),
      executor_(executor),
      observer_(&observer),
      timer_(executor) {}

void cluster_watch::start() {
    asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->keep_asking(); }, asio::detached);
}

void cluster_watch::stop() {
    stopped_ = true;
    timer_.cancel();
    if (dialog_) {
        dialog_->close();
    }
}

void cluster_watch::forget() noexcept {
    stopped_ = true;
    observer_ = nullptr;
}

void cluster_watch::refresh() {
    wanted_ = true;
    timer_.cancel();
}

asio::awaitable<void> cluster_watch::keep_asking() {
    const auto self = shared_from_this();
    while (!over()) {
        wanted_ = false;
        try {
            co_await ask_all();
        } catch (const std::exception& failure) {
            last_reason_ = failure.what();
        }
        if (over()) {
            break;
        }
        co_await rest(shortest_interval, false);
        if (!urgent_) {
            tries_ = 0;
            co_await rest(usual_interval, true);
        } else {
            co_await rest(retry_.delay(tries_++, core::next_random(random_)), true);
        }
    }
}

/// Waits. `refresh` ends the wait early, if that is permitted.
asio::awaitable<void> cluster_watch::rest(core::duration time, bool may_be_cut_short) {
    const auto end = asio::steady_timer::clock_type::now() + time;
    while (!over() && !(wanted_ && may_be_cut_short) &&
           asio::steady_timer::clock_type::now() < end) {
        timer_.expires_at(end);
        co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

asio::awaitable<void> cluster_watch::ask_all() {
    std::set<std::string> asked;
    bool is_enough = false;
    for (const map_source& one : observer_->begin_sweep()) {
        if ((is_enough && !one.is_required) ||
            !asked.insert(endpoint_text(one.where.host, one.where.port)).second) {
            continue;
        }
        auto map = co_await ask(one.where);
        if (over()) {
            co_return;
        }
        if (map) {
            is_enough = observer_->on_map(one.where, std::move(*map));
        } else {
            observer_->on_no_map(one.where, last_reason_);
        }
    }
    observer_->end_sweep();
}

asio::awaitable<std::optional<cluster_map>> cluster_watch::ask(address whom) {
    const std::vector<std::string_view> info{"CLUSTER", "INFO"};
    const auto node = dialog_ = std::make_shared<dialog>(executor_, whom, settings_);
    std::optional<cluster_map> result;
    last_reason_ = co_await node->open();
    if (last_reason_.empty()) {
        const dialog::answer answer = co_await node->ask(info);
        last_reason_ = answer.problem();
        if (last_reason_.empty()) {
            result = co_await ask_for_slots(node, whom);
        }
        if (result) {
            read_cluster_info(resp::cursor(answer.reply).next().text, *result);
        }
    }
    node->close();
    dialog_.reset();
    co_return result;
}

/// CLUSTER SHARDS reports which masters have failed. After a failover it may lack the slots of a shard that
/// CLUSTER SLOTS has. Servers before 7.0 support only CLUSTER SLOTS.
asio::awaitable<std::optional<cluster_map>> cluster_watch::ask_for_slots(
    std::shared_ptr<dialog> node, address whom) {
    const std::vector<std::string_view> shards{"CLUSTER", "SHARDS"};
    const std::vector<std::string_view> slots{"CLUSTER", "SLOTS"};
    std::optional<cluster_map> from_shards;
    dialog::answer answer = co_await node->ask(shards);
    if (answer.problem().empty()) {
        from_shards = read_shards(answer.reply, whom.host, whom.tls);
        if (from_shards->is_certain) {
            co_return from_shards;
        }
    }
    answer = co_await node->ask(slots);
    last_reason_ = answer.problem();
    if (!last_reason_.empty()) {
        if (from_shards) {
            from_shards->ignored.push_back("CLUSTER SLOTS was refused: " + last_reason_);
        }
        co_return from_shards;
    }
    cluster_map from_slots = read_slots(answer.reply, whom.host);
    co_return from_shards ? combine(std::move(from_slots), *from_shards) : std::move(from_slots);
}

}  // namespace colock::instance::redis
