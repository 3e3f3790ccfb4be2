// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/config.hpp>

#include <colock/error.hpp>

#include "api/instance_uri.hpp"
#include "api/label.hpp"
#include "api/options_check.hpp"
#include "core/instance_set.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace colock {
inline namespace v1 {
namespace {

using detail::check_at_most;
using detail::check_range;
using nlohmann::json;
using std::chrono::milliseconds;

/// How a field is called in an error: as in the struct, or as in the JSON that it came from.
using field_namer = std::function<std::string(const std::string&)>;

std::string struct_name(const std::string& field) {
    return field;
}

/// A member that is a duration, or that may be one.
using duration_member = std::variant<milliseconds config::*, std::optional<milliseconds> config::*>;

struct duration_field {
    const char* name;
    duration_member member;
    milliseconds least;
    milliseconds most;
};

const std::array<duration_field, 10>& duration_fields() {
    using std::chrono::hours;
    using std::chrono::minutes;
    using std::chrono::seconds;
    static const std::array<duration_field, 10> fields{{
        {"instance_timeout", &config::instance_timeout, milliseconds(1), minutes(1)},
        {"connect_timeout", &config::connect_timeout, milliseconds(1), minutes(5)},
        {"silence_timeout", &config::silence_timeout, milliseconds(10), hours(1)},
        {"reconnect_maximum", &config::reconnect_maximum, milliseconds(1), hours(1)},
        {"reconnect_initial", &config::reconnect_initial, milliseconds(1), hours(1)},
        {"drift_minimum", &config::drift_minimum, milliseconds(0), seconds(1)},
        {"close_timeout", &config::close_timeout, milliseconds(0), minutes(5)},
        {"restart_quarantine", &config::restart_quarantine, milliseconds(0), hours(24)},
        {"blocked_threshold", &config::blocked_threshold, milliseconds(0), hours(1)},
        {"failover_quarantine", &config::failover_quarantine, milliseconds(0), hours(24)},
    }};
    return fields;
}

void check_instances(const std::vector<std::string>& uris, const field_namer& name,
                     const std::function<std::string(std::size_t)>& item_name) {
    if (uris.empty()) {
        throw config_error(name("instances"), "the list is empty. Name at least one instance");
    }
    if (uris.size() > core::instance_set::most) {
        throw config_error(name("instances"), std::to_string(uris.size()) +
                                                  " instances are too many (1 to " +
                                                  std::to_string(core::instance_set::most) + ")");
    }
    std::vector<instance::redis::voter> seen;
    for (std::size_t i = 0; i != uris.size(); ++i) {
        const auto address = parse_instance_uri(item_name(i), uris[i]);
        const auto& voter = seen.emplace_back(voter_of(address));
        const auto same = std::ranges::find_if(
            seen, [&](const auto& other) { return instance::redis::same_voter(other, voter); });
        const auto first = static_cast<std::size_t>(same - seen.begin());
        if (first != i) {
            throw config_error(item_name(i),
                               instance::redis::display_of(address) + " duplicates " +
                                   item_name(first) +
                                   " (database number, credentials and TLS are ignored). Every "
                                   "instance must be a different server, so remove one of the two");
        }
    }
}

void check(const config& c, const field_namer& name,
           const std::function<std::string(std::size_t)>& item_name) {
    constexpr std::size_t most_in_flight = std::size_t{1} << 24U;
    constexpr double most_drift = 0.5;
    constexpr std::size_t least_reply_size = std::size_t{1} << 17U;  // the longest name, twice
    constexpr std::size_t most_reply_size = std::size_t{1} << 30U;

    check_instances(c.instances, name, item_name);
    check_label(name("label"), c.label);
    for (const duration_field& field : duration_fields()) {
        const auto set = std::visit(
            [&c](auto member) { return std::optional<milliseconds>(c.*member); }, field.member);
        if (set) {
            check_range(name(field.name), *set, field.least, field.most);
        }
    }
    constexpr milliseconds least_threshold(10);
    if (c.blocked_threshold != milliseconds::zero() && c.blocked_threshold < least_threshold) {
        throw config_error(name("blocked_threshold"),
                           detail::to_text(c.blocked_threshold) +
                               " is too short. Use 0 for never, or at least " +
                               detail::to_text(least_threshold));
    }
    check_at_most(name("reconnect_initial"), c.reconnect_initial, name("reconnect_maximum"),
                  c.reconnect_maximum);
    if (!(c.drift_factor >= 0.0 && c.drift_factor <= most_drift)) {  // NaN is refused, too
        throw config_error(name("drift_factor"),
                           std::to_string(c.drift_factor) + " is out of range (0 to 0.5)");
    }
    check_range(name("max_in_flight"), c.max_in_flight, 1, most_in_flight);
    check_range(name("max_reply_size"), c.max_reply_size, least_reply_size, most_reply_size);
}

/// As a URI may, wherever it was put.
bool may_hold_password(const std::string& text) {
    return text.find('@') != std::string::npos;
}

/// As JSON pointers want it.
std::string escape(const std::string& key) {
    std::string result;
    for (const char c : key) {
        result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return result;
}

/// Follows a parser through a JSON document. The parser alone would let the last of several members with one name win.
class json_watcher {
public:
    /// Of the parser. Returns true: the value is kept.
    bool on_event(json::parse_event_t event, const json& parsed) {
        switch (event) {
            case json::parse_event_t::object_start:
            case json::parse_event_t::array_start:
                open_.push_back({.is_array = event == json::parse_event_t::array_start});
                break;
            case json::parse_event_t::key:
                on_key(parsed.get<std::string>());
                break;
            case json::parse_event_t::object_end:
            case json::parse_event_t::array_end:
                open_.pop_back();
                on_value_end();
                break;
            case json::parse_event_t::value:
                on_value_end();
                break;
        }
        return true;
    }

    /// Throws `config_error` if a member was given twice.
    void check() const {
        if (duplicate_) {
            throw config_error(*duplicate_);
        }
    }

    /// Returns the JSON pointer of the value that is being parsed, or nothing if a password may be in it.
    [[nodiscard]] std::string pointer() const {
        std::string result;
        for (const container& one : open_) {
            result += "/" + (one.is_array ? std::to_string(one.index) : escape(one.key));
        }
        return may_hold_password(result) ? std::string() : result;
    }

private:
    /// An array or object that has begun.
    struct container {
        bool is_array;
        std::size_t index = 0;
        std::string key{};
        std::set<std::string> keys{};
    };

    void on_key(std::string key) {
        container& object = open_.back();
        object.key = std::move(key);
        if (object.keys.insert(object.key).second || duplicate_) {
            return;
        }
        const std::string where = pointer();
        const std::string what =
            where.empty() ? "a member whose name or place contains a URI" : "this member";
        duplicate_.emplace(where, what + " is given twice: remove one of the two");
    }

    void on_value_end() {
        if (!open_.empty() && open_.back().is_array) {
            ++open_.back().index;
        }
    }

    std::vector<container> open_;
    std::optional<config_error> duplicate_;
};

/// Returns where a byte is, counted from 1. Columns count characters.
std::string position_of(std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, byte - 1);
    const std::string_view line = before.substr(before.rfind('\n') + 1);
    const auto is_first_byte = [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    };
    return "line " + std::to_string(1 + std::ranges::count(before, '\n')) + ", column " +
           std::to_string(1 + std::ranges::count_if(line, is_first_byte));
}

/// Parses a JSON text. No error repeats any of it, since a password may be in it. Throws `config_error`.
json parse_json(std::string_view text) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        throw config_error("", "the text is empty. Write a JSON object");
    }
    json_watcher watcher;
    try {
        json result =
            json::parse(text, [&](int /*depth*/, json::parse_event_t event, json& parsed) {
                return watcher.on_event(event, parsed);
            });
        watcher.check();
        return result;
    } catch (const json::parse_error& failure) {
        const std::string where = position_of(text, failure.byte);
        throw config_error(
            "", failure.byte > text.size()
                    ? "the JSON ends too early, at " + where + ": is a bracket or a quote missing?"
                    : "malformed JSON at " + where +
                          ": is a comma, a quote or a bracket missing, or one too many?");
    } catch (const json::exception&) {
        throw config_error(watcher.pointer(), "a number is too large (at most 1.7e308)");
    }
}

