// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The effects of the library on the rest of its process, and on the programs that this process starts.

#include "integration/locks.hpp"
#include "support/fake_sentinel.hpp"
#include "support/redis_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

/// The number of sockets opened without close-on-exec. A socket that gets the flag later counts too.
std::atomic<int> opened_without_cloexec{0};
std::atomic<int> names_looked_up{0};
std::atomic<int> variables_read{0};

template <typename Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void count_socket(int type) {
    if ((type & SOCK_CLOEXEC) == 0) {
        ++opened_without_cloexec;
    }
}

}  // namespace

// These replace the system's functions.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" int socket(int family, int type, int protocol) noexcept {
    static auto* const real = next<int(int, int, int)>("socket");
    count_socket(type);
    return real(family, type, protocol);
}
extern "C" int socketpair(int family, int type, int protocol, int* ends) noexcept {
    static auto* const real = next<int(int, int, int, int*)>("socketpair");
    count_socket(type);
    return real(family, type, protocol, ends);
}
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** result) {
    static auto* const real =
        next<int(const char*, const char*, const addrinfo*, addrinfo**)>("getaddrinfo");
    ++names_looked_up;
    return real(name, service, hints, result);
}
extern "C" char* getenv(const char* name) noexcept {
    static auto* const real = next<char*(const char*)>("getenv");
    ++variables_read;
    return real(name);
}
extern "C" char* secure_getenv(const char* name) noexcept {
    static auto* const real = next<char*(const char*)>("secure_getenv");
    ++variables_read;
    return real(name);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

namespace {

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;
using strings = std::vector<std::string>;
namespace fs = std::filesystem;

/// Returns the descriptors of a process as their targets, such as "socket:[123]".
std::set<std::string> descriptors_of(pid_t process) {
    std::set<std::string> result;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
        std::error_code gone;  // The descriptor of the folder itself.
        result.insert(fs::read_symlink(entry.path(), gone).string());
    }
    return result;
}

std::set<std::string> sockets_of(pid_t process) {
    std::set<std::string> result = descriptors_of(process);
    std::erase_if(result, [](const std::string& what) { return !what.starts_with("socket:"); });
    return result;
}

/// Returns the open descriptors of this process.
std::set<int> own_descriptors() {
    std::set<int> result;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
        result.insert(std::stoi(entry.path().filename().string()));
    }
    std::erase_if(result, [](int one) { return ::fcntl(one, F_GETFD) < 0; });
    return result;
}

/// Returns the local port, or 0 if the descriptor is not a TCP socket.
std::uint16_t local_port(int descriptor) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                   address.sin_family == AF_INET
               ? ntohs(address.sin_port)
               : std::uint16_t(0);
}

/// A `cat` process that is started by posix_spawn. It runs until its end of the pipe is closed.
class spawned_cat {
public:
    spawned_cat() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            throw std::runtime_error("pipe2");
        }
        posix_spawn_file_actions_t actions{};
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
        std::string program = "cat";
        std::array<char*, 2> arguments{program.data(), nullptr};
        const int failure =
            ::posix_spawnp(&pid_, "cat", &actions, nullptr, arguments.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[0]);
        input_ = ends[1];
        if (failure != 0) {
            throw std::system_error(failure, std::generic_category(), "posix_spawnp");
        }
    }
    ~spawned_cat() {
        ::close(input_);
        ::waitpid(pid_, nullptr, 0);
    }
    spawned_cat(const spawned_cat&) = delete;
    spawned_cat& operator=(const spawned_cat&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    pid_t pid_ = 0;
    int input_ = -1;
};

/// Returns the number of colock's connections to a server.
std::size_t connections_to(const redis_server& server) {
    const std::string list = server.command({"CLIENT", "LIST"}).value_or("");
    std::size_t count = 0;
    for (std::size_t at = 0; (at = list.find(" name=colock", at)) != std::string::npos; ++at) {
        ++count;
    }
    return count;
}

/// A server with TLS on a second port.
struct tls_server {
    tls_server() {
        const std::string folder = plain.folder().string();
        const std::string make_certificate =
            "cd '" + folder +
            "' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
            "-subj /CN=x -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem > "
            "/dev/null 2>&1";
        if (std::system(make_certificate.c_str()) != 0) {
            throw std::runtime_error("failed: " + make_certificate);
        }
        plain.command({"CONFIG", "SET", "tls-cert-file", certificate(), "tls-key-file",
                       folder + "/key.pem", "tls-ca-cert-file", folder + "/cert.pem",
                       "tls-auth-clients", "no", "tls-port", std::to_string(port.number())});
    }

    [[nodiscard]] std::string certificate() const { return plain.folder().string() + "/cert.pem"; }
    [[nodiscard]] std::string uri() const {
        return "rediss://127.0.0.1:" + std::to_string(port.number());
    }

    redis_server plain;
    reserved_port port;
};

