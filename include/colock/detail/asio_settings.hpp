// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_DETAIL_ASIO_SETTINGS_HPP
#define COLOCK_DETAIL_ASIO_SETTINGS_HPP

// Some of Asio's settings change the layout or the behaviour of what a program and the library share. If they differ, the
// program crashes or hangs. So each setting is part of the name of a variable that the library defines for its own settings.
// A program with other settings does not link, and the linker's message names the variable.

#include <colock/detail/export.hpp>

#include <boost/asio/detail/config.hpp>
#include <boost/asio/detail/thread_info_base.hpp>
#include <boost/asio/version.hpp>

#if defined(BOOST_ASIO_HAS_EPOLL)
#define COLOCK_ASIO_EPOLL _epoll
#else
#define COLOCK_ASIO_EPOLL _no_epoll
#endif

#if defined(BOOST_ASIO_HAS_EVENTFD)
#define COLOCK_ASIO_EVENTFD _eventfd
#else
#define COLOCK_ASIO_EVENTFD _no_eventfd
#endif

#if defined(BOOST_ASIO_HAS_TIMERFD)
#define COLOCK_ASIO_TIMERFD _timerfd
#else
#define COLOCK_ASIO_TIMERFD _no_timerfd
#endif

#if defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT)
#define COLOCK_ASIO_IO_URING _io_uring_as_default
#elif defined(BOOST_ASIO_HAS_IO_URING)
#define COLOCK_ASIO_IO_URING _io_uring
#else
#define COLOCK_ASIO_IO_URING _no_io_uring
#endif

#if defined(BOOST_ASIO_HAS_THREADS)
#define COLOCK_ASIO_THREADS _threads
#else
#define COLOCK_ASIO_THREADS _no_threads
#endif

#if defined(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)
#define COLOCK_ASIO_TRACKING _custom_handler_tracking
#elif defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING)
#define COLOCK_ASIO_TRACKING _handler_tracking
#else
#define COLOCK_ASIO_TRACKING _no_handler_tracking
#endif

#if defined(BOOST_ASIO_ENABLE_BUFFER_DEBUGGING) || \
    (defined(_GLIBCXX_DEBUG) && !defined(BOOST_ASIO_DISABLE_BUFFER_DEBUGGING))
#define COLOCK_ASIO_BUFFERS _buffer_debugging
#else
#define COLOCK_ASIO_BUFFERS _no_buffer_debugging
#endif

#if defined(BOOST_ASIO_NO_TYPEID)
#define COLOCK_ASIO_TYPEID _no_typeid
#else
#define COLOCK_ASIO_TYPEID _typeid
#endif

#if defined(BOOST_ASIO_HAS_STD_ALIGNED_ALLOC)
#define COLOCK_ASIO_ALIGNED _aligned_alloc
#else
#define COLOCK_ASIO_ALIGNED _no_aligned_alloc
#endif

#if defined(BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
#define COLOCK_ASIO_BLOCKS _no_small_block_recycling
#else
#define COLOCK_ASIO_BLOCKS _small_block_recycling
#endif

#if defined(BOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING)
#define COLOCK_ASIO_FRAMES _no_awaitable_frame_recycling
#else
#define COLOCK_ASIO_FRAMES _awaitable_frame_recycling
#endif

#if defined(BOOST_ASIO_ENABLE_SEQUENTIAL_STRAND_ALLOCATION)
#define COLOCK_ASIO_STRANDS _sequential_strands_
#else
#define COLOCK_ASIO_STRANDS _strands_
#endif

#if defined(BOOST_ASIO_STRAND_IMPLEMENTATIONS)
#define COLOCK_ASIO_STRAND_COUNT BOOST_ASIO_STRAND_IMPLEMENTATIONS
#else
#define COLOCK_ASIO_STRAND_COUNT default
#endif

#define COLOCK_JOIN_4(a, b, c, d) a##b##c##d
#define COLOCK_JOIN_4_EXPANDED(a, b, c, d) COLOCK_JOIN_4(a, b, c, d)

#define COLOCK_ASIO_SETTINGS \
    COLOCK_JOIN_4_EXPANDED( \
        COLOCK_JOIN_4_EXPANDED( \
            compile_colock_with_the_BOOST_ASIO_settings_of_this_program_which_are_version_, \
            BOOST_ASIO_VERSION, COLOCK_ASIO_EPOLL, COLOCK_ASIO_EVENTFD), \
        COLOCK_JOIN_4_EXPANDED(COLOCK_ASIO_TIMERFD, COLOCK_ASIO_IO_URING, COLOCK_ASIO_THREADS, \
                               COLOCK_ASIO_TRACKING), \
        COLOCK_JOIN_4_EXPANDED(COLOCK_ASIO_BUFFERS, COLOCK_ASIO_TYPEID, COLOCK_ASIO_ALIGNED, \
                               COLOCK_ASIO_BLOCKS), \
        COLOCK_JOIN_4_EXPANDED( \
            COLOCK_ASIO_FRAMES, \
            COLOCK_JOIN_4_EXPANDED(_cache_, BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE, , ), \
            COLOCK_ASIO_STRANDS, COLOCK_ASIO_STRAND_COUNT))

namespace colock {
inline namespace v1 {
namespace detail {

COLOCK_EXPORT extern const char COLOCK_ASIO_SETTINGS;

/// Refers to it from each source file of a program, without any code. (Not `inline`: g++ would make it a unique symbol, and
/// a shared library that has one cannot be unloaded.)
[[gnu::used, gnu::retain]] static const char* const asio_settings = &COLOCK_ASIO_SETTINGS;

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
