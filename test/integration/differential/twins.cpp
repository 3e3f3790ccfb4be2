// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "twins.hpp"

#include "random_command.hpp"
#include "support/resp_text.hpp"

#include "resp/writer.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <utility>

namespace colock::test {
namespace {

constexpr std::size_t longest_reply = std::size_t(64) * 1024 * 1024;

std::string shown(std::string_view reply) {
    resp::cursor values(reply);
    return to_text(values);
}

std::string shown(const std::vector<std::string>& words) {
    std::string result;
    for (const std::string& word : words) {
        constexpr std::size_t longest = 130;
        result += (result.empty() ? "" : " ") +
                  (word.empty()            ? std::string("\"\"")
                   : word.size() > longest ? "(a text of " + std::to_string(word.size()) + ")"
                                           : word);
    }
    return result;
}

/// Moves up to `most` replies, and the pushes between them, from the front of the bytes to `to`.
void take_replies(std::string& bytes, resp::reader& reader, std::size_t most, received& to) {
    std::string_view rest = bytes;
    while (to.replies.size() < most && !rest.empty()) {
        const resp::reader::status status = reader.read(rest);
        if (status == resp::reader::status::incomplete) {
            break;
        }
        if (status != resp::reader::status::complete) {
            throw std::runtime_error("not RESP3: " + std::string(rest.substr(0, 100)));
        }
        auto& list = reader.root().type == resp::type::push ? to.pushes : to.replies;
        list.emplace_back(rest.substr(0, reader.size()));
        rest.remove_prefix(reader.size());
    }
    bytes.erase(0, bytes.size() - rest.size());
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
    std::ranges::move(more, std::back_inserter(to));
}

}  // namespace

std::string encoded(const std::vector<std::string>& command) {
    const std::vector<std::string_view> words(command.begin(), command.end());
    std::string buffer;
    resp::command_writer writer(buffer);
    writer.write(std::span(words));
    return std::string(writer.text());
}

raw_connection::raw_connection(std::uint16_t port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), reader_(longest_reply) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(socket_);
        throw std::runtime_error("cannot connect to port " + std::to_string(port));
    }
}

raw_connection::~raw_connection() {
    ::close(socket_);
}

void raw_connection::send(std::string_view bytes) const {
    while (!bytes.empty()) {
        const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            throw std::runtime_error("cannot send to the server");
        }
        bytes.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
    }
}

