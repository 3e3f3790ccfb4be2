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

}  // namespace colock::benchmark

#endif
