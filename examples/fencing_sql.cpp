// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Writes to an SQLite table that refuses stale writers. The table stores the largest fence that it has seen.
// fencing_sql memory://a
// fencing_sql redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <stdexcept>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void check(sqlite3* database, bool success) {
    if (!success)
        throw std::runtime_error(sqlite3_errmsg(database));
}

// One statement compares the fence, stores it and writes. Returns false if a later holder has written before, or if
// there is no such row.
bool write(sqlite3* database, int amount, std::uint64_t fence) {
    const char* sql = "UPDATE invoice SET amount = ?1, fence = ?2 WHERE id = 42 AND fence <= ?2";
    sqlite3_stmt* statement = nullptr;
    check(database, sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK);
    sqlite3_bind_int(statement, 1, amount);
    sqlite3_bind_int64(statement, 2, static_cast<std::int64_t>(fence));  // always below 2^53
    const int result = sqlite3_step(statement);
    sqlite3_finalize(statement);
    check(database, result == SQLITE_DONE);
    return sqlite3_changes(database) == 1;
}

asio::awaitable<void> work(colock::client& locks, sqlite3* database) {
    colock::mutex mutex{locks, "invoice:42", {.ttl = 1s, .renew = 0ms, .fencing = true}};

    // The first holder loses its lease, as if its machine had stood still. It keeps its fence.
    colock::lease first = co_await mutex.acquire();
    co_await first.wait_lost();

    // The next holder gets a larger fence.
    colock::lease second = co_await mutex.acquire();
    for (const colock::lease* holder : {&second, &first})
        std::cout << (write(database, 100, holder->fence()) ? "written\n" : "refused\n");
    co_await second.release();
    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    sqlite3* database = nullptr;
    check(database, sqlite3_open(":memory:", &database) == SQLITE_OK);
    const char* table = "CREATE TABLE invoice (id INTEGER, amount INTEGER, fence INTEGER NOT NULL);"
                        "INSERT INTO invoice VALUES (42, 0, 0)";
    check(database, sqlite3_exec(database, table, nullptr, nullptr, nullptr) == SQLITE_OK);
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(locks, database), rethrow);
    context.run();
    sqlite3_close(database);
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
