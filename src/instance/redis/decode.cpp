// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/decode.hpp"

#include "instance/redis/error_text.hpp"
#include "kinds/kind.hpp"
#include "kinds/replies.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

namespace colock::instance::redis {
namespace {

using core::vote;
using resp::value;

}  // namespace

core::vote decode(const kinds::command& command, const value& root) {
    if (is_error(root)) {
        const bool unclear = core::must_last(command) && !is_refused_before_execution(root);
        return vote::failed(unclear ? core::failure::unclear_error : core::failure::server_error,
                            std::make_shared<const std::string>(root.text));
    }
    return command.kind->decode(command, root);
}

bool is_refused_for_good(const value& root) noexcept {
    if (!is_error(root)) {
        return false;
    }
    const error_text error = read_error(root.text);
    return is_command_refused(error) || error.code == "CROSSSLOT";
}

bool is_refused_before_execution(const value& root) noexcept {
    // Redis and Valkey check these before they execute a command (processCommand in server.c) and before the
    // first write of a script. The last three are errors of colock's own scripts.
    constexpr std::string_view codes[] = {
        "NOAUTH",      "READONLY", "LOADING", "OOM",   "MISCONF",  "NOREPLICAS",
        "MASTERDOWN",  "BUSY",     "MOVED",   "ASK",   "TRYAGAIN", "CROSSSLOT",
        "CLUSTERDOWN", "NOSCRIPT", "DENIED",  "FENCE", "READERS",  "RECORD",  // Own scripts.
    };
    constexpr std::string_view texts[] = {
        "wrong number of arguments",     "syntax error",
        "invalid expire time",           "value is not an integer or out of range",
        "max number of clients reached", "unknown subcommand",
    };
    if (!is_error(root)) {
        return false;
    }
    const error_text error = read_error(root.text);
    return is_forbidden(error) || is_command_refused(error) ||
           std::ranges::find(codes, error.code) != std::end(codes) ||
           (error.code == "ERR" && std::ranges::any_of(texts, [&](std::string_view text) {
                return error.message.starts_with(text);
            }));
}

bool is_from_replica(const value& root) noexcept {
    if (!is_error(root)) {
        return false;
    }
    const std::string_view code = read_error(root.text).code;
    // mutant: replica_is_used_on
    return code == "READONLY" || code == "MASTERDOWN";
}

bool is_redirection(const value& root) noexcept {
    constexpr std::string_view codes[] = {"MOVED ", "ASK ", "TRYAGAIN ", "CLUSTERDOWN "};
    return is_error(root) && std::ranges::any_of(codes, [&](std::string_view code) {
               return root.text.starts_with(code);
           });
}

bool is_unknown_script(const value& root) noexcept {
    // mutant: lost_script_is_an_error
    return is_error(root) && read_error(root.text).code == "NOSCRIPT";
}

}  // namespace colock::instance::redis
