#include "kinds/replies.hpp"

#include "core/command.hpp"

#include <charconv>
#include <memory>
#include <string>
#include <system_error>

namespace colock::kinds {

using core::key_state;
using core::vote;
using resp::type;
using resp::value;

namespace {

template <typename Number>
std::optional<Number> parse(const value& reply) noexcept {
    Number number = 0;
    const char* const end = reply.text.data() + reply.text.size();
    const auto parsed = std::from_chars(reply.text.data(), end, number);
    if (reply.type != type::number || parsed.ec != std::errc() || parsed.ptr != end) {
        return std::nullopt;
    }
    return number;
}

}  // namespace

std::optional<std::uint64_t> number_in(const value& reply) noexcept {
    return parse<std::uint64_t>(reply);
}

vote unexpected(const value& reply) {
    return vote::failed(core::failure::unexpected_reply,
                        std::make_shared<const std::string>(reply.text));
}

vote decode_taken(const value& reply) {
    if (is_ok(reply)) {
        return vote::granted();
    }
    return reply.type == type::null ? vote::denied(key_state::foreign) : unexpected(reply);
}

vote decode_compare(const value& reply) {
    if (is_one(reply)) {
        return vote::granted();
    }
    if (reply.type != type::number) {
        return unexpected(reply);
    }
    if (is(reply.text, "0")) {
        return vote::denied(key_state::absent);
    }
    if (is(reply.text, "-1")) {
        return vote::denied(key_state::foreign);
    }
    return unexpected(reply);
}

vote decode_fence(const value& reply) {
    const auto fence = number_in(reply);
    return fence && *fence > 0 && *fence < core::fence_limit ? vote::granted(*fence)
                                                             : decode_compare(reply);
}

vote decode_remaining(const value& reply) {
    const auto number = parse<std::int64_t>(reply);
    if (!number || *number < -2) {
        return unexpected(reply);
    }
    if (*number >= 0) {
        return vote::denied(key_state::foreign, core::milliseconds(*number));
    }
    return *number == -1 ? vote::denied(key_state::foreign, core::milliseconds::max())
                         : vote::denied(key_state::absent, core::milliseconds(0));
}

}  // namespace colock::kinds
