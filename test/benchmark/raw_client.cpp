// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/plain_client.hpp"
#include "benchmark/plain_clients.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/url/parse.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

std::string resp(const std::vector<std::string>& words) {
    std::string text;
    text.append("*").append(std::to_string(words.size())).append("\r\n");
    for (const auto& word : words) {
        text.append("$").append(std::to_string(word.size())).append("\r\n");
        text.append(word).append("\r\n");
    }
    return text;
}

/// A command in RESP. Only its token changes between uses.
class command_template {
public:
    explicit command_template(const std::vector<std::string>& words)
        : bytes_(resp(words)), token_(bytes_.find(placeholder())) {}

    static std::string placeholder() { return std::string(std::tuple_size_v<token>, '?'); }

    void set(const token& t) { std::memcpy(bytes_.data() + token_, t.data(), t.size()); }

    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;
    std::size_t token_;
};

/// The ballots that the next replies belong to, in the order of the commands. The ring grows to the largest
/// size needed and stays there.
class expected_ballots {
public:
    void push(ballot value) {
        if (size_ == ring_.size()) {
            grow();
        }
        ring_[(first_ + size_++) & (ring_.size() - 1)] = value;
    }

    ballot pop() {
        const auto value = ring_[first_];
        first_ = (first_ + 1) & (ring_.size() - 1);
        --size_;
        return value;
    }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

private:
    void grow() {
        std::vector<ballot> larger(ring_.size() * 2);
        for (std::size_t i = 0; i != size_; ++i) {
            larger[i] = ring_[(first_ + i) & (ring_.size() - 1)];
        }
        ring_ = std::move(larger);
        first_ = 0;
    }

    std::vector<ballot> ring_ = std::vector<ballot>(1024);
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

/// A connection to one server: the output, and the ballots of the outstanding replies.
struct connection {
    explicit connection(asio::io_context& context) : socket(context) {}

    tcp::socket socket;
    std::string output;   // Output of this turn.
    std::string sending;  // Bytes that the socket did not accept immediately.
    expected_ballots replies;
    std::array<char, 65536> input{};
    std::size_t input_size = 0;
};

/// The minimal script that takes a lock with a binding order. It requires that no client waits and that the
/// key does not exist.
constexpr std::string_view take_turn_script =
    "return redis.call('exists', KEYS[2]) == 0 and "
    "redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])";

/// The digests of the scripts.
struct digests {
    std::string release;
    std::string take_turn;
};

/// The commands of a task.
struct commands {
    commands(lock_kind kind, std::size_t number, const digests& scripts)
        : take(take_of(kind, lock_name(number), scripts)),
          release({"EVALSHA", scripts.release, "1", lock_name(number),
                   command_template::placeholder()}) {}

    static std::vector<std::string> take_of(lock_kind kind, const std::string& name,
                                            const digests& scripts) {
        const std::string token = command_template::placeholder();
        const std::string ttl = std::to_string(lock_ttl.count());
        if (kind == lock_kind::ordered) {
            return {"EVALSHA", scripts.take_turn, "2", name, "{" + name + "}:queue", token, ttl};
        }
        return {"SET", name, token, "NX", "PX", ttl};
    }

    command_template take;
    command_template release;
};

class raw_client final : public plain_client {
public:
    explicit raw_client(const orders& work) : plain_client(work), all_answer_(work.all_answer) {
        digests scripts;
        for (const auto& uri : work.instances) {
            connections_.push_back(std::make_unique<connection>(context()));
            scripts = connect(*connections_.back(), uri);
        }
        for (std::size_t i = 0; i != work.concurrency; ++i) {
            commands_.emplace_back(work.kind, i, scripts);
        }
    }

    measured run() {
        start();
        for (auto& each : connections_) {
            receive(*each);
        }
        return plain_client::run();
    }

private:
    static digests connect(connection& c, const std::string& uri) {
        const auto parsed = boost::urls::parse_uri(uri).value();
        c.socket.connect({asio::ip::make_address(parsed.host_address()), parsed.port_number()});
        c.socket.set_option(tcp::no_delay(true));
        digests result{load(c.socket, release_script), load(c.socket, take_turn_script)};
        c.socket.non_blocking(true);
        return result;
    }

