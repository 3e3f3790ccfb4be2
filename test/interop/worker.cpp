// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "interop/worker.hpp"

#include <sstream>
#include <stdexcept>
#include <utility>

namespace colock::interop {

worker::worker(std::string kind, std::vector<std::string> command)
    : process_(std::move(kind), std::move(command)) {
    if (const auto first = answer(); first.word != "ready") {
        throw std::runtime_error(process_.name() + ": " + first.word + " instead of ready");
    }
}

reply worker::answer(std::chrono::milliseconds timeout) {
    const auto line = process_.wait_for_line(timeout);
    std::istringstream words(line);
    reply result;
    std::chrono::nanoseconds::rep began = 0;
    std::chrono::nanoseconds::rep ended = 0;
    if (!(words >> result.word >> began >> ended)) {
        throw std::runtime_error(kind() + ": " + line);
    }
    result.began = std::chrono::nanoseconds(began);
    result.ended = std::chrono::nanoseconds(ended);
    return result;
}

}  // namespace colock::interop