/// Reads a member of a JSON object into a field of `config`; `pointer` is where it is.
class json_reader {
public:
    explicit json_reader(config& target) : target_(target) {}

    void read(const json& document) {
        if (!document.is_object()) {  // by its type alone: it may be a URI with a password
            throw config_error("", std::string("the text is not an object, but of the JSON type ")
                                       .append(document.type_name())
                                       .append(". Put the members between { and }"));
        }
        for (const auto& [key, value] : document.items()) {
            const std::string pointer = "/" + escape(key);
            if (!read_plain(key, pointer, value) && !read_duration(key, pointer, value)) {
                fail_member("", key, known_members());
            }
        }
    }

private:
    /// Says that the value is not `what`.
    [[noreturn]] static void fail(const std::string& pointer, const json& value,
                                  const std::string& what) {
        const bool shown = value.is_primitive() &&
                           !(value.is_string() && may_hold_password(value.get<std::string>()));
        throw config_error(pointer,
                           (shown ? value.dump() : std::string("this ").append(value.type_name())) +
                               " is not " + what);
    }

    /// Of an object at `pointer`, which knows other members.
    [[noreturn]] static void fail_member(const std::string& pointer, const std::string& key,
                                         const std::string& known) {
        const bool is_uri = may_hold_password(key);
        throw config_error(
            is_uri ? pointer : pointer + "/" + escape(key),
            (is_uri ? "a URI cannot be the name of a member. " : "there is no such member. ") +
                ("The members are: " + known));
    }

