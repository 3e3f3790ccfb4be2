#include "instance/redis/cluster_map.hpp"

#include "instance/redis/info_field.hpp"
#include "instance/redis/key_slot.hpp"
#include "resp/reader.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

namespace colock::instance::redis {
namespace {

using resp::type;
using resp::value;

template <typename Number>
std::optional<Number> to_number(std::string_view text) {
    Number result{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), result);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    return whole ? std::optional(result) : std::nullopt;
}

/// A range, if these are the numbers of slots.
std::optional<slot_range> to_range(std::string_view first, std::string_view last) {
    const auto from = to_number<std::size_t>(first);
    const auto to = to_number<std::size_t>(last);
    if (!from || !to || *from > *to || *to >= slot_count) {
        return std::nullopt;
    }
    return slot_range{*from, *to, {}, {}};
}

/// The host of a node as it is announced: null and the empty string mean the one that was asked.
std::optional<std::string> to_host(const value& announced, const std::string& asked) {
    if (announced.type == type::null || announced.text.empty()) {
        return asked;
    }
    if (announced.text == "?") {
        return std::nullopt;  // it has not told the node that was asked
    }
    return std::string(announced.text);
}

/// Where a node is, if that is told, and it is a master.
std::optional<std::pair<std::string, std::string>> read_master(resp::cursor& values,
                                                               const std::string& asked, bool tls) {
    std::optional<std::string> host;
    std::string port;
    std::string tls_port;
    bool is_master = false;
    const value node = values.next();
    for (std::size_t i = 0; i + 1 < node.children; i += 2) {
        const value name = values.next();
        values.skip_children(name);
        const value field = values.next();
        values.skip_children(field);
        if (name.text == "endpoint") {
            host = to_host(field, asked);
        } else if (name.text == "port") {
            port = field.text;
        } else if (name.text == "tls-port") {
            tls_port = field.text;
        } else if (name.text == "role") {
            is_master = field.text == "master";
        }
    }
    std::string& usual = tls ? tls_port : port;
    if (!is_master || !host || usual.empty()) {
        return std::nullopt;
    }
    return std::pair(std::move(*host), std::move(usual));
}

}  // namespace

std::vector<slot_range> read_shards(std::string_view reply, const std::string& asked, bool tls) {
    std::vector<slot_range> result;
    resp::cursor values(reply);
    const value shards = values.next();
    for (std::size_t i = 0; i != shards.children; ++i) {
        std::vector<slot_range> ranges;
        std::optional<std::pair<std::string, std::string>> master;
        const value shard = values.next();
        for (std::size_t field = 0; field + 1 < shard.children; field += 2) {
            const value name = values.next();
            values.skip_children(name);
            const value content = values.next();
            if (name.text == "slots") {
                for (std::size_t slot = 0; slot + 1 < content.children; slot += 2) {
                    const value first = values.next();
                    values.skip_children(first);
                    const value last = values.next();
                    values.skip_children(last);
                    if (const auto range = to_range(first.text, last.text)) {
                        ranges.push_back(*range);
                    }
                }
            } else if (name.text == "nodes") {
                for (std::size_t node = 0; node != content.children; ++node) {
                    if (const auto found = read_master(values, asked, tls)) {
                        master = found;
                    }
                }
            } else {
                values.skip_children(content);
            }
        }
        for (slot_range& range : ranges) {
            if (master) {
                std::tie(range.host, range.port) = *master;
                result.push_back(std::move(range));
            }
        }
    }
    return result;
}

std::vector<slot_range> read_slots(std::string_view reply, const std::string& asked) {
    std::vector<slot_range> result;
    resp::cursor values(reply);
    const value all = values.next();
    for (std::size_t i = 0; i != all.children; ++i) {
        const value entry = values.next();
        std::optional<slot_range> range;
        std::string_view first;
        for (std::size_t field = 0; field != entry.children; ++field) {
            const value content = values.next();
            if (field == 0) {
                first = content.text;
            } else if (field == 1) {
                range = to_range(first, content.text);
            } else if (field == 2 && content.children >= 2) {  // the master; replicas come after it
                const auto host = to_host(values.next(), asked);
                const value port = values.next();
                if (range && host) {
                    range->host = *host;
                    range->port = port.text;
                }
                for (std::size_t rest = 2; rest != content.children; ++rest) {
                    values.skip_children(values.next());
                }
                continue;
            }
            values.skip_children(content);
        }
        if (range && !range->port.empty()) {
            result.push_back(*range);
        }
    }
    return result;
}

void read_cluster_info(std::string_view text, cluster_map& to) {
    to.is_ok = find_field(text, "cluster_state") == "ok";
    to.epoch = to_number<std::uint64_t>(find_field(text, "cluster_current_epoch")).value_or(0);
}

redirection read_redirection(std::string_view error) {
    redirection result;
    const auto next_word = [&error] {
        const std::string_view word = error.substr(0, error.find(' '));
        error.remove_prefix(std::min(error.size(), word.size() + 1));
        return word;
    };
    const std::string_view code = next_word();
    if (code == "CLUSTERDOWN") {
        result.kind = redirection::kind_type::down;
        return result;
    }
    if (code != "MOVED" && code != "ASK") {
        return result;
    }
    const auto slot = to_number<std::size_t>(next_word());
    const std::string_view endpoint = next_word();
    const std::size_t colon = endpoint.rfind(':');
    if (!slot || *slot >= slot_count || colon == std::string_view::npos ||
        colon + 1 == endpoint.size() || endpoint.starts_with('?')) {
        return result;  // it makes no sense, or only later
    }
    result.kind = code == "MOVED" ? redirection::kind_type::moved : redirection::kind_type::ask;
    result.slot = *slot;
    result.host = endpoint.substr(0, colon);
    result.port = endpoint.substr(colon + 1);
    if (result.host.starts_with('[') && result.host.ends_with(']')) {
        result.host = result.host.substr(1, result.host.size() - 2);
    }
    return result;
}

}  // namespace colock::instance::redis
