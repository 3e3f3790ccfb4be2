// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

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
    voters_->leave(index_, to_);
}

admission standalone::admit(const node& from, const server_facts& facts) {
    return {voters_->join(index_, facts.run_id, from.where())};
}

}  // namespace colock::instance::redis
