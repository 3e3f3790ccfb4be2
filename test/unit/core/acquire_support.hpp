#ifndef COLOCK_TEST_UNIT_CORE_ACQUIRE_SUPPORT_HPP
#define COLOCK_TEST_UNIT_CORE_ACQUIRE_SUPPORT_HPP

#include "core/acquire.hpp"

#include "unit/core/script.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace colock::core::test {

using acquire_script = script<acquire>;

/// Five instances that have 50 ms to vote; a ttl of a second, so that a grant asked for at 0 is
/// valid until 988; waits of 10 to 20 ms; goes on for ever.
inline acquire_settings five() {
    acquire_settings s;
    s.instances = 5;
    s.ttl = 1s;
    s.instance_timeout = 50ms;
    s.retry = {20ms, 20ms};
    s.unavailable_timeout = 1h;
    return s;
}

/// The same, but makes a single attempt.
inline acquire_settings once(std::size_t instances = 5) {
    acquire_settings s = five();
    s.instances = instances;
    s.deadline = time_point::min();
    return s;
}

inline constexpr std::uint64_t acquire_seed = 42;

/// The wait that a machine with that seed takes after attempt number `attempt`, from 1.
inline duration pause(std::size_t attempt, const acquire_settings& settings = five()) {
    std::uint64_t state = acquire_seed;
    std::uint64_t random = 0;
    for (std::size_t i = 0; i != attempt; ++i) {
        random = next_random(state);
    }
    return settings.retry.delay(attempt - 1, random);
}

inline acquire::event start() {
    return acquire::event::start();
}
inline acquire::event timer() {
    return acquire::event::timer();
}
inline acquire::event wake() {
    return acquire::event::wake();
}
inline acquire::event parked() {
    return acquire::event::parked();
}
inline acquire::event unparked() {
    return acquire::event::unparked();
}
inline acquire::event cancel() {
    return acquire::event::cancel();
}

inline acquire::event granted(std::size_t i) {
    return acquire::event::voted(i, vote::granted());
}
inline acquire::event denied(std::size_t i) {
    return acquire::event::voted(i, vote::denied(key_state::foreign));
}
inline acquire::event failed(std::size_t i) {
    return acquire::event::voted(i, vote::failed(failure::down));
}

inline acquire::event changed(std::size_t i) {
    return acquire::event::changed(i);
}

/// Instance `i` says that the key will live for another `rest`.
inline acquire::event rest(std::size_t i, milliseconds rest) {
    return acquire::event::remaining(i, vote::denied(key_state::foreign, rest));
}

}  // namespace colock::core::test

#endif
