// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_VERIFY_HPP
#define LIKE_COUNTER_DRIVER_VERIFY_HPP

#include "http_client.hpp"
#include "records.hpp"
#include "workload.hpp"

#include <boost/asio/awaitable.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace like_counter::driver {

/// What the service has, and what the driver expects.
struct verdict {
    std::int64_t accepted = 0;      ///< likes that must be there, by the driver's ledger
    std::int64_t counted = 0;       ///< sum of the entities' running totals
    std::int64_t set_members = 0;   ///< sum of the sizes of the sets of likers
    std::int64_t author_total = 0;  ///< sum of the authors' running totals
    std::uint64_t entity_mismatches = 0;
    std::uint64_t author_mismatches = 0;
    std::uint64_t unexplained_likes = 0;         ///< no outcome of unknown requests explains them
    std::vector<std::string> mismatch_examples;  ///< the first few
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(verdict, accepted, counted, set_members, author_total,
                                   entity_mismatches, author_mismatches, unexplained_likes,
                                   mismatch_examples)

/// Compares every entity and every author. The set's size, the running total and the ledger must be the same
/// number. To be used when no request is under way any more.
class verification {
public:
    verification(http_client& client, const workload& workload, ledger& ledger)
        : client_(client),
          workload_(workload),
          ledger_(ledger),
          expected_of_author_(workload.options().authors) {}

    asio::awaitable<verdict> run() {
        for (const like_key key : ledger_.unsettled()) {
            co_await settle(key);
        }
        for (std::size_t entity = 0; entity != workload_.options().entities; ++entity) {
            co_await check_entity(entity);
        }
        for (std::size_t author = 0; author != workload_.options().authors; ++author) {
            co_await check_author(author);
        }
        co_return std::move(verdict_);
    }

private:
    asio::awaitable<nlohmann::json> read(std::string target) {
        http_reply reply = co_await client_.get(target);
        if (reply.status != 200) {
            throw std::runtime_error("GET " + target + " gave status " +
                                     std::to_string(reply.status));
        }
        co_return std::move(reply.body);
    }

    asio::awaitable<void> settle(like_key key) {
        const std::string entity = workload_.entity_name(key.entity);
        const std::string user = workload::user_name(key.user);
        const auto found = co_await read(likes_target(entity) + "?user=" + user);
        if (!ledger_.settle(key, found.at("liked").get<bool>())) {
            ++verdict_.unexplained_likes;
            add_example(user + " likes " + entity + ", or not, against all that was answered");
        }
    }

    asio::awaitable<void> check_entity(std::size_t entity) {
        const std::string name = workload_.entity_name(entity);
        const auto found = co_await read(likes_target(name));
        const auto likes = found.at("likes").get<std::int64_t>();
        const auto counted = found.at("counted").get<std::int64_t>();
        const std::int64_t accepted = ledger_.likes_of(entity);
        verdict_.set_members += likes;
        verdict_.counted += counted;
        verdict_.accepted += accepted;
        expected_of_author_[workload_.author_of(entity)] += accepted;
        if (likes != counted || likes != accepted) {
            ++verdict_.entity_mismatches;
            add_example(name + ": in the set " + std::to_string(likes) + ", counted " +
                        std::to_string(counted) + ", accepted " + std::to_string(accepted));
        }
    }

    asio::awaitable<void> check_author(std::size_t author) {
        const std::string name = workload_.author_name(author);
        const auto found = co_await read("/v1/authors/" + name);
        const auto total = found.at("likes").get<std::int64_t>();
        const std::int64_t accepted = expected_of_author_[author];
        verdict_.author_total += total;
        if (total != accepted) {
            ++verdict_.author_mismatches;
            add_example(name + ": total " + std::to_string(total) + ", accepted " +
                        std::to_string(accepted));
        }
    }

    void add_example(std::string example) {
        constexpr std::size_t most_examples = 10;
        if (verdict_.mismatch_examples.size() < most_examples) {
            verdict_.mismatch_examples.push_back(std::move(example));
        }
    }

    http_client& client_;
    const workload& workload_;
    ledger& ledger_;
    std::vector<std::int64_t> expected_of_author_;
    verdict verdict_;
};

}  // namespace like_counter::driver

#endif
