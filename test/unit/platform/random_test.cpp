// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Values that must differ between a process and its clones, such as virtual machines from one snapshot.

#include "runtime/asio_host.hpp"
#include "runtime/token.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_set>

namespace {

bool kernel_has_entropy = true;

}  // namespace

// Replaces the function of the system.
extern "C" int getentropy(void* buffer, std::size_t size) {  // NOLINT(readability-inconsistent-*)
    if (!kernel_has_entropy) {
        errno = ENOSYS;
        return -1;
    }
    return ::syscall(SYS_getrandom, buffer, size, 0) == static_cast<long>(size) ? 0 : -1;
}

namespace {

using boost::unit_test::label;
using namespace colock;
namespace asio = boost::asio;

/// Runs `work` in a clone of this process, and returns its result. No fork handler is called.
template <typename Work>
std::string in_clone(const Work& work) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        throw std::runtime_error("pipe");
    }
    const auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (child < 0) {
        throw std::runtime_error("clone");
    }
    if (child == 0) {
        const std::string result = work();
        const ssize_t written = ::write(ends[1], result.data(), result.size());
        ::_exit(written < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    std::string result;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
        result.append(buffer.data(), static_cast<std::size_t>(size));
    }
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return result;
}

/// A client without instances, which draws tokens.
class source {
public:
    /// Returns this many tokens, each followed by a separator. Draws ten in every turn of the event loop.
    std::string draw(std::size_t count) {
        std::string result;
        for (std::size_t i = 0; i != count; ++i) {
            result += runtime::token(parts_->world, {}, {}).view();
            result += ' ';
            if (i % 10 == 9) {
                end_turn();
            }
        }
        return result;
    }

private:
    void end_turn() {
        parts_->turn.schedule();
        context_.restart();
        context_.poll();
    }

    asio::io_context context_{1};
    std::shared_ptr<runtime::asio_host> host_ = runtime::asio_host::make(
        context_.get_executor(), false, {},
        [](const auto&, auto&) { return runtime::instance_group::list(); });
    std::shared_ptr<runtime::client_context> parts_ = host_->owned_parts();
};

/// Returns the number of repeated tokens in the two texts.
std::size_t duplicates(const std::string& some, const std::string& others) {
    std::unordered_set<std::string> seen;
    std::size_t count = 0;
    for (const std::string& text : {some, others}) {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find(' ', at);
            count += seen.insert(text.substr(at, end - at)).second ? 0 : 1;
            at = end + 1;
        }
    }
    return count;
}

struct entropy_of_kernel {
    explicit entropy_of_kernel(bool there) { kernel_has_entropy = there; }
    ~entropy_of_kernel() { kernel_has_entropy = true; }
};

BOOST_AUTO_TEST_SUITE(random_test)

BOOST_AUTO_TEST_CASE(a_clone_draws_other_tokens, *label("fault-110")) {
    for (const bool there : {true, false}) {
        const entropy_of_kernel entropy(there);
        for (const std::size_t before : {0U, 10U, 200U}) {
            source tokens;
            tokens.draw(before);
            const std::string of_clone = in_clone([&] { return tokens.draw(400); });
            const std::string own = tokens.draw(400);
            BOOST_TEST(of_clone.size() == own.size());
            BOOST_TEST(duplicates(own, of_clone) == 0U);
        }
    }
}

BOOST_AUTO_TEST_CASE(two_clones_draw_different_tokens, *label("fault-110")) {
    source tokens;
    const std::string first = in_clone([&] { return tokens.draw(400); });
    const std::string second = in_clone([&] { return tokens.draw(400); });
    BOOST_TEST(first.size() == second.size());
    BOOST_TEST(duplicates(first, second) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
