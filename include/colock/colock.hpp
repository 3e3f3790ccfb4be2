// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_COLOCK_HPP
#define COLOCK_COLOCK_HPP

/// @file
/// Includes all headers of colock.

/// @mainpage
///
/// colock provides distributed locks for programs that use Boost.Asio, on Redis and Valkey servers.
/// These are its parts:
/// - `colock::with_lock` runs a coroutine under a lock. Start here. `colock::acquirable` says which classes
///   are locks.
/// - `colock::lead` runs a coroutine as the leader among several processes.
/// - `colock::client` connects to the servers. `colock::config` says which servers these are.
/// - `colock::mutex` is an exclusive lock. `colock::shared_mutex` has readers and writers.
///   `colock::semaphore` has a fixed number of permits. A `colock::multi_mutex` has several names.
///   `colock::striped` divides keys among a fixed number of locks. A `colock::reentrant_mutex` can be entered
///   again by its `colock::lock_owner`. `colock::lock_options` are the options of all of them.
/// - `colock::once` runs a coroutine once for a key, and keeps its result for a time.
/// - `colock::versioned` is a value that is changed by optimistic locking, without a lock.
/// - `colock::lease` is the ownership of a lock. `colock::adopt` goes on with one of another process.
/// - `colock::error` is the first argument of every handler. `colock::errc` lists the reasons.
/// - `colock::inspection` says who holds a name, and `colock::break_result` how a lock was broken. The operations
///   are `client::inspect` and `client::break_lock`.
/// - `colock::instance_info`, `colock::lease_info`, `colock::waiter_info`, `colock::counters` and
///   `colock::histograms` are for monitoring. `colock::prometheus_text` returns metrics for Prometheus. A
///   `colock::observer` receives the events of a client.
///
/// Every operation is asynchronous, so its name has no `async_`: there is no blocking form that it could be confused
/// with.
///
/// The interface is in the inline namespace `v1`. Programs write `colock::mutex`. A later version that is incompatible
/// gets another namespace, and then a program with parts of both does not link by accident.
///
/// The folder docs/ of the sources has a tutorial and a guide to each subject.

/// @namespace colock
/// Distributed locks for Boost.Asio: `client`, `mutex`, `shared_mutex`, `semaphore`, `multi_mutex`, `striped`,
/// `reentrant_mutex`, `once`, `versioned`, `lease` and `with_lock`.

#include <colock/activity.hpp>
#include <colock/adopt.hpp>
#include <colock/basic_lock.hpp>
#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/counters.hpp>
#include <colock/error.hpp>
#include <colock/histograms.hpp>
#include <colock/inspect.hpp>
#include <colock/instance_info.hpp>
#include <colock/lead.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>
#include <colock/lock_owner.hpp>
#include <colock/multi_mutex.hpp>
#include <colock/mutex.hpp>
#include <colock/observer.hpp>
#include <colock/once.hpp>
#include <colock/prometheus.hpp>
#include <colock/reentrant_mutex.hpp>
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/striped.hpp>
#include <colock/versioned.hpp>
#include <colock/with_lock.hpp>

#endif
