// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/multi_mutex.hpp>

#include "kinds/exclusive/exclusive.hpp"
#include "kinds/multi/multi.hpp"

#include <colock/error.hpp>

#include <algorithm>
#include <string>

namespace colock {
inline namespace v1 {
namespace {

/// Sorted, so that all locks with the same names send the same commands.
std::vector<std::string> distinct(std::vector<std::string> result) {
    std::ranges::sort(result);
    result.erase(std::unique(result.begin(), result.end()), result.end());
    if (result.empty() || result.size() > multi_mutex::max_resources) {
        throw config_error("resources", std::to_string(result.size()) +
                                            " different names are not possible. Give 1 to " +
                                            std::to_string(multi_mutex::max_resources));
    }
    return result;
}

detail::lock_handle make_lock(const std::shared_ptr<runtime::client_context>& owner,
                              const std::vector<std::string>& resources,
                              const lock_options& options) {
    if (options.fencing) {
        throw config_error("fencing",
                           "true is not possible for several names, since a fence orders the "
                           "holders of one name. Leave it false, or use a mutex");
    }
    const std::vector<std::string_view> names(resources.begin(), resources.end());
    return {owner, names, options, names.size() == 1 ? kinds::exclusive : kinds::multi};
}

}  // namespace

multi_mutex::multi_mutex(client& client, std::span<const std::string_view> resources,
                         lock_options options)
    : multi_mutex(detail::lock_handle::owner_of(client),
                  std::vector<std::string>(resources.begin(), resources.end()), options) {}

multi_mutex::multi_mutex(const std::shared_ptr<runtime::client_context>& owner,
                         std::vector<std::string> resources, const lock_options& options)
    : multi_mutex(owner,
                  std::make_shared<const std::vector<std::string>>(distinct(std::move(resources))),
                  options) {}

multi_mutex::multi_mutex(const std::shared_ptr<runtime::client_context>& owner,
                         shared_names resources, const lock_options& options)
    : basic_lock(make_lock(owner, *resources, options), options),
      resources_(std::move(resources)) {}

const std::vector<std::string>& multi_mutex::resources() const noexcept {
    // It outlives all static objects.
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
    static const std::vector<std::string>& none = *new std::vector<std::string>();
    return resources_ ? *resources_ : none;
}

}  // namespace v1
}  // namespace colock
