// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_REQUEST_HPP
#define COLOCK_TEST_SIMULATION_REQUEST_HPP

#include "core/time.hpp"
#include "instance/batch.hpp"
#include "instance/redis/slot_groups.hpp"
#include "kinds/command.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

struct once_life;
struct record_life;
struct token_life;

/// Returns the names that a command uses. A lock with several names has more than one.
inline std::vector<std::string_view> names_of(const kinds::command& command) {
    std::vector<std::string_view> result{command.key};
    result.insert(result.end(), command.more_keys.begin(), command.more_keys.end());
    return result;
}

/// Returns the values of the command, or null if it has none. For a lock with a binding order, this member
/// holds the place instead.
inline const std::string* values_of(const core::command& command) {
    return command.place_ttl == 0 ? command.values : nullptr;
}

/// Returns whether the step concerns the result of a name that is run once.
inline bool is_of_result(core::step s) {
    return s == core::step::look || s == core::step::complete;
}

/// A command in flight. It may arrive after its sender has ended, so it owns its strings.
class request {
public:
    explicit request(const instance::submission& from)
        : receiver(from.receiver),
          tag(from.tag),
          command(from.command),
          words_(std::make_shared<const words>(from.command)) {
        command.key = words_->key;
        command.more_keys = words_->more_keys;
        command.token = words_->token;
        if (values_of(command) != nullptr) {
            command.values = &words_->values;
        }
    }

    [[nodiscard]] const std::string& key() const { return words_->key; }
    [[nodiscard]] const std::string& token() const { return words_->token; }

    instance::vote_receiver* receiver;
    instance::command_tag tag;
    kinds::command command;
    token_life* life = nullptr;             // For a command of a lease.
    std::shared_ptr<record_life> record{};  // For a read or a write.
    std::shared_ptr<once_life> once{};  // For a look at a result, or for a command that stores one.
    std::uint64_t order = 0;            // Among the client's commands to that instance.
    core::time_point sent = core::never;  // `never` if it was not sent.
    unsigned hops = 0;                    // Number of redirects.
    bool was_sent = false;                // Sent at least once, but possibly not executed.
    // While its slot moves:
    std::optional<std::size_t> asks{};  // The node to ask, which is about to take over the slot.
    bool is_divided = false;            // `command` is the part that a single node can execute.
    bool is_partly_done = false;
    std::vector<kinds::command> rest{};  // The parts that follow if it is granted.
    // For a lock with names in several slots of a cluster: the votes so far, and the names in `rest`.
    std::optional<instance::redis::group_votes> groups{};
    std::shared_ptr<std::vector<std::string_view>> names{};

private:
    struct words {
        explicit words(const kinds::command& from)
            : key(from.key),
              token(from.token),
              values(values_of(from) != nullptr ? *from.values : std::string()),
              more_names(from.more_keys.begin(), from.more_keys.end()),
              more_keys(more_names.begin(), more_names.end()) {}
        words(const words&) = delete;
        words& operator=(const words&) = delete;

        std::string key;
        std::string token;
        std::string values;
        std::vector<std::string> more_names;
        std::vector<std::string_view> more_keys;
    };
    std::shared_ptr<const words> words_;
};

}  // namespace colock::simulation

#endif
