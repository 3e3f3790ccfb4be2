// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/session.hpp"

#include "support/small_redis/resp_reply.hpp"

#include <cstddef>
#include <utility>

namespace colock::small_redis {
namespace {

constexpr std::size_t longest_command = std::size_t(512) * 1024 * 1024;

}  // namespace

session::session(server& host) : host_(host), id_(++host.last_session_), reader_(longest_command) {
    host_.sessions_.push_back(this);
}

session::~session() {
    std::erase(host_.sessions_, this);
    host_.tracking_.forget(*this);
}

bool session::receive(std::string_view bytes, wall_microseconds now) {
    std::string joined;
    std::string_view rest = bytes;
    if (!input_.empty()) {
        joined = std::move(input_);
        joined += bytes;
        rest = joined;
    }
    bool is_complete = true;
    while (!rest.empty() && is_complete) {
        const resp::reader::status read = reader_.read(rest);
        is_complete = read == resp::reader::status::complete;
        if (is_complete) {
            if (!execute(rest.substr(0, reader_.size()), now)) {
                return false;
            }
            rest.remove_prefix(reader_.size());
        } else if (read != resp::reader::status::incomplete) {
            return false;
        }
    }
    input_ = rest;
    return true;
}

/// Returns false if the command is not an array of strings.
bool session::execute(std::string_view command, wall_microseconds now) {
    resp::cursor values(command);
    const resp::value root = values.next();
    if (root.type != resp::type::array) {
        return false;
    }
    words_.clear();
    for (std::size_t i = 0; i != root.children; ++i) {
        const resp::value one = values.next();
        if (one.type != resp::type::bulk_string) {
            return false;
        }
        words_.push_back(one.text);
    }
    if (!words_.empty()) {
        resp_reply out(output_, host_.dialect());
        host_.execute(words_, now, out, this);
    }
    return true;
}

void session::end_command(const command* c) {
    state.is_asking = c != nullptr && c->name == "asking" && state.is_asking;
    state.is_caching = c != nullptr && c->name.starts_with("client|") && state.is_caching;
    output_ += std::exchange(pending_, {});
}

void session::tell_changed(std::string_view key) {
    std::string& to = place_for_push();
    resp_reply out(to, host_.dialect());
    out.push(2);
    out.bulk("invalidate");
    out.array(1);
    out.bulk(key);
    after_push(to);
}

void session::tell_flushed() {
    std::string& to = place_for_push();
    resp_reply out(to, host_.dialect());
    out.push(2);
    out.bulk("invalidate");
    out.null();
    after_push(to);
}

std::string& session::place_for_push() noexcept {
    return host_.current_ == this ? pending_ : output_;
}

void session::after_push(const std::string& to) {
    if (&to == &output_ && host_.on_push) {
        host_.on_push(*this);
    }
}

}  // namespace colock::small_redis
