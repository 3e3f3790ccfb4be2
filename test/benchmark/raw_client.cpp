#include "benchmark/raw_client.hpp"

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
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::string_view release_script =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
    "else return 0 end";

std::string resp(const std::vector<std::string>& words) {
    std::string text;
    text.append("*").append(std::to_string(words.size())).append("\r\n");
    for (const auto& word : words) {
        text.append("$").append(std::to_string(word.size())).append("\r\n");
        text.append(word).append("\r\n");
    }
    return text;
}

/// 20 random bytes as hexadecimal digits.
class token_source {
public:
    using token = std::array<char, 40>;

    void draw(token& result) {
        static constexpr std::string_view digits = "0123456789abcdef";
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i != result.size(); ++i, bits >>= 4U) {
            if (i % 16 == 0) {
                bits = random_();
            }
            result[i] = digits[bits & 15U];
        }
    }

private:
    std::mt19937_64 random_{std::random_device{}()};
};

/// A command whose bytes stay but for the token.
class command_template {
public:
    explicit command_template(const std::vector<std::string>& words)
        : bytes_(resp(words)), token_(bytes_.find(placeholder())) {}

    static std::string placeholder() {
        return std::string(std::tuple_size_v<token_source::token>, '?');
    }

    void set(const token_source::token& token) {
        std::memcpy(bytes_.data() + token_, token.data(), token.size());
    }

    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;
    std::size_t token_;
};

/// Which round of which task the next reply belongs to: replies come in the order of the commands.
struct expected {
    std::uint32_t task;
    std::uint32_t round;
};

/// A first-in-first-out ring that grows to what was needed once.
class expected_replies {
public:
    void push(expected value) {
        if (size_ == ring_.size()) {
            grow();
        }
        ring_[(first_ + size_++) & (ring_.size() - 1)] = value;
    }

    expected pop() {
        const auto value = ring_[first_];
        first_ = (first_ + 1) & (ring_.size() - 1);
        --size_;
        return value;
    }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

private:
    void grow() {
        std::vector<expected> larger(ring_.size() * 2);
        for (std::size_t i = 0; i != size_; ++i) {
            larger[i] = ring_[(first_ + i) & (ring_.size() - 1)];
        }
        ring_ = std::move(larger);
        first_ = 0;
    }

    std::vector<expected> ring_ = std::vector<expected>(1024);
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

/// One server: what to send to it, and whose replies are to come.
struct connection {
    explicit connection(asio::io_context& context) : socket(context) {}

    tcp::socket socket;
    std::string output;   // of this turn
    std::string sending;  // what the socket did not take at once
    expected_replies replies;
    std::array<char, 65536> input{};
    std::size_t input_size = 0;
};

struct task {
    task(std::size_t number, const std::string& script_sha)
        : take({"SET", lock_name(number), command_template::placeholder(), "NX", "PX",
                std::to_string(lock_ttl.count())}),
          release(
              {"EVALSHA", script_sha, "1", lock_name(number), command_template::placeholder()}) {}

    command_template take;
    command_template release;
    std::uint32_t round = 0;
    std::uint32_t votes = 0;
    bool releasing = false;
    measurement::clock::time_point started;
};

class raw_client {
public:
    explicit raw_client(const orders& work)
        : measurement_(context_, work), quorum_(work.instances.size() / 2 + 1) {
        std::string script_sha;
        for (const auto& uri : work.instances) {
            connections_.push_back(std::make_unique<connection>(context_));
            script_sha = connect(*connections_.back(), uri);
        }
        for (std::size_t i = 0; i != work.concurrency; ++i) {
            tasks_.emplace_back(i, script_sha);
        }
    }

    measured run() {
        measurement_.start();
        running_ = tasks_.size();
        const auto now = measurement::clock::now();
        for (std::size_t i = 0; i != tasks_.size(); ++i) {
            start_cycle(static_cast<std::uint32_t>(i), now);
        }
        for (auto& each : connections_) {
            receive(*each);
        }
        context_.run();
        return measurement_.result();
    }

private:
    /// Returns the release script's digest.
    static std::string connect(connection& c, const std::string& uri) {
        const auto parsed = boost::urls::parse_uri(uri).value();
        c.socket.connect({asio::ip::make_address(parsed.host_address()), parsed.port_number()});
        c.socket.set_option(tcp::no_delay(true));
        asio::write(c.socket, asio::buffer(resp({"SCRIPT", "LOAD", std::string(release_script)})));
        std::string reply;
        asio::read_until(c.socket, asio::dynamic_buffer(reply), "\r\n");
        constexpr std::size_t digest_size = 40;
        while (reply.size() < 5 + digest_size + 2) {
            std::array<char, 64> more{};
            reply.append(more.data(), c.socket.read_some(asio::buffer(more)));
        }
        if (!reply.starts_with("$40\r\n")) {
            throw std::runtime_error("raw: SCRIPT LOAD answered " + reply);
        }
        c.socket.non_blocking(true);
        return reply.substr(5, digest_size);
    }

    void start_cycle(std::uint32_t number, measurement::clock::time_point now) {
        auto& each = tasks_[number];
        each.started = now;
        token_source::token token;
        tokens_.draw(token);
        each.take.set(token);
        each.release.set(token);
        each.releasing = false;
        start_round(number, each, each.take.bytes());
    }

    void start_round(std::uint32_t number, task& each, const std::string& command) {
        ++each.round;
        each.votes = 0;
        for (auto& c : connections_) {
            c->output.append(command);
            c->replies.push({number, each.round});
        }
        send_at_end_of_turn();
    }

    void granted(expected reply) {
        auto& each = tasks_[reply.task];
        if (each.round != reply.round || ++each.votes != quorum_) {
            return;
        }
        if (!each.releasing) {
            each.releasing = true;
            start_round(reply.task, each, each.release.bytes());
            return;
        }
        const auto now = measurement_.cycle_since(each.started);
        if (!measurement_.over()) {
            start_cycle(reply.task, now);
        } else {
            ++each.round;
            --running_;
        }
    }

    void send_at_end_of_turn() {
        if (!std::exchange(sending_scheduled_, true)) {
            asio::post(context_, [this] {
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
                if (running_ == 0 && all_answered()) {
                    close();
                } else {
                    receive(c);
                }
            });
    }

    /// Both commands say yes in one short line, and with keys of its own nobody is ever told no.
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

    asio::io_context context_{1};
    measurement measurement_;
    token_source tokens_;
    std::vector<std::unique_ptr<connection>> connections_;
    std::vector<task> tasks_;
    std::size_t quorum_;
    std::size_t running_ = 0;
    bool sending_scheduled_ = false;
};

}  // namespace

measured run_raw(const orders& work) {
    return raw_client(work).run();
}

}  // namespace colock::benchmark
