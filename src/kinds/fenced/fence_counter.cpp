// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/fenced/fence_counter.hpp"

#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::kinds {

using core::vote;
using resp::number;

namespace {

vote used_up() {
    return vote::failed(core::failure::server_error,
                        std::make_shared<const std::string>(
                            "FENCE the fence counter holds no number below 2^53 to go on with"));
}

}  // namespace

std::vector<kinds::command> key_and_counter(const kinds::command& command, kinds::command take) {
    kinds::command count = command;
    count.part = counter_part;
    if (command.step == core::step::acquire) {
        return {std::move(take), std::move(count)};
    }
    if (command.step == core::step::confirm && command.value != 0) {
        kinds::command check = command;
        check.step = core::step::extend;
        check.ttl = core::milliseconds(0);
        return {std::move(check), std::move(count)};
    }
    return {};
}

void write_count(const kinds::command& command, fence_use use, script_form form,
                 resp::command_writer& to) {
    write_script(scripts::count, form, to, {fence_key(command.key)},
                 number(static_cast<long long>(command.value)).text(),
                 number(std::chrono::milliseconds(fence_idle).count()).text(),
                 use == fence_use::count ? "count" : "read");
}

vote move_fence(const kinds::command& command, fence_use use, table& keys, const instant& at) {
    const std::uint64_t least = command.value;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at.wall);
    const auto second = static_cast<std::uint64_t>(seconds.count()) << fence_second_bits;
    const std::string name = fence_key(command.key);
    table::entry* const found = keys.find(name, at.now);
    auto* const counter = found != nullptr ? found->as<std::uint64_t>() : nullptr;
    std::uint64_t value = 0;
    if (found == nullptr) {
        value = std::max(second | static_cast<std::uint64_t>((at.wall - seconds).count()), least);
    } else if (counter == nullptr) {
        return used_up();
    } else {
        value = std::max(*counter, least);
        if (least == 0) {
            value = std::max(value + (use == fence_use::count ? 1 : 0), second);
        }
    }
    // A reader must leave a number for the next writer.
    if (value >= (use == fence_use::count ? core::value_limit : core::value_limit - 1)) {
        return used_up();
    }
    if (counter == nullptr) {
        keys.put(name, value, at.now + fence_idle);
    } else {
        *counter = value;
        found->expires = at.now + fence_idle;
    }
    return vote::granted(value);
}

}  // namespace colock::kinds
