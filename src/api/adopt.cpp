// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/adopt.hpp>

#include "api/call.hpp"
#include "api/lease_access.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/client_context.hpp"
#include "runtime/handover.hpp"

#include <colock/error.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace colock::detail {
namespace {

config_error no_text(const std::string& why) {
    return {"text", "it is not the result of lease::detach, or not all of it: " + why};
}

/// A token begins with `permit:<limit>*<count>:`, and nothing else is between these signs.
const kinds::lock_kind* semaphore_of(std::string_view prefix) {
    std::uint32_t limit = 0;
    std::uint32_t count = 0;
    const std::size_t colon = prefix.find(':');
    const std::size_t times = prefix.find('*');
    if (colon == std::string_view::npos || times == std::string_view::npos || times < colon) {
        return nullptr;
    }
    const std::string_view first = prefix.substr(colon + 1, times - colon - 1);
    const std::string_view second = prefix.substr(times + 1);
    std::from_chars(first.data(), first.data() + first.size(), limit);
    std::from_chars(second.data(), second.data() + second.size(), count);
    return count != 0 && count <= limit && limit <= kinds::most_permits
               ? &kinds::semaphore(limit, count)
               : nullptr;
}

const kinds::lock_kind& kind_of(const runtime::handover& lease) {
    const std::string_view prefix = runtime::token_parts::of(lease.token).prefix;
    const std::array known{&kinds::exclusive,     &kinds::fenced,      &kinds::shared,
                           &kinds::fenced_shared, &kinds::writer,      &kinds::fenced_writer,
                           &kinds::multi,         semaphore_of(prefix)};
    for (const kinds::lock_kind* const kind : known) {
        if (kind != nullptr && kind->traits().name == lease.kind) {
            if (kind->traits().token_prefix != prefix) {
                throw no_text("its kind is '" + lease.kind +
                              "', and its token is not of that kind");
            }
            return *kind;
        }
    }
    throw no_text("its kind is '" + lease.kind + "', which this version does not know");
}

runtime::handover parse(std::string_view text) {
    auto parsed = runtime::parse_handover(text);
    if (const auto* const problem = std::get_if<std::string>(&parsed)) {
        throw no_text(*problem);
    }
    return std::get<runtime::handover>(std::move(parsed));
}

class adopt_call final : public call<runtime::acquire_operation, lease> {
public:
    adopt_call(const runtime::asio_host& host, handler<lease> handler,
               std::shared_ptr<const runtime::lock_spec> spec, runtime::handover adopted)
        : call(host, std::move(handler), std::move(spec), std::move(adopted)) {}

    void deliver() override {
        complete(error_of(result(), take_details()),
                 lease_access::make(take_lease(), holder(), fence()));
    }
};

}  // namespace

lock_handle lock_handle::of_lease(client& client, std::string_view text,
                                  const lock_options& options) {
    const runtime::handover lease = parse(text);
    const kinds::lock_kind& kind = kind_of(lease);
    const std::string prefix =
        client.host_ ? client.host_->parts().settings.key_prefix : std::string();
    std::vector<std::string_view> resources;
    for (const std::string& key : lease.keys) {
        if (!key.starts_with(prefix)) {
            std::string why = "its name '" + key;
            why.append("' does not begin with the client's key prefix '").append(prefix);
            throw config_error("text", why.append("'. Give both clients the same prefix"));
        }
        resources.push_back(std::string_view(key).substr(prefix.size()));
    }
    return {client, resources, options, kind};
}

void lock_handle::start_adopt(std::shared_ptr<const runtime::lock_spec> spec, std::string_view text,
                              handler<lease> handler) {
    const runtime::asio_host* const owner =
        spec && spec->owner ? &runtime::asio_host::of(*spec->owner) : nullptr;
    if (owner == nullptr || owner->is_inherited()) {
        refuse<lease>(owner, std::move(handler), spec ? spec->resource() : std::string_view(),
                      lease());
        return;
    }
    const auto host = runtime::asio_host::of(spec->owner);
    start_call<adopt_call>(host, std::move(handler), std::move(spec), parse(text));
}

}  // namespace colock::detail
