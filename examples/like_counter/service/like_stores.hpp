// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_LIKE_STORES_HPP
#define LIKE_COUNTER_LIKE_STORES_HPP

#include "like_store.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <set>
#include <string_view>

namespace like_counter {

std::unique_ptr<like_store> make_memory_store(boost::asio::any_io_executor executor);

/// `uri` is one for `make_data_server`. Throws `std::invalid_argument`.
std::unique_ptr<like_store> make_redis_store(boost::asio::any_io_executor executor,
                                             std::string_view uri,
                                             std::chrono::milliseconds command_timeout);

/// `uri` is one instance of colock: a server, a cluster, or "memory".
std::unique_ptr<like_store> make_versioned_store(boost::asio::any_io_executor executor,
                                                 const std::string& uri,
                                                 std::chrono::milliseconds command_timeout);

/// Returns what `like_store::read` does, for a store that has the set of likers.
entity_record record_of(const std::set<std::string>& likers, std::int64_t counted,
                        const std::optional<user_name>& user, std::size_t most_users);

}  // namespace like_counter

#endif
