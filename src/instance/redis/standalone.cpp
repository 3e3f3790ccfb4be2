#include "instance/redis/standalone.hpp"

namespace colock::instance::redis {

standalone::standalone(std::size_t index, const address& to, const redis_settings& settings,
                       std::uint64_t seed, const boost::asio::any_io_executor& executor,
                       instance_observer& observer)
    : index_(index),
      to_(to),
      observer_(observer),
      voters_(settings.connected),
      node_(std::make_shared<node>(index, to, settings, seed, executor,
                                   static_cast<node_observer&>(*this))) {}

standalone::~standalone() {
    node_->forget();
    voters_->leave(index_);
}

std::string standalone::admit(const server_facts& facts) {
    const std::string other = voters_->join(index_, facts.run_id, to_);
    return other.empty() ? std::string()
                         : "it is the same server as " + other + " (run_id " + facts.run_id + ")";
}

}  // namespace colock::instance::redis
