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

/// The names that a command is about: more than one for a lock with several names.
inline std::vector<std::string_view> names_of(const kinds::command& command) {
    std::vector<std::string_view> result{command.key};
    result.insert(result.end(), command.more_keys.begin(), command.more_keys.end());
    return result;
}

/// Null if it has none. A waiter of a lock whose order binds has a place there.
inline const std::string* values_of(const core::command& command) {
    return command.place_ttl == 0 ? command.values : nullptr;
}

/// Whether it is about the result of a name that is run once.
inline bool is_of_result(core::step s) {
    return s == core::step::look || s == core::step::complete;
}

/// A command on its way. It may arrive when its sender is no more, so its words are its own.
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
    token_life* life = nullptr;             // of a lease's command
    std::shared_ptr<record_life> record{};  // of a read or a write
    std::shared_ptr<once_life> once{};  // of a look at the result of a name, or of what stores one
    std::uint64_t order = 0;            // among what the client has sent to that instance
    core::time_point sent = core::never;  // never, if it was not
    unsigned hops = 0;                    // how often a node has sent it on
    bool was_sent = false;                // at least once, though perhaps it was not executed
    // While its slot moves:
    std::optional<std::size_t>
        asks{};  // the node that is about to take the slot over, if that is to be asked
    bool is_divided = false;  // `command` is what one node may do by itself, if that is possible
    bool is_partly_done = false;
    std::vector<kinds::command> rest{};  // and then, if it is granted
    // Of a lock whose names are in several slots of a cluster: the votes so far, and the names in `rest`.
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