    /// Loads a script and returns its digest.
    static std::string load(tcp::socket& socket, std::string_view script) {
        asio::write(socket, asio::buffer(resp({"SCRIPT", "LOAD", std::string(script)})));
        std::string reply;
        asio::read_until(socket, asio::dynamic_buffer(reply), "\r\n");
        constexpr std::size_t digest_size = 40;
        while (reply.size() < 5 + digest_size + 2) {
            std::array<char, 64> more{};
            reply.append(more.data(), socket.read_some(asio::buffer(more)));
        }
        if (!reply.starts_with("$40\r\n")) {
            throw std::runtime_error("raw: SCRIPT LOAD answered " + reply);
        }
        return reply.substr(5, digest_size);
    }

    void send_take(ballot to_count, const token& t) override {
        auto& each = commands_[to_count.task];
        each.take.set(t);
        each.release.set(t);
        send_to_all(to_count, each.take.bytes());
    }

    void send_release(ballot to_count) override {
        send_to_all(to_count, commands_[to_count.task].release.bytes());
    }

    void send_to_all(ballot to_count, const std::string& command) {
        for (auto& c : connections_) {
            c->output.append(command);
            c->replies.push(to_count);
        }
        send_at_end_of_turn();
    }

    void send_at_end_of_turn() {
        if (!std::exchange(sending_scheduled_, true)) {
            asio::post(context(), [this] {
                sending_scheduled_ = false;
                for (auto& c : connections_) {
                    send(*c);
                }
            });
        }
    }

    static void send(connection& c) {
        if (c.output.empty() || !c.sending.empty()) {
            return;
        }
        boost::system::error_code error;
        const auto sent = c.socket.write_some(asio::buffer(c.output), error);
        if (error && error != asio::error::would_block) {
            throw boost::system::system_error(error, "raw: write");
        }
        if (sent == c.output.size()) {
            c.output.clear();
            return;
        }
        c.sending.swap(c.output);
        c.sending.erase(0, sent);
        asio::async_write(c.socket, asio::buffer(c.sending),
                          [&c](boost::system::error_code failed, std::size_t) {
                              if (failed == asio::error::operation_aborted) {
                                  return;
                              }
                              if (failed) {
                                  throw boost::system::system_error(failed, "raw: write");
                              }
                              c.sending.clear();
                              send(c);
                          });
    }

    void receive(connection& c) {
        c.socket.async_read_some(
            asio::buffer(c.input.data() + c.input_size, c.input.size() - c.input_size),
            [this, &c](boost::system::error_code error, std::size_t size) {
                if (error == asio::error::operation_aborted) {
                    return;
                }
                if (error) {
                    throw boost::system::system_error(error, "raw: read");
                }
                c.input_size += size;
                parse(c);
                if (all_done() && (all_answered() || !all_answer_)) {
                    close();
                } else {
                    receive(c);
                }
            });
    }

    /// Parses the replies. A success is one short line for both commands. No command is denied, because each
    /// task uses keys of its own.
    void parse(connection& c) {
        std::string_view rest(c.input.data(), c.input_size);
        while (true) {
            if (rest.starts_with("+OK\r\n")) {
                rest.remove_prefix(5);
            } else if (rest.starts_with(":1\r\n")) {
                rest.remove_prefix(4);
            } else {
                break;
            }
            granted(c.replies.pop());
        }
        if (rest.find('\n') != std::string_view::npos) {
            throw std::runtime_error("raw: unexpected reply " + std::string(rest));
        }
        std::memmove(c.input.data(), rest.data(), rest.size());
        c.input_size = rest.size();
    }

    [[nodiscard]] bool all_answered() const {
        for (const auto& c : connections_) {
            if (!c->replies.empty()) {
                return false;
            }
        }
        return true;
    }

    void close() {
        for (auto& c : connections_) {
            c->socket.close();
        }
    }

    std::vector<std::unique_ptr<connection>> connections_;
    std::vector<commands> commands_;  // Indexed by task.
    bool all_answer_;
    bool sending_scheduled_ = false;
};

}  // namespace

measured run_raw(const orders& work) {
    return raw_client(work).run();
}

}  // namespace colock::benchmark
