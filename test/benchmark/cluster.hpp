// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_CLUSTER_HPP
#define COLOCK_BENCHMARK_CLUSTER_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Workload `cluster`: as `uncontended`, on a Redis Cluster of one master and of three; as fast as they are, and each
/// held back to a part of its time, so that the masters are the limit and not the client.
void run_cluster(campaign& all);

}  // namespace colock::benchmark

#endif
