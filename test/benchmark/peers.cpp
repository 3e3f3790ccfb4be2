// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/peers.hpp"

#include "support/child_process.hpp"

namespace colock::benchmark {
namespace {

nlohmann::json ask(const peer& who, const orders& work, nlohmann::json more) {
    more["instances"] = work.instances;
    more["tasks"] = work.concurrency;
    more["warm_up_ms"] = work.warm_up.count();
    more["duration_ms"] = work.duration.count();
    more["settings"] = who.fastest ? "fastest" : "default";
    std::vector<std::string> command = who.command;
    command.push_back(more.dump());
    test::child_process process(who.name, command);
    constexpr std::chrono::seconds patience{60};
    return nlohmann::json::parse(process.wait_for_line(work.warm_up + work.duration + patience));
}

}  // namespace

nlohmann::json run_peer(const peer& who, const orders& work) {
    return ask(who, work, {{"workload", "uncontended"}});
}

nlohmann::json run_peer_on_hot_key(const peer& who, const orders& work,
                                   std::chrono::milliseconds hold) {
    return ask(who, work, {{"workload", "hold"}, {"hold_ms", hold.count()}});
}

}  // namespace colock::benchmark