    bool read_plain(const std::string& key, const std::string& pointer, const json& value) {
        if (key == "instances") {
            read_instances(pointer, value);
        } else if (key == "key_prefix" || key == "label") {
            if (!value.is_string()) {
                fail(pointer, value, "a string");
            }
            (key == "label" ? target_.label : target_.key_prefix) = value.get<std::string>();
        } else if (key == "drift_factor") {
            if (!value.is_number()) {
                fail(pointer, value, "a number");
            }
            target_.drift_factor = value.get<double>();
        } else if (key == "max_in_flight") {
            if (!value.is_number_unsigned()) {
                fail(pointer, value, "a whole number from 1");
            }
            target_.max_in_flight = value.get<std::size_t>();
        } else if (key == "max_reply_size") {
            if (!value.is_number_unsigned()) {
                fail(pointer, value, "a whole number of bytes");
            }
            target_.max_reply_size = value.get<std::size_t>();
        } else if (key == "thread_safe") {
            if (!value.is_boolean()) {
                fail(pointer, value, "true or false");
            }
            target_.thread_safe = value.get<bool>();
        } else {
            return false;
        }
        return true;
    }

    void read_instances(const std::string& pointer, const json& value) {
        if (!value.is_array()) {  // by its type alone: a URI may hold a password
            throw config_error(
                pointer,
                std::string("this ").append(value.type_name()).append(" is not an array of URIs"));
        }
        for (std::size_t i = 0; i != value.size(); ++i) {
            target_.instances.push_back(read_instance(pointer + "/" + std::to_string(i), value[i]));
        }
    }

    /// A URI, or an object with one and what would else be among its parameters.
    static std::string read_instance(const std::string& pointer, const json& value) {
        if (value.is_string()) {
            return value.get<std::string>();
        }
        if (!value.is_object()) {
            fail(pointer, value, "a string with a URI, nor an object with the member uri");
        }
        const auto uri = value.find("uri");
        if (uri == value.end()) {
            throw config_error(pointer + "/uri",
                               "this member is missing. Set it to the instance's URI");
        }
        if (!uri->is_string()) {
            fail(pointer + "/uri", *uri, "a string with a URI");
        }
        auto result = uri->get<std::string>();
        for (const auto& [key, content] : value.items()) {
            if (key == "replicas_acked") {
                if (!content.is_number_unsigned()) {
                    fail(std::string(pointer).append("/").append(key), content,
                         "a number of replicas from 1 to 1000");
                }
                result += (result.find('?') == std::string::npos ? "?" : "&") + key + "=" +
                          content.dump();
            } else if (key != "uri") {
                fail_member(pointer, key, "uri, replicas_acked");
            }
        }
        return result;
    }

    bool read_duration(const std::string& key, const std::string& pointer, const json& value) {
        for (const duration_field& field : duration_fields()) {
            if (key == std::string(field.name) + "_ms") {
                if (!value.is_number_integer() ||
                    (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
                    fail(pointer, value, "a whole number of milliseconds");
                }
                const milliseconds read(value.get<std::int64_t>());
                std::visit([&](auto member) { target_.*member = read; }, field.member);
                return true;
            }
        }
        return false;
    }

    static std::string known_members() {
        std::string result = "instances, key_prefix, label, drift_factor, max_in_flight, "
                             "max_reply_size, thread_safe";
        for (const duration_field& field : duration_fields()) {
            result += ", " + std::string(field.name) + "_ms";
        }
        return result;
    }

    config& target_;
};

std::string json_name(const std::string& field) {
    const auto& durations = duration_fields();
    const bool is_duration = std::any_of(durations.begin(), durations.end(),
                                         [&field](const auto& d) { return field == d.name; });
    return "/" + field + (is_duration ? "_ms" : "");
}

}  // namespace

void config::validate() const {
    check(*this, struct_name, [](std::size_t i) { return "instances[" + std::to_string(i) + "]"; });
}

config config::from_uris(std::vector<std::string> uris) {
    config result;
    result.instances = std::move(uris);
    result.validate();
    return result;
}

config config::from_json(std::string_view text) {
    const json document = parse_json(text);
    config result;
    json_reader(result).read(document);
    check(result, json_name, [](std::size_t i) { return "/instances/" + std::to_string(i); });
    return result;
}

}  // namespace v1
}  // namespace colock
