// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_WORKLOADS_HPP
#define COLOCK_BENCHMARK_WORKLOADS_HPP

#include "benchmark/campaign.hpp"

#include <string>
#include <vector>

namespace colock::benchmark {

/// Something that can be measured.
struct workload_entry {
    std::string name;
    bool in_all = true;  ///< Whether it runs if no workload is named.
    void (*run)(campaign& all) = nullptr;
};

const std::vector<workload_entry>& workloads();

/// Runs the workload `hot_key_hold`. Tasks of one process compete for one lock and hold it for a while, or
/// several processes with one task each. Measures the gap between a release and the next grant, and how long
/// each task waits.
void run_hot_key_hold(campaign& all);

/// Runs the workload `watchdog`: one client holds many leases and only renews them.
void run_watchdog(campaign& all);

/// Runs more tasks than the servers can serve. The client also holds leases that it must not lose.
void run_overload(campaign& all);

/// Stops all servers for some seconds while many tasks want locks. The client also holds leases that it must
/// not lose.
void run_outage(campaign& all);

/// Runs the workload `cluster`: the workload `uncontended` on a Redis Cluster of one master and of three. The
/// masters run at full speed, or each is stopped for most of the time. In the second case the masters are the
/// bottleneck, not the client.
void run_cluster(campaign& all);

/// Compares a shared mutex with a mutex. In the first part each task has a lock of its own. In the second,
/// all readers of one client share one lock. In the third, readers and writers of 16 processes use one lock.
void run_shared(campaign& all);

/// Compares a semaphore with a mutex. In the first part each task has a semaphore of its own, free or half
/// full. In the second part waiters of many clients wait for one semaphore of 1,024 permits.
void run_semaphore(campaign& all);

/// Compares a reentrant mutex with a mutex, each task with a lock of its own. Also measures how often per
/// second an owner can enter again.
void run_reentrant(campaign& all);

/// Compares a mutex with a binding order with one without, on one server. The tasks have separate names, or
/// all share one name.
void run_fifo(campaign& all);

/// Runs the workload `multi`: compares a lock with several names with a mutex. Each task has names of its
/// own.
void run_multi(campaign& all);

/// Compares writes of a versioned value with a mutex, on one server. The tasks have separate names, or all
/// share one name.
void run_versioned(campaign& all);

/// Compares calls of `once` with a mutex. Each task has a name of its own. The result exists, or each call
/// makes it.
void run_once(campaign& all);

}  // namespace colock::benchmark

#endif
