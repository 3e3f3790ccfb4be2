// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INTEROP_WORKER_HPP
#define COLOCK_INTEROP_WORKER_HPP

#include "support/child_process.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace colock::interop {

/// A worker's answer: a word, and the times at which the request began and ended. The times are from the
/// monotonic clock, which all processes of a machine share.
struct reply {
    std::string word;
    std::chrono::nanoseconds began{};
    std::chrono::nanoseconds ended{};
};

/// A process that takes locks with one of the libraries. It reads commands from its standard input, one per
/// line. It answers each with one line `WORD BEGAN_NS ENDED_NS`. Its first line has the word `ready`. The
/// commands are:
///
/// - `take NAME TTL_MS`: Makes one attempt. Answers `taken` or `denied`.
/// - `wait NAME TTL_MS`: Waits as long as the library waits. Answers `taken` or `denied`.
/// - `extend NAME TTL_MS`: Answers `extended`, or `refused`. Also `refused` if the worker does not hold the
///   lock.
/// - `release NAME`: Answers `released`, or `refused`. Also `refused` if the worker does not hold the lock.
/// - `contend FILE SECONDS TTL_MS HOLD_MS MOST NAME...`: Repeatedly takes, holds and releases 1 to MOST
///   random names together. Writes a line `NAME ASKED_NS ENTERED_NS LEFT_NS` to FILE for each name of each
///   critical section. Then answers `done`.
///
/// The worker renews nothing itself outside of `contend`, and exits when its input ends. It is killed when
/// the object is destroyed, and when the thread that started it ends.
class worker {
public:
    /// Starts the process and waits until it is ready.
    worker(std::string kind, std::vector<std::string> command);

    /// Returns the library that the worker uses.
    [[nodiscard]] const std::string& kind() const noexcept { return process_.name(); }

    void tell(const std::string& line) const { process_.tell(line); }

    /// Returns the next answer. Throws `std::runtime_error` if none comes in time or if it reports an error.
    reply answer(std::chrono::milliseconds timeout = std::chrono::seconds(20));

    reply ask(const std::string& line) {
        tell(line);
        return answer();
    }

    /// Sends SIGSTOP. The process has stopped when this returns.
    void pause() const { process_.pause(); }

    /// Sends SIGCONT.
    void resume() const { process_.resume(); }

private:
    test::child_process process_;
};

}  // namespace colock::interop

#endif
