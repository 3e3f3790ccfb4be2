#include "support/free_port.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/system/error_code.hpp>

#include <random>
#include <stdexcept>

namespace colock::test {

std::uint16_t free_port() {
    using boost::asio::ip::tcp;
    static std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<unsigned> ports(15000, 31999);
    boost::asio::io_context context;
    for (int tries = 0; tries < 1000; ++tries) {
        const auto port = static_cast<std::uint16_t>(ports(random));
        tcp::acceptor probe(context, tcp::v4());
        probe.set_option(boost::asio::socket_base::reuse_address(true));
        boost::system::error_code taken;
        probe.bind({boost::asio::ip::address_v4::loopback(), port}, taken);
        if (!taken) {
            return port;
        }
    }
    throw std::runtime_error("no free loopback port");
}

}  // namespace colock::test
