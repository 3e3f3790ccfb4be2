// Boost.Redis itself. (colock brings it along too; the linker takes this one and leaves that one.)
#include <boost/redis/src.hpp>
