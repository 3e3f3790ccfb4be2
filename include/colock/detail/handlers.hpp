#ifndef COLOCK_DETAIL_HANDLERS_HPP
#define COLOCK_DETAIL_HANDLERS_HPP

// The type-erased handlers in which an operation crosses from a header into the library.

#include <colock/error.hpp>

#include <boost/asio/any_completion_handler.hpp>

#include <optional>

namespace colock {

class lease;
enum class release_result;

namespace detail {

template <typename... Results>
using handler = boost::asio::any_completion_handler<void(error, Results...)>;

struct lease_access;  // lets the library make leases

}  // namespace detail

namespace runtime {

class engine;
class lease_state;
struct lock_spec;

}  // namespace runtime
}  // namespace colock

#endif
