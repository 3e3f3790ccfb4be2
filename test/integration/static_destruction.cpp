// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The destructor of a static object creates a client and uses a lock after `main` has returned. By then, the
// objects of the thread and the library have been destroyed, or they are never destroyed. AddressSanitizer
// detects the use of a destroyed one.

#include <colock/colock.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace {

using namespace colock;

/// Returns whether a lock of each kind can be acquired and released.
bool lock_once() {
    boost::asio::io_context context;
    client locks(context, config::from_uris({"memory://a", "memory://b", "memory://c"}));
    lock_options options;
    options.ttl = std::chrono::seconds(9);  // Differs from the default.
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
const late_user destroyed_late;  // Constructed before the library's own objects.

}  // namespace

int main() {
    return lock_once() ? 0 : 1;
}
