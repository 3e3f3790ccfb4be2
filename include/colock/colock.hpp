#ifndef COLOCK_COLOCK_HPP
#define COLOCK_COLOCK_HPP

// All of colock.

#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>
#include <colock/metrics.hpp>
#include <colock/mutex.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/with_lock.hpp>

#endif
