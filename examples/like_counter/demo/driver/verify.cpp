// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "verify.hpp"

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace asio = boost::asio;

namespace like_counter::driver {
namespace {

constexpr std::size_t most_examples = 10;

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
        const std::string user = workload_.user_name(key.user);
        const auto told = co_await read("/v1/entities/" + entity + "/likes?user=" + user);
        if (!ledger_.settle(key, told.at("liked").get<bool>())) {
            ++verdict_.unexplained;
            remember(user + " likes " + entity + ", or not, against all that was answered");
        }
    }

    asio::awaitable<void> check_entity(std::size_t entity) {
        const std::string name = workload_.entity_name(entity);
        const auto told = co_await read("/v1/entities/" + name + "/likes");
        const auto likes = told.at("likes").get<std::int64_t>();
        const auto counted = told.at("counted").get<std::int64_t>();
        const std::int64_t accepted = ledger_.likes_of(entity);
        verdict_.entities += 1;
        verdict_.set_members += likes;
        verdict_.counted += counted;
        verdict_.accepted += accepted;
        expected_of_author_[workload_.author_of(entity)] += accepted;
        if (likes != counted || likes != accepted) {
            ++verdict_.entity_mismatches;
            std::ostringstream text;
            text << name << ": in the set " << likes << ", counted " << counted << ", accepted "
                 << accepted;
            remember(text.str());
        }
    }

    asio::awaitable<void> check_author(std::size_t author) {
        const std::string name = workload_.author_name(author);
        const auto told = co_await read("/v1/authors/" + name);
        const auto total = told.at("likes").get<std::int64_t>();
        verdict_.authors += 1;
        verdict_.author_total += total;
        if (total != expected_of_author_[author]) {
            ++verdict_.author_mismatches;
            std::ostringstream text;
            text << name << ": total " << total << ", accepted " << expected_of_author_[author];
            remember(text.str());
        }
    }

    void remember(std::string example) {
        if (verdict_.examples.size() < most_examples) {
            verdict_.examples.push_back(std::move(example));
        }
    }

    http_client& client_;
    const workload& workload_;
    ledger& ledger_;
    std::vector<std::int64_t> expected_of_author_;
    verdict verdict_;
};

}  // namespace

asio::awaitable<verdict> verify(http_client& client, const workload& workload, ledger& ledger) {
    verification work(client, workload, ledger);
    co_return co_await work.run();
}

}  // namespace like_counter::driver
