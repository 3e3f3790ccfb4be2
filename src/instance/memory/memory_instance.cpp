// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/memory/memory_instance.hpp"

#include "kinds/kind.hpp"
#include "kinds/table.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace colock::instance::memory {
namespace {

/// A store that several threads share.
struct shared_store {
    std::mutex mutex;
    kinds::table keys;
};

/// Returns the store with that name in this process.
std::shared_ptr<shared_store> find_store(const std::string& name) {
    static std::mutex mutex;
    // Never destroyed, because the destructor of a static object may still create a client.
    static auto& stores = *new std::map<std::string, std::weak_ptr<shared_store>>;
    const std::lock_guard lock(mutex);
    std::erase_if(stores, [](const auto& item) { return item.second.expired(); });
    std::shared_ptr<shared_store> found = stores[name].lock();
    if (!found) {
        stores[name] = found = std::make_shared<shared_store>();
    }
    return found;
}

kinds::wall_time wall_clock() {
    return std::chrono::duration_cast<kinds::wall_time>(
        std::chrono::system_clock::now().time_since_epoch());
}

class memory_instance final : public instance {
public:
    memory_instance(std::size_t index, const std::string& name, std::size_t max_in_flight,
                    instance_observer& observer)
        : index_(index),
          address_("memory://" + name),
          max_in_flight_(max_in_flight),
          observer_(observer),
          store_(find_store(name)) {}

    void start() override {}

    void stop() override {
        if (stopped_.exchange(true)) {
            return;
        }
        observer_.on_state_change(index_);
    }

    void send(const std::shared_ptr<const batch>& commands, core::time_point now) override {
        std::size_t executed = 0;
        for (const submission& one : commands->submissions()) {
            if (one.is_for(index_)) {
                one.receiver->on_vote(index_, one.tag, execute(one, now, executed), now);
            }
        }
    }

    [[nodiscard]] bool ready() const noexcept override { return !stopped_; }
    [[nodiscard]] bool starting() const noexcept override { return false; }
    [[nodiscard]] std::size_t room() const noexcept override {
        return stopped_ ? unlimited : max_in_flight_;
    }

    [[nodiscard]] status snapshot() const override {
        status result;
        result.state = stopped_ ? state::closed : state::ready;
        result.address = address_;
        return result;
    }

private:
    /// `executed` counts the executed commands of one batch. On a server they would be in flight.
    core::vote execute(const submission& one, core::time_point now, std::size_t& executed) {
        if (!one.receiver->wanted(index_, one.tag)) {
            return core::vote::failed(core::failure::withdrawn);
        }
        if (stopped_) {
            return core::vote::failed(core::failure::down);
        }
        if (executed >= max_in_flight_) {
            return core::vote::failed(core::failure::overloaded);
        }
        if (now > one.command.deadline) {
            return core::vote::failed(core::failure::too_late);
        }
        ++executed;
        const std::lock_guard lock(store_->mutex);
        const bool counts =
            one.command.kind->traits().value_per_holder || one.command.step == core::step::write;
        try {
            return store_->keys.execute(one.command, now,
                                        counts ? wall_clock() : kinds::wall_time());
        } catch (const std::bad_alloc&) {  // It may have been executed.
            return core::vote::failed(core::failure::connection_lost);
        }
    }

    std::size_t index_;
    std::string address_;
    std::size_t max_in_flight_;
    instance_observer& observer_;
    std::shared_ptr<shared_store> store_;
    std::atomic<bool> stopped_{false};
};

}  // namespace

std::unique_ptr<instance> make_memory_instance(std::size_t index, const std::string& name,
                                               std::size_t max_in_flight,
                                               instance_observer& observer) {
    return std::make_unique<memory_instance>(index, name, max_in_flight, observer);
}

}  // namespace colock::instance::memory
