// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A worker that locks with colock (see worker.hpp). The arguments are the instances.

namespace asio = boost::asio;

namespace {

using steady_clock = std::chrono::steady_clock;

long long ns(steady_clock::time_point time) {
    return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

struct contention {
    std::string file;
    double seconds = 0;
    long ttl_ms = 0;
    long hold_ms = 0;
    std::size_t most = 1;  // Names to lock together.
    std::vector<std::string> names;
};

class worker {
public:
    worker(asio::io_context& context, const std::vector<std::string>& uris)
        : locks_(context, patient(uris)), input_(context, ::dup(STDIN_FILENO)) {}

    asio::awaitable<void> run() {
        auto began = steady_clock::now();
        co_await all_ready();
        say("ready", began);
        std::string buffer;
        while (true) {
            boost::system::error_code error;
            const auto size =
                co_await asio::async_read_until(input_, asio::dynamic_buffer(buffer), '\n',
                                                asio::redirect_error(asio::use_awaitable, error));
            if (error) {
                break;
            }
            std::istringstream words(buffer.substr(0, size));
            buffer.erase(0, size);
            began = steady_clock::now();
            say(co_await obey(words), began);
        }
        held_.clear();
        co_await locks_.close();
    }

    void tell_of_instances() const {
        for (const auto& instance : locks_.instances()) {
            std::fprintf(stderr, "   %s: %s, %zu in flight; last down: %s\n",
                         instance.address.c_str(),
                         std::string(colock::to_string(instance.state)).c_str(), instance.in_flight,
                         instance.reason.c_str());
        }
    }

private:
    asio::awaitable<void> all_ready() {
        asio::steady_timer timer(input_.get_executor());
        const auto ready = [](const colock::instance_info& one) {
            return one.state == colock::instance_state::ready;
        };
        while (!std::ranges::all_of(locks_.instances(), ready)) {
            timer.expires_after(std::chrono::milliseconds(1));
            co_await timer.async_wait(asio::use_awaitable);
        }
    }

    static void say(const char* word, steady_clock::time_point began) {
        std::printf("%s %lld %lld\n", word, ns(began), ns(steady_clock::now()));
        std::fflush(stdout);
    }

    asio::awaitable<const char*> obey(std::istringstream& words) {
        std::string verb;
        std::string name;
        long ttl_ms = 0;
        words >> verb;
        if (verb == "contend") {
            contention all;
            words >> all.file >> all.seconds >> all.ttl_ms >> all.hold_ms >> all.most;
            all.names.assign(std::istream_iterator<std::string>(words), {});
            co_return co_await contend(all);
        }
        words >> name >> ttl_ms;
        if (verb == "take" || verb == "wait") {
            co_return co_await take(name, ttl_ms, verb == "wait");
        }
        if (verb == "extend") {
            co_return co_await extend(name, ttl_ms);
        }
        if (verb == "release") {
            co_return co_await release(name);
        }
        throw std::invalid_argument("unknown: " + verb);
    }

    /// Returns a configuration with long timeouts. All servers are up, but they may be slow on a busy
    /// machine. The other libraries wait for them without a limit.
    static colock::config patient(const std::vector<std::string>& uris) {
        auto config = colock::config::from_uris(uris);
        config.instance_timeout = patience;
        config.silence_timeout = 2 * patience;
        config.restart_quarantine = std::chrono::milliseconds(0);  // The servers are new.
        return config;
    }

    static colock::lock_options with_ttl(long ms) {
        colock::lock_options options;
        options.unavailable_timeout = patience;
        options.ttl = std::chrono::milliseconds(ms);
        return options;
    }

    asio::awaitable<const char*> take(const std::string& name, long ttl_ms, bool wait) {
        auto options = with_ttl(ttl_ms);
        options.renew = std::chrono::milliseconds(0);
        const colock::mutex lock(locks_, name, options);
        if (wait) {
            held_[name] = co_await lock.acquire();
            co_return "taken";
        }
        auto lease = co_await lock.try_acquire();
        if (!lease) {
            co_return "denied";
        }
        held_[name] = std::move(lease);
        co_return "taken";
    }

    asio::awaitable<const char*> extend(const std::string& name, long ttl_ms) {
        if (!held_.contains(name)) {
            co_return "refused";
        }
        try {
            co_await held_[name].extend(std::chrono::milliseconds(ttl_ms));
            co_return "extended";
        } catch (const boost::system::system_error& failure) {
            if (failure.code() != colock::condition::lost) {
                throw;
            }
            co_return "refused";
        }
    }

    asio::awaitable<const char*> release(const std::string& name) {
        colock::lease lease = std::move(held_[name]);
        held_.erase(name);
        if (lease.resource().empty()) {
            co_return "refused";
        }
        const auto result = co_await lease.release();
        co_return result == colock::release_result::released ? "released" : "refused";
    }

    asio::awaitable<const char*> contend(const contention& all) {
        const auto end = steady_clock::now() + std::chrono::duration<double>(all.seconds);
        std::ofstream records(all.file);
        std::mt19937 random{std::random_device{}()};
        std::uniform_int_distribution<std::size_t> index(0, all.names.size() - 1);
        asio::steady_timer timer(input_.get_executor());
        while (steady_clock::now() < end) {
            std::vector<std::string_view> names;
            for (std::size_t count = 1 + index(random) % all.most; count != 0; --count) {
                names.emplace_back(all.names[index(random)]);
            }
            const colock::multi_mutex lock(locks_, names, with_ttl(all.ttl_ms));
            const auto asked = steady_clock::now();
            auto lease = co_await lock.acquire();
            const auto entered = steady_clock::now();
            timer.expires_after(std::chrono::milliseconds(all.hold_ms));
            co_await timer.async_wait(asio::use_awaitable);
            const auto left = steady_clock::now();
            for (const std::string& name : lock.resources()) {
                records << name << ' ' << ns(asked) << ' ' << ns(entered) << ' ' << ns(left)
                        << '\n';
            }
            if (co_await lease.release() != colock::release_result::released) {
                throw std::runtime_error("lost " + std::string(lock.resource()));
            }
        }
        if (!records.flush()) {
            throw std::runtime_error("cannot write " + all.file);
        }
        co_return "done";
    }

    static constexpr std::chrono::seconds patience{5};
    colock::client locks_;
    asio::posix::stream_descriptor input_;
    std::map<std::string, colock::lease> held_;
};

}  // namespace

int main(int argc, char** argv) {
    int status = 0;
    asio::io_context context(1);
    worker one(context, {argv + 1, argv + argc});
    asio::co_spawn(context, one.run(), [&](std::exception_ptr failure) {
        if (!failure) {
            return;
        }
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& problem) {
            std::fprintf(stderr, "colock_worker: %s\n", problem.what());
            one.tell_of_instances();
        }
        status = 1;
        context.stop();
    });
    context.run();
    return status;
}