void raw_connection::receive(std::size_t replies, received& to) {
    constexpr int timeout_in_milliseconds = 10'000;
    const std::size_t wanted = to.replies.size() + replies;
    take_replies(buffer_, reader_, wanted, to);
    while (to.replies.size() < wanted) {
        pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
        std::array<char, 65536> chunk;
        if (::poll(&waiting, 1, timeout_in_milliseconds) == 0) {
            throw std::runtime_error("the server does not answer");
        }
        const auto size = ::recv(socket_, chunk.data(), chunk.size(), 0);
        if (size == 0 || (size < 0 && errno != EINTR)) {
            throw std::runtime_error("the server has closed the connection");
        }
        buffer_.append(chunk.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
        take_replies(buffer_, reader_, wanted, to);
    }
}

received split_replies(std::string_view bytes) {
    received result;
    std::string rest(bytes);
    resp::reader reader(longest_reply);
    take_replies(rest, reader, bytes.size(), result);
    if (!rest.empty()) {
        throw std::runtime_error("incomplete: " + rest);
    }
    return result;
}

const small_redis::dialect& dialect_of(const redis_server& server) {
    const std::string info = server.command({"INFO", "server"}).value_or("");
    if (info.find("valkey_version:9.") != std::string::npos) {
        return small_redis::valkey_9;
    }
    if (info.find("redis_version:8.0.") != std::string::npos) {
        return small_redis::redis_8;
    }
    if (info.find("redis_version:7.0.") != std::string::npos) {
        return small_redis::redis_7;
    }
    throw std::runtime_error("no dialect of the small Redis is like this server: " +
                             info.substr(0, 200));
}

twins::twins(const redis_server& real, stopped_clock& clock, std::uint64_t seed, std::int64_t now)
    : real_(real), clock_(clock), seed_(seed), now_(now), small_(dialect_of(real)) {
    set_now(now_);
}

void twins::connect() {
    clients_.push_back(std::make_unique<client>(real_.port(), small_));
    clients_.back()->real.send(encoded({"HELLO", "3"}));
    received ignored;
    clients_.back()->real.receive(1, ignored);
}

void twins::set_now(std::int64_t now) {
    now_ = now;
    clock_.set(now);
}

void twins::play(std::size_t client_index, const std::vector<command>& commands) {
    client& by = *clients_[client_index];
    std::string bytes;
    for (const command& one : commands) {
        bytes += encoded(one);
    }
    by.real.send(bytes);
    if (!by.small.receive(bytes, now_)) {
        throw difference("the small Redis refuses the bytes of its client");
    }
    received small = split_replies(std::exchange(by.small.output(), {}));
    append(by.small_pushes, std::move(small.pushes));
    received real;
    by.real.receive(commands.size(), real);
    append(by.real_pushes, std::move(real.pushes));
    for (std::size_t i = 0; i != commands.size(); ++i) {
        ++count_;
        if (i >= small.replies.size() || small.replies[i] != real.replies[i]) {
            throw difference(
                "seed " + std::to_string(seed_) + ", command " + std::to_string(count_) + ": " +
                shown(commands[i]) + "\n  real:  " + shown(real.replies[i]) +
                "\n  small: " + (i < small.replies.size() ? shown(small.replies[i]) : "nothing") +
                "\n" + history(commands[i]));
        }
        constexpr std::size_t most_remembered = 3000;
        played_.push_back({now_, client_index, commands[i], real.replies[i]});
        if (played_.size() > most_remembered) {
            played_.pop_front();
        }
    }
}

void twins::compare_pushes() {
    for (std::size_t i = 0; i != clients_.size(); ++i) {
        client& one = *clients_[i];
        play(i, {{"PING"}});  // Pushes that the server sent earlier arrive before this reply.
        std::ranges::sort(one.real_pushes);
        std::ranges::sort(one.small_pushes);
        if (one.real_pushes != one.small_pushes) {
            std::string text = "seed " + std::to_string(seed_) + ", after command " +
                               std::to_string(count_) + ", client " + std::to_string(i) +
                               " gets different pushes";
            for (const auto& [name, pushes] :
                 {std::pair("real", &one.real_pushes), std::pair("small", &one.small_pushes)}) {
                for (const std::string& push : *pushes) {
                    text += "\n  " + std::string(name) + ": " + shown(push);
                }
            }
            throw difference(text + "\n" + history({}));
        }
        one.real_pushes.clear();
        one.small_pushes.clear();
    }
}

/// Returns the commands on the keys of the last command. If it has no keys, returns all commands.
std::string twins::history(const command& last) const {
    constexpr std::size_t most = 30;
    std::vector<std::string> keys;
    std::ranges::copy_if(random_command::keys(), std::back_inserter(keys), [&](const auto& key) {
        return std::ranges::find(last, key) != last.end();
    });
    std::vector<std::string> lines;
    for (auto one = played_.rbegin(); one != played_.rend() && lines.size() < most; ++one) {
        const bool is_about = keys.empty() || one->words[0] == "FLUSHALL" ||
                              std::ranges::any_of(one->words, [&](const std::string& word) {
                                  return std::ranges::find(keys, word) != keys.end();
                              });
        if (is_about) {
            lines.push_back("  at " + std::to_string(one->now) + " client " +
                            std::to_string(one->client) + ": " + shown(one->words) + " -> " +
                            shown(one->reply));
        }
    }
    std::string result = "before, the last first:";
    for (const std::string& line : lines) {
        result += "\n" + line;
    }
    return result;
}

}  // namespace colock::test
