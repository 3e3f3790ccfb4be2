#include "instance/redis/batch.hpp"

namespace colock::instance::redis {
namespace {

boost::redis::request::config request_settings() {
    boost::redis::request::config settings;
    settings.cancel_on_connection_lost = true;
    settings.cancel_if_not_connected = true;
    settings.cancel_if_unresponded = true;  // never replayed: see design, 3
    return settings;
}

}  // namespace

batch::batch() : request_(request_settings()) {}

void batch::clear() {
    request_.clear();
    commands_.clear();
    answered_ = 0;
}

}  // namespace colock::instance::redis
