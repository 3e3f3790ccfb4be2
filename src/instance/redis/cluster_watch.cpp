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

/// `refresh` cuts it short, if it may be.
asio::awaitable<void> cluster_watch::rest(core::duration time, bool may_be_cut_short) {
    const auto end = asio::steady_timer::clock_type::now() + time;
    while (!over() && !(wanted_ && may_be_cut_short) &&
           asio::steady_timer::clock_type::now() < end) {
        timer_.expires_at(end);
        co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

/// One after the other, until one tells what is certain to be no older than what is known. A node that is cut off from
/// the others tells an old map, and says that it is; that has to do if nobody knows a better one.
asio::awaitable<void> cluster_watch::ask_all() {
    std::set<std::string> asked;
    std::string reasons;
    std::optional<cluster_map> second_best;
    for (const address& whom : observer_->whom_to_ask()) {
        if (!asked.insert(endpoint_text(whom.host, whom.port)).second) {
            continue;
        }
        auto map = co_await ask(whom);
        if (over()) {
            co_return;
        }
        if (!map) {
            reasons += (reasons.empty() ? "" : "; ") + whom.display + " " + last_reason_;
        } else if (map->is_ok && map->epoch >= newest_epoch_) {
            newest_epoch_ = map->epoch;
            observer_->on_map(*map);
            co_return;
        } else if (map->epoch >= newest_epoch_ && !second_best) {
            second_best = std::move(map);
        }
    }
    if (second_best) {
        observer_->on_map(*second_best);
    } else {
        observer_->on_no_map(reasons);
    }
}

asio::awaitable<std::optional<cluster_map>> cluster_watch::ask(address whom) {
    const std::vector<std::string_view> info{"CLUSTER", "INFO"};
    const std::vector<std::string_view> shards{"CLUSTER", "SHARDS"};
    const std::vector<std::string_view> slots{"CLUSTER", "SLOTS"};
    const auto node = dialog_ = std::make_shared<dialog>(executor_, whom, settings_);
    std::optional<cluster_map> result;
    last_reason_ = co_await node->open();
    if (last_reason_.empty()) {
        dialog::answer answer = co_await node->ask(info);
        last_reason_ = answer.problem();
        if (last_reason_.empty()) {
            result.emplace();
            read_cluster_info(resp::cursor(answer.reply).next().text, *result);
            answer = co_await node->ask(shards);
            if (answer.problem().empty()) {
                result->ranges = read_shards(answer.reply, whom.host, whom.tls);
            } else {
                answer = co_await node->ask(slots);
                last_reason_ = answer.problem();
                if (last_reason_.empty()) {
                    result->ranges = read_slots(answer.reply, whom.host);
                } else {
                    result.reset();
                }
            }
        }
    }
    node->close();
    dialog_.reset();
    co_return result;
}

}  // namespace colock::instance::redis
