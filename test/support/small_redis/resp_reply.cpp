// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/resp_reply.hpp"

#include "support/small_redis/number_text.hpp"

#include <algorithm>

namespace colock::small_redis {

/// Replaces line breaks in the text by spaces.
void resp_reply::line(char kind, std::string_view text) {
    to_ += kind;
    const std::size_t begin = to_.size();
    to_ += text;
    std::replace_if(
        to_.begin() + static_cast<std::ptrdiff_t>(begin), to_.end(),
        [](char c) { return c == '\r' || c == '\n'; }, ' ');
    to_ += "\r\n";
}

void resp_reply::header(char kind, std::size_t size) {
    to_ += kind;
    to_ += number_text(static_cast<std::int64_t>(size)).text();
    to_ += "\r\n";
}

void resp_reply::text_with_size(char kind, std::string_view format, std::string_view text) {
    header(kind, format.size() + text.size());
    to_ += format;
    to_ += text;
    to_ += "\r\n";
}

void resp_reply::integer(std::int64_t value) {
    to_ += ':';
    to_ += number_text(value).text();
    to_ += "\r\n";
}

void resp_reply::real(double value) {
    to_ += ',';
    to_ += number_text(value, dialect_.has_shortest_numbers).text();
    to_ += "\r\n";
}

}  // namespace colock::small_redis
