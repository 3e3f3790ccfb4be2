// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/config.hpp>

#include <colock/error.hpp>

#include "api/config_check.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

using nlohmann::json;
using std::chrono::milliseconds;

/// Returns whether the text may be a URI with a password.
bool may_hold_password(const std::string& text) {
    return text.find('@') != std::string::npos;
}

/// Escapes a key for a JSON pointer.
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
    /// Handles an event of the parser. Returns true, which keeps the value.
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

/// Reads the members of a JSON object into the fields of a `config`.
class json_reader {
public:
    explicit json_reader(config& target) : target_(target) {}

    void read(const json& document) {
        if (!document
                 .is_object()) {  // The error does not repeat it: it may be a URI with a password.
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
    /// Reports that the value is not `what`.
    [[noreturn]] static void fail(const std::string& pointer, const json& value,
                                  const std::string& what) {
        const bool shown = value.is_primitive() &&
                           !(value.is_string() && may_hold_password(value.get<std::string>()));
        throw config_error(pointer,
                           (shown ? value.dump() : std::string("this ").append(value.type_name())) +
                               " is not " + what);
    }

    /// Reports a member that an object at `pointer` cannot have.
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
        if (!value.is_array()) {  // The error does not repeat it: a URI may contain a password.
            throw config_error(
                pointer,
                std::string("this ").append(value.type_name()).append(" is not an array of URIs"));
        }
        for (std::size_t i = 0; i != value.size(); ++i) {
            target_.instances.push_back(read_instance(pointer + "/" + std::to_string(i), value[i]));
        }
    }

    /// Returns the URI of an instance. An object has the URI and the parameters that may also be part of the URI.
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
        for (const detail::duration_field& field : detail::duration_fields()) {
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
        for (const detail::duration_field& field : detail::duration_fields()) {
            result += ", " + std::string(field.name) + "_ms";
        }
        return result;
    }

    config& target_;
};

std::string json_name(const std::string& field) {
    const auto& durations = detail::duration_fields();
    const bool is_duration = std::any_of(durations.begin(), durations.end(),
                                         [&field](const auto& d) { return field == d.name; });
    return "/" + field + (is_duration ? "_ms" : "");
}

}  // namespace

config config::from_json(std::string_view text) {
    const json document = parse_json(text);
    config result;
    json_reader(result).read(document);
    detail::check_config(result, json_name,
                         [](std::size_t i) { return "/instances/" + std::to_string(i); });
    return result;
}

}  // namespace v1
}  // namespace colock
