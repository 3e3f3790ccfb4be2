// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_CLUSTER_HPP
#define COLOCK_BENCHMARK_CLUSTER_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Runs the workload `cluster`: the workload `uncontended` on a Redis Cluster of one master and of three. The
/// masters run at full speed, or each is stopped for most of the time. In the second case the masters are the
/// bottleneck, not the client.
void run_cluster(campaign& all);

}  // namespace colock::benchmark

#endif
