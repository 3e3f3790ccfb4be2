// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/inspection/report.hpp"

#include <charconv>
#include <concepts>
#include <cstddef>
#include <system_error>
#include <type_traits>
#include <utility>

namespace colock::kinds {
namespace {

template <typename Item, typename Of>
concept is_a = std::same_as<std::remove_const_t<Item>, Of>;

template <is_a<key_report::holder> Holder, typename Visitor>
void each_field(Holder& one, Visitor& visit) {
    visit(one.token);
    visit(one.permits);
    visit(one.remaining);
}

template <is_a<key_report::writer> Writer, typename Visitor>
void each_field(Writer& one, Visitor& visit) {
    visit(one.client);
    visit(one.remaining);
}

template <is_a<key_report::waiter> Waiter, typename Visitor>
void each_field(Waiter& one, Visitor& visit) {
    visit(one.client);
    visit(one.number);
}

/// Writes the fields of a report.
class field_writer {
public:
    void operator()(const std::string& field) {
        text_.append(std::to_string(field.size())).append(":").append(field);
    }
    template <std::integral Number>
    void operator()(const Number& field) {
        (*this)(std::to_string(field));
    }
    void operator()(const core::milliseconds& field) { (*this)(field.count()); }
    template <typename Item>
    void operator()(const std::vector<Item>& list) {
        (*this)(list.size());
        for (const Item& one : list) {
            each_field(one, *this);
        }
    }

    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
};

/// Reads the fields of a report. After the first field of another form, it reads nothing.
class field_reader {
public:
    explicit field_reader(std::string_view text) : rest_(text) {}

    void operator()(std::string& field) { field = next(); }
    template <std::integral Number>
    void operator()(Number& field) {
        const std::string_view text = next();
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), field);
        is_valid_ =
            is_valid_ && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    }
    void operator()(bool& field) {
        std::uint64_t number = 0;
        (*this)(number);
        field = number == 1;
        is_valid_ = is_valid_ && number <= 1;
    }
    void operator()(core::milliseconds& field) {
        core::milliseconds::rep count = 0;
        (*this)(count);
        field = core::milliseconds(count);
    }
    template <typename Item>
    void operator()(std::vector<Item>& list) {
        std::size_t size = 0;
        (*this)(size);
        for (std::size_t i = 0; i != size && is_valid_; ++i) {
            each_field(list.emplace_back(), *this);
        }
    }

    /// Returns whether all fields were read, and nothing follows them.
    [[nodiscard]] bool is_done() const noexcept { return is_valid_ && rest_.empty(); }

private:
    std::string_view next() {
        std::size_t length = 0;
        const char* const end = rest_.data() + rest_.size();
        const auto parsed = std::from_chars(rest_.data(), end, length);
        const auto digits = static_cast<std::size_t>(parsed.ptr - rest_.data());
        if (!is_valid_ || parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ':' ||
            length > rest_.size() - digits - 1) {
            is_valid_ = false;
            return {};
        }
        const std::string_view field = rest_.substr(digits + 1, length);
        rest_.remove_prefix(digits + 1 + length);
        return field;
    }

    std::string_view rest_;
    bool is_valid_ = true;
};

template <is_a<key_report> Report, typename Visitor>
void each_field(Report& one, Visitor& visit) {
    visit(one.content);
    visit(one.ttl);
    visit(one.size);
    visit(one.limit);
    visit(one.in_use);
    visit(one.version);
    visit(one.has_value);
    visit(one.holder_count);
    visit(one.holders);
    visit(one.writer_count);
    visit(one.writers);
    visit(one.fence);
    visit(one.waiter_count);
    visit(one.waiters);
}

}  // namespace

std::string to_text(const key_report& report) {
    field_writer fields;
    each_field(report, fields);
    return fields.take();
}

std::optional<key_report> parse_report(std::string_view text) {
    key_report result;
    field_reader fields(text);
    each_field(result, fields);
    return fields.is_done() ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace colock::kinds
