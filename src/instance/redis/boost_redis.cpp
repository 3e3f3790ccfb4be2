// The implementation of Boost.Redis, and nothing else. It is a member of its own in libcolock.a: in a program that
// compiles <boost/redis/src.hpp> too, every symbol is already defined, so the linker never takes this member.
#include <boost/redis/src.hpp>
