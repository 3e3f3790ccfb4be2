// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "data_commands.hpp"

#include "key_slot.hpp"
#include "like_store.hpp"

#include <boost/redis/resp3/type.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace redis = boost::redis;

namespace like_counter {

redis::request& data_commands::on(std::string_view key) {
    const std::uint16_t slot = how_ == grouping::by_slot ? key_slot(key) : std::uint16_t{0};
    auto found = std::find_if(groups_.begin(), groups_.end(),
                              [slot](const group& one) { return one.slot == slot; });
    if (found == groups_.end()) {
        found = groups_.insert(groups_.end(), group{slot, redis::request()});
        if (how_ == grouping::by_slot) {
            found->request.push("MULTI");
        }
    }
    order_.push_back(static_cast<std::size_t>(found - groups_.begin()));
    return found->request;
}

data_replies::data_replies(std::vector<std::size_t> order, std::vector<reply_nodes> groups)
    : order_(std::move(order)), groups_(std::move(groups)), positions_(groups_.size()) {}

void data_replies::refuse_stale(const entity_id& entity) const {
    const std::size_t group = current();
    if (positions_[group] != groups_[group].size() &&
        groups_[group][positions_[group]].data_type == redis::resp3::type::null) {
        throw stale_write("somebody else has had the lock on " + entity.value());
    }
}

std::int64_t data_replies::integer() {
    const auto& node = take_from(current());
    ++turn_;
    if (node.data_type == redis::resp3::type::null) {
        return 0;
    }
    std::int64_t value = 0;
    const char* const end = node.value.data() + node.value.size();
    const auto [stop, problem] = std::from_chars(node.value.data(), end, value);
    if (problem != std::errc() || stop != end) {
        throw store_error("the data server answered something that is no number");
    }
    return value;
}

std::vector<std::string> data_replies::strings() {
    const std::size_t group = current();
    const std::size_t size = take_from(group).aggregate_size;
    std::vector<std::string> values;
    for (std::size_t i = 0; i != size; ++i) {
        values.push_back(take_from(group).value);
    }
    ++turn_;
    return values;
}

std::size_t data_replies::current() const {
    if (turn_ == order_.size()) {
        throw store_error("the data server answered too little");
    }
    return order_[turn_];
}

const reply_nodes::value_type& data_replies::take_from(std::size_t group) {
    std::size_t& position = positions_[group];
    if (position == groups_[group].size()) {
        throw store_error("the data server answered too little");
    }
    return groups_[group][position++];
}

}  // namespace like_counter
