// The consumer's own copy of the implementation of Boost.Redis: it must not collide with colock's.
#include <boost/redis/src.hpp>
