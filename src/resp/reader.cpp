// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "resp/reader.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <system_error>

namespace colock::resp {
namespace {

constexpr std::string_view line_end = "\r\n";
/// The size of the shortest value: "_\r\n".
constexpr std::size_t least_value = 3;
/// The size of the format in front of a verbatim string: "txt:".
constexpr std::size_t verbatim_format = 4;

enum class progress : std::uint8_t { done, more, wrong, too_large };

/// A value at the beginning of some bytes, with all of its text.
struct element {
    resp::value value;
    std::size_t size = 0;  // In bytes.
};

constexpr bool are_digits(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return '0' <= c && c <= '9'; });
}

constexpr bool is_integer(std::string_view text) noexcept {
    if (text.starts_with('-') || text.starts_with('+')) {
        text.remove_prefix(1);
    }
    return are_digits(text);
}

/// Reads a count of bytes or values, of at most `limit`.
progress read_count(std::string_view text, std::size_t limit, std::size_t& to) noexcept {
    if (!are_digits(text)) {
        return progress::wrong;
    }
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), to);
    return parsed.ec != std::errc() || to > limit ? progress::too_large : progress::done;
}

progress read_scalar(type kind, bool valid, std::string_view text, element& to) noexcept {
    to.value = {kind, text, 0};
    return valid ? progress::done : progress::wrong;
}

/// Reads a text behind the line with its length.
progress read_bulk(type kind, std::string_view bytes, std::size_t limit, element& to) noexcept {
    if (kind == type::bulk_string && to.value.text == "-1") {  // As in RESP2.
        return read_scalar(type::null, true, {}, to);
    }
    std::size_t length = 0;
    if (const progress p = read_count(to.value.text, limit, length); p != progress::done) {
        return p;
    }
    const std::size_t begin = to.size;
    to.size += length + line_end.size();
    if (to.size > limit) {
        return progress::too_large;
    }
    if (bytes.size() < to.size) {
        return progress::more;
    }
    if (bytes.substr(begin + length, line_end.size()) != line_end) {
        return progress::wrong;
    }
    std::string_view text = bytes.substr(begin, length);
    if (kind == type::verbatim_string) {
        if (length < verbatim_format || text[verbatim_format - 1] != ':') {
            return progress::wrong;
        }
        text.remove_prefix(verbatim_format);
    }
    return read_scalar(kind, true, text, to);
}

progress read_aggregate(type kind, std::size_t limit, element& to) noexcept {
    if (kind == type::array && to.value.text == "-1") {
        return read_scalar(type::null, true, {}, to);
    }
    const bool has_keys = kind == type::map || kind == type::attribute;
    const std::size_t per_entry = has_keys ? 2 : 1;
    std::size_t count = 0;
    const progress p = read_count(to.value.text, limit / (per_entry * least_value), count);
    to.value = {kind, {}, per_entry * count};
    return p;
}

constexpr bool begins_value(char c) noexcept {
    return std::string_view("+-:_#,($!=*~>%|").find(c) != std::string_view::npos;
}

/// Reads the value at the beginning of `bytes`. No line ends in the first `seen` bytes. The value has at most
/// `limit` bytes.
progress read_element(std::string_view bytes, std::size_t seen, std::size_t limit, element& to) {
    if (limit < least_value) {
        return progress::too_large;
    }
    const char* const begin = bytes.data();
    const std::size_t from = std::max<std::size_t>(seen, 1);
    const std::size_t until = std::min(bytes.size(), limit - 1);
    const void* const found =
        from < until ? std::memchr(begin + from, '\r', until - from) : nullptr;
    if (found == nullptr) {
        return !bytes.empty() && !begins_value(bytes.front()) ? progress::wrong
               : bytes.size() < limit                         ? progress::more
                                                              : progress::too_large;
    }
    const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - begin);
    if (end + 1 == bytes.size()) {
        return begins_value(bytes.front()) ? progress::more : progress::wrong;
    }
    if (begin[end + 1] != '\n') {
        return progress::wrong;
    }
    const std::string_view line(begin + 1, end - 1);
    to.value.text = line;
    to.size = end + line_end.size();
    switch (begin[0]) {
        case '+':
            return read_scalar(type::simple_string, true, line, to);
        case '-':
            return read_scalar(type::simple_error, true, line, to);
        case ':':
            return read_scalar(type::number, is_integer(line), line, to);
        case '_':
            return read_scalar(type::null, line.empty(), line, to);
        case '#':
            return read_scalar(type::boolean, line == "t" || line == "f", line, to);
        case ',':
            return read_scalar(type::real, !line.empty(), line, to);
        case '(':
            return read_scalar(type::big_number, is_integer(line), line, to);
        case '$':
            return read_bulk(type::bulk_string, bytes, limit, to);
        case '!':
            return read_bulk(type::bulk_error, bytes, limit, to);
        case '=':
            return read_bulk(type::verbatim_string, bytes, limit, to);
        case '*':
            return read_aggregate(type::array, limit, to);
        case '~':
            return read_aggregate(type::set, limit, to);
        case '>':
            return read_aggregate(type::push, limit, to);
        case '%':
            return read_aggregate(type::map, limit, to);
        case '|':
            return read_aggregate(type::attribute, limit, to);
        default:
            return progress::wrong;
    }
}

}  // namespace

void reader::begin() noexcept {
    in_reply_ = true;
    position_ = line_seen_ = 0;
    depth_ = 0;
    missing_[0] = 1;
}

reader::status reader::read(std::string_view bytes) {
    if (!in_reply_) {
        begin();
    }
    while (true) {
        const std::string_view rest = bytes.substr(position_);
        element next;
        switch (read_element(rest, line_seen_ - position_, max_size_ - position_, next)) {
            case progress::wrong:
                return status::malformed;
            case progress::too_large:
                return status::too_large;
            case progress::more:
                if (next.size == 0 && !rest.empty()) {
                    line_seen_ = bytes.size() - 1;  // Its last byte may be half of a line end.
                }
                return status::incomplete;
            case progress::done:
                break;
        }
        const bool is_root = depth_ == 0 && next.value.type != type::attribute;
        if (is_root) {
            root_at_ = position_;
        }
        position_ += next.size;
        line_seen_ = position_;
        if (next.value.type != type::attribute) {
            --missing_[depth_];
        }
        if (next.value.children != 0) {
            if (depth_ == max_depth) {
                return status::malformed;
            }
            missing_[++depth_] = next.value.children;
        }
        while (depth_ != 0 && missing_[depth_] == 0) {
            --depth_;
        }
        if (missing_[0] == 0 && depth_ == 0) {
            if (!is_root) {  // The bytes may have moved since the root was read.
                read_element(bytes.substr(root_at_), 0, max_size_, next);
            }
            root_ = next.value;
            in_reply_ = false;
            return status::complete;
        }
    }
}

value cursor::next() {
    while (true) {
        element next;
        [[maybe_unused]] const progress p = read_element(rest_, 0, rest_.size(), next);
        assert(p == progress::done);
        rest_.remove_prefix(next.size);
        if (next.value.type != type::attribute) {
            return next.value;
        }
        skip_children(next.value);
    }
}

void cursor::skip_children(const value& v) {
    for (std::size_t missing = v.children; missing != 0; --missing) {
        missing += next().children;
    }
}

}  // namespace colock::resp
