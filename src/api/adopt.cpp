// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/adopt.hpp>

#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/inspection/inspection.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/client_context.hpp"
#include "runtime/handover.hpp"

#include <colock/error.hpp>
#include <colock/multi_mutex.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace colock {
inline namespace v1 {
namespace detail {
namespace {

static_assert(runtime::most_keys_in_text == multi_mutex::max_resources);

config_error no_text(const std::string& why) {
    return {"text", "it is not the result of lease::detach, or not all of it: " + why};
}

/// Returns whether these are the numbers of `count` permits out of `limit`. A list has a space after each.
bool are_permits(const core::adopted_values& numbers, std::uint32_t count, std::uint32_t limit) {
    const std::string list =
        numbers.values.empty() ? std::to_string(numbers.value) + ' ' : numbers.values;
    const std::string last = list.substr(list.rfind(' ', list.size() - 2) + 1);
    return std::ranges::count(list, ' ') == std::ptrdiff_t{count} && std::stoull(last) <= limit;
}

const kinds::lock_kind* semaphore_of(const runtime::handover& lease) {
    const auto permit = kinds::parse_permit(lease.token);
    return permit && are_permits(lease.has, permit->count, permit->limit)
               ? &kinds::semaphore(permit->limit, permit->count)
               : nullptr;
}

/// Throws `config_error` unless these may be the names of one lease. `detach` writes them in order.
void check_names(const std::vector<std::string>& names, std::size_t most) {
    if (names.size() > most) {
        throw no_text("it has " + std::to_string(names.size()) +
                      " names, and a lease of that kind " + "has at most " + std::to_string(most));
    }
    if (std::ranges::adjacent_find(names, std::ranges::greater_equal()) != names.end()) {
        throw no_text("its names are not in increasing order, each of them once");
    }
}

const kinds::lock_kind& kind_of(const runtime::handover& lease) {
    const std::string_view prefix = runtime::token_parts::of(lease.token).prefix;
    const std::array known{&kinds::exclusive,     &kinds::fenced,     &kinds::shared,
                           &kinds::fenced_shared, &kinds::writer,     &kinds::fenced_writer,
                           &kinds::multi,         semaphore_of(lease)};
    for (const kinds::lock_kind* const kind : known) {
        if (kind != nullptr && kind->traits().name == lease.kind) {
            if (kind->traits().token_prefix != prefix) {
                throw no_text("its kind is '" + lease.kind +
                              "', and its token is not of that kind");
            }
            check_names(lease.keys, kind == &kinds::multi ? multi_mutex::max_resources : 1);
            return *kind;
        }
    }
    throw no_text("its kind is '" + lease.kind + "', which this version does not know");
}

/// Views into the keys of the lease. Throws `config_error` if one of them does not have the prefix.
std::vector<std::string_view> resources_of(const runtime::handover& lease,
                                           const std::string& prefix) {
    std::vector<std::string_view> resources;
    for (const std::string& key : lease.keys) {
        if (!key.starts_with(prefix)) {
            throw config_error("text",
                               std::string("its name '")
                                   .append(key)
                                   .append("' does not begin with the client's key prefix '")
                                   .append(prefix)
                                   .append("'. Give both clients the same prefix"));
        }
        resources.push_back(std::string_view(key).substr(prefix.size()));
    }
    return resources;
}

}  // namespace

detached_lease lease_in(std::string_view text) {
    auto parsed = runtime::parse_handover(text);
    if (auto* const problem = std::get_if<std::string>(&parsed)) {
        return {nullptr, std::move(*problem)};
    }
    return {
        std::make_shared<const runtime::handover>(std::get<runtime::handover>(std::move(parsed))),
        {}};
}

lock_handle lock_handle::of_lease(client& client, const detached_lease& lease,
                                  const lock_options& options) {
    const std::string prefix =
        client.host_ ? client.host_->parts().settings.key_prefix : std::string();
    std::string_view resource;
    try {
        if (!lease.lease) {
            throw no_text(lease.problem);
        }
        const std::vector<std::string_view> resources = resources_of(*lease.lease, prefix);
        resource = resources.front();
        lock_options as_held = options;
        as_held.order = queue_order::hint;  // it waits for nobody
        return {owner_of(client), resources, as_held, kind_of(*lease.lease)};
    } catch (const config_error& problem) {
        return invalid(client, resource, problem);
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace colock
