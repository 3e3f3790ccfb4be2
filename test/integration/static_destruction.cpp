// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The destructor of a static object makes a client and uses a lock, when `main` has returned: the thread's and the
// library's own objects are gone by then, or never go. AddressSanitizer sees it if one was used that is gone.

#include <colock/colock.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace {

using namespace colock;

/// Whether a lock of each kind can be had and let go of.
bool lock_once() {
    boost::asio::io_context context;
    client locks(context, config::from_uris({"memory://a", "memory://b", "memory://c"}));
    lock_options options;
    options.ttl = std::chrono::seconds(9);  // not what a lock has by itself
    mutex lock(locks, "x", options);
    const shared_mutex shared(locks, "y", options);
    int granted = 0;
    int released = 0;
    bool closed = false;
    const auto note = [&](const error& e, lease held) {
        granted += !e && held.valid() && e.details().empty() ? 1 : 0;
        held.release([&](const error& failure, release_result /*result*/) {
            if (!failure && ++released == 3) {
                locks.close([&](const error& last) { closed = !last; });
            }
        });
    };
    lock.acquire(note);
    shared.acquire(note);
    shared.acquire_shared(note);
    (void)mutex(std::move(lock)).get_executor();
    (void)lease().get_executor();
    context.run();
    return granted == 3 && closed;
}

struct late_user {
    ~late_user() {
        if (!lock_once()) {
            std::fputs("no lock could be had when main had returned\n", stderr);
            std::_Exit(1);
        }
    }
};
const late_user destroyed_late;  // constructed before all that the library makes when it is used

}  // namespace

int main() {
    return lock_once() ? 0 : 1;
}
