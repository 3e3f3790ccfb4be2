// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/cycles.hpp"
#include "benchmark/plain_clients.hpp"
#include "benchmark/workloads.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

using contestants = std::vector<contestant>;

/// Returns a client whose tasks take locks with so many names.
contestant contestant_with_names(std::string name, orders work, std::size_t names) {
    work.names = names;
    return contestant_for(std::move(name), std::move(work), lock_kind::names);
}

}  // namespace

/// Runs on one server, because a mutex with a binding order supports only one.
void run_fifo(campaign& all) {
    const comparison apart{
        table_of_cycles(
            "fifo_uncontended",
            "each task takes and releases a mutex of its own, with or without a binding "
            "order of its waiters. Raw is a hand-written loop that sends the same command "
            "for a mutex, and raw_order the shortest script for the other."),
        {1}};
    compare_cycles(all, apart, [](const orders& work) {
        return contestants{contestant_for("mutex", work, lock_kind::mutex),
                           contestant_for("fifo", work, lock_kind::ordered),
                           contestant_for("raw", work, lock_kind::mutex, run_raw),
                           contestant_for("raw_order", work, lock_kind::ordered, run_raw)};
    });
    const comparison together{
        table_of_cycles("fifo_hot_key",
                        "all tasks of one client want one mutex. Without a binding order it is "
                        "handed off 64 times, or never."),
        {1},
        true};
    compare_cycles(all, together, [](const orders& work) {
        orders without_handoff = work;
        without_handoff.handoff_limit = 0;
        return contestants{contestant_for("mutex", work, lock_kind::mutex),
                           contestant_for("fifo", work, lock_kind::ordered),
                           contestant_for("no hand-off", without_handoff, lock_kind::mutex)};
    });
}

void run_multi(campaign& all) {
    const comparison what{
        table_of_cycles("multi_uncontended",
                        "each task takes and releases a lock of its own: a mutex, or a "
                        "multi_mutex of 2, 4 or 16 names."),
        all.options().instances};
    compare_cycles(all, what, [](const orders& work) {
        return contestants{contestant_for("mutex", work, lock_kind::mutex),
                           contestant_with_names("2 names", work, 2),
                           contestant_with_names("4 names", work, 4),
                           contestant_with_names("16 names", work, 16)};
    });
}

/// Runs on one server, because a versioned value supports only one.
void run_versioned(campaign& all) {
    compare_kinds(all,
                  {table_of_cycles("versioned_uncontended",
                                   "each task has a name of its own. It takes and releases a "
                                   "mutex, writes a value whose version it knows, or reads and "
                                   "writes it."),
                   {1}},
                  {{"mutex", lock_kind::mutex},
                   {"compare_exchange", lock_kind::exchange},
                   {"update", lock_kind::update}});
    compare_kinds(all,
                  {table_of_cycles("versioned_hot_key",
                                   "all tasks of one client want the same name: a mutex, or a "
                                   "value that they read and write."),
                   {1},
                   true},
                  {{"mutex", lock_kind::mutex}, {"update", lock_kind::update}});
}

void run_once(campaign& all) {
    compare_kinds(all,
                  {table_of_cycles("once_uncontended",
                                   "each task has a name of its own. It takes and releases a "
                                   "mutex, or calls once and finds a result, or calls once with a "
                                   "new name each time."),
                   all.options().instances},
                  {{"mutex", lock_kind::mutex},
                   {"once, found", lock_kind::found},
                   {"once, run", lock_kind::run_once}});
}

}  // namespace colock::benchmark
