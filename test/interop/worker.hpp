// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INTEROP_WORKER_HPP
#define COLOCK_INTEROP_WORKER_HPP

#include "support/child_process.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace colock::interop {

/// What a worker answers: a word, and when it began and ended what it was asked, on the monotonic
/// clock that all processes of a machine share.
struct reply {
    std::string word;
    std::chrono::nanoseconds began{};
    std::chrono::nanoseconds ended{};
};

/// A process that takes locks as it is told, with one of the libraries. It is told by lines on its
/// standard input, and answers each with one line `WORD BEGAN_NS ENDED_NS`, `ready` first of all:
///
///     take NAME TTL_MS       one attempt: taken, or denied
///     wait NAME TTL_MS       as long as the library waits: taken, or denied
///     extend NAME TTL_MS     extended, or refused; refused too if it has nothing
///     release NAME           released, or refused; likewise
///     contend FILE SECONDS TTL_MS HOLD_MS MOST NAME...
///         takes, holds and releases 1 to MOST names at once, at random, again and again. A line `NAME ASKED_NS
///         ENTERED_NS LEFT_NS` in FILE for each name of each section. Then done
///
/// It renews nothing by itself outside of `contend`, and ends with its input. It is killed with the
/// object, and with the thread that started it.
class worker {
public:
    /// Starts it, and waits until it is ready.
    worker(std::string kind, std::vector<std::string> command);

    /// The library it uses.
    [[nodiscard]] const std::string& kind() const noexcept { return process_.name(); }

    void tell(const std::string& line) const { process_.tell(line); }

    /// The next answer. Throws `std::runtime_error` if it does not come, or tells of an error.
    reply answer(std::chrono::milliseconds timeout = std::chrono::seconds(20));

    reply ask(const std::string& line) {
        tell(line);
        return answer();
    }

    /// SIGSTOP: it has stopped when this returns.
    void pause() const { process_.pause(); }

    /// SIGCONT.
    void resume() const { process_.resume(); }

private:
    test::child_process process_;
};

}  // namespace colock::interop

#endif