BOOST_AUTO_TEST_SUITE(process_test)

BOOST_FIXTURE_TEST_CASE(a_spawned_program_inherits_no_connections, shared_servers<3>,
                        *label("fault-106")) {
    run_test([&]() -> asio::awaitable<void> {
        config settings = instances.config();
        settings.instances.back() = instances[2].unix_uri();
        std::optional<client> locks(std::in_place, co_await asio::this_coro::executor, settings);
        co_await all_ready(*locks);
        const std::set<std::string> ours = sockets_of(::getpid());
        BOOST_TEST(ours.size() >= 3U);
        const spawned_cat spawned;
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(::popen("cat", "w"),
                                                                     &::pclose);
        for (const std::string& one : sockets_of(spawned.pid())) {
            BOOST_TEST(!ours.contains(one), one << " was inherited");
        }
        co_await locks->close();
        locks.reset();
        co_await async_wait_until([&] {
            return std::ranges::all_of(
                instances, [](const redis_server& one) { return connections_to(one) == 0; });
        });
    }());
}

BOOST_AUTO_TEST_CASE(every_socket_of_every_kind_of_instance_is_closed_on_exec,
                     *label("fault-106")) {
    const redis_server plain;
    const redis_server by_name;
    const redis_server by_path;
    const redis_server watched;
    const redis_cluster cluster(3);
    const tls_server encrypted;
    std::vector<fake_sentinel> sentinels(3);
    std::string hosts;
    std::set<std::uint16_t> not_the_librarys;
    for (fake_sentinel& one : sentinels) {
        one.name(watched.port());
        hosts += (hosts.empty() ? "" : ",") + one.host_and_port();
        not_the_librarys.insert(one.port());
    }
    std::set<int> before = own_descriptors();
    opened_without_cloexec = 0;
    names_looked_up = 0;
    run_test([&]() -> asio::awaitable<void> {
        config settings = config::from_uris({
            plain.uri(),
            "redis://localhost:" + std::to_string(by_name.port()),
            by_path.unix_uri(),
            "redis+sentinel://" + hosts + "/mymaster",
            cluster.uri(),
            encrypted.uri() + "?verify=none",
            "memory://process_test",
        });
        settings.restart_quarantine = settings.failover_quarantine = 0ms;
        client locks(co_await asio::this_coro::executor, settings);
        co_await all_ready(locks);
        const lease held = co_await mutex(locks, "x").acquire();
        BOOST_TEST(held.valid());
        int checked = 0;
        for (const int one : own_descriptors()) {
            if (!before.contains(one) && !not_the_librarys.contains(local_port(one))) {
                BOOST_TEST((::fcntl(one, F_GETFD) & FD_CLOEXEC) != 0,
                           fs::read_symlink("/proc/self/fd/" + std::to_string(one)));
                ++checked;
            }
        }
        BOOST_TEST(checked >= 4 + 1 + 3 + 3);
        BOOST_TEST(names_looked_up >= 1);
        BOOST_TEST(opened_without_cloexec == 0);
    }());
}

/// Sets an environment variable while the object lives. No other thread may run then.
class variable {
public:
    variable(const char* name, const std::string& value) : name_(name) {
        ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    }
    ~variable() { ::unsetenv(name_); }  // NOLINT(concurrency-mt-unsafe)
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;

private:
    const char* name_;
};

/// Another thread may be in `setenv` at any time, so a connection must not read the environment.
BOOST_AUTO_TEST_CASE(environment_variables_are_read_only_at_client_construction,
                     *label("fault-108")) {
    const tls_server encrypted;
    const redis_server locked({"--requirepass", "secret"});
    redis_cluster cluster(1, 0, {"--requirepass", "secret"});
    const std::string from_variable = "?password_env=COLOCK_PROCESS_TEST";
    asio::io_context context;
    std::optional<client> locks;
    {
        const variable password("COLOCK_PROCESS_TEST", "secret");
        const variable authorities("SSL_CERT_FILE", encrypted.certificate());
        config settings = config::from_uris({
            encrypted.uri(),
            "redis://127.0.0.1:" + std::to_string(locked.port()) + from_variable,
            "redis+cluster://127.0.0.1:" + std::to_string(cluster[0].port()) + from_variable,
        });
        settings.restart_quarantine = settings.failover_quarantine = 0ms;
        locks.emplace(context, settings);
    }
    variables_read = 0;
    const std::array<const redis_server*, 3> all{&encrypted.plain, &locked, &cluster[0]};
    const auto run_until_connected = [&] {
        wait_until([&] {
            context.restart();
            context.poll();
            return ready_instances(*locks) == 3 &&
                   std::ranges::all_of(
                       all, [](const redis_server* one) { return connections_to(*one) != 0; });
        });
    };
    run_until_connected();
    for (const redis_server* one : all) {
        one->command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    }
    run_until_connected();
    BOOST_TEST(variables_read == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
