// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The number and the addresses of the Sentinels behind the hosts of a URI. No I/O.

#include "instance/redis/known_sentinels.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace colock::instance::redis::test {
namespace {

using boost::unit_test::label;
using strings = std::vector<std::string>;

const strings one_host{"26379"};

/// Returns a text such as `a b | c`: two Sentinels, the first of which has two addresses. `-` means that it
/// has no address yet. Brackets mean that it has no vote.
std::string text_of(const known_sentinels& them) {
    std::string result;
    for (const known_sentinel& one : them.all()) {
        std::string addresses;
        for (const std::string& address : one.addresses) {
            addresses += (addresses.empty() ? "" : " ") + address;
        }
        addresses = addresses.empty() ? "-" : addresses;
        result +=
            (result.empty() ? "" : " | ") + (one.is_duplicate ? "(" + addresses + ")" : addresses);
    }
    return result;
}

BOOST_AUTO_TEST_SUITE(known_sentinels_test)

BOOST_AUTO_TEST_CASE(each_host_counts_as_a_sentinel_until_it_is_resolved, *label("fault-90")) {
    known_sentinels them({"1", "2", "3"});
    BOOST_TEST(text_of(them) == "- | - | -");
    them.resolved(1, {});
    BOOST_TEST(text_of(them) == "- | - | -");
    them.resolved(1, {"10.0.0.2"});
    BOOST_TEST(text_of(them) == "- | 10.0.0.2 | -");
    BOOST_TEST(them.all()[1].port == "2");
    BOOST_TEST(!them.is_several(1));
}

BOOST_AUTO_TEST_CASE(each_resolved_address_counts_as_a_sentinel, *label("fault-90")) {
    known_sentinels them(one_host);
    them.resolved(0, {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2"});
    BOOST_TEST(text_of(them) == "10.0.0.1 | 10.0.0.2 | 10.0.0.3");
    BOOST_TEST(them.is_several(0));
    known_sentinels of_v6(one_host);
    of_v6.resolved(0, {"fd00::1", "fd00::2"});
    BOOST_TEST(text_of(of_v6) == "fd00::1 | fd00::2");
}

/// "localhost" has addresses of both families, but a Sentinel often listens at only one of them.
BOOST_AUTO_TEST_CASE(addresses_of_two_families_count_as_one_sentinel, *label("fault-90")) {
    known_sentinels them(one_host);
    them.resolved(0, {"::1", "127.0.0.1"});
    BOOST_TEST(text_of(them) == "::1 127.0.0.1");
    BOOST_TEST(!them.is_several(0));
    them.resolved(0, {"fd00::1", "10.0.0.1", "fd00::2", "10.0.0.2"});
    BOOST_TEST(text_of(them) == "10.0.0.1 | 10.0.0.2");
    known_sentinels more_of_v6(one_host);
    more_of_v6.resolved(0, {"fd00::1", "10.0.0.1", "fd00::2"});
    BOOST_TEST(text_of(more_of_v6) == "fd00::1 | fd00::2");
}

/// If too few Sentinels counted, a minority could pass for a majority.
BOOST_AUTO_TEST_CASE(fewer_resolved_addresses_do_not_lower_the_count, *label("fault-90")) {
    known_sentinels them(one_host);
    them.resolved(0, {"10.0.0.1", "10.0.0.2", "10.0.0.3"});
    them.resolved(0, {"10.0.0.2"});
    BOOST_TEST(text_of(them) == "10.0.0.2 | 10.0.0.1 | 10.0.0.3");
    them.resolved(0, {});
    BOOST_TEST(text_of(them) == "10.0.0.2 | 10.0.0.1 | 10.0.0.3");
    // One Sentinel has replaced another. The client queries the addresses that resolve now.
    them.resolved(0, {"10.0.0.4", "10.0.0.2"});
    BOOST_TEST(text_of(them) == "10.0.0.4 | 10.0.0.2 | 10.0.0.1");
    them.resolved(0, {"10.0.0.7", "10.0.0.8", "10.0.0.9"});
    BOOST_TEST(text_of(them) == "10.0.0.7 | 10.0.0.8 | 10.0.0.9");
}

BOOST_AUTO_TEST_CASE(more_resolved_addresses_raise_the_count, *label("fault-90")) {
    known_sentinels them(one_host);
    them.resolved(0, {"10.0.0.1"});
    them.resolved(0, {"10.0.0.3", "10.0.0.1", "10.0.0.2"});
    BOOST_TEST(text_of(them) == "10.0.0.3 | 10.0.0.1 | 10.0.0.2");
}

/// A container in two networks has two addresses, for example.
BOOST_AUTO_TEST_CASE(two_addresses_of_one_sentinel_are_merged_by_its_id, *label("fault-90")) {
    known_sentinels them(one_host);
    const strings both{"10.0.0.1", "10.1.0.1"};
    them.resolved(0, both);
    them.identified(0, "10.0.0.1", "x");
    BOOST_TEST(text_of(them) == "10.0.0.1 | 10.1.0.1");
    them.identified(0, "10.1.0.1", "x");
    BOOST_TEST(text_of(them) == "10.0.0.1 10.1.0.1");
    them.resolved(0, both);
    BOOST_TEST(text_of(them) == "10.0.0.1 10.1.0.1");
    them.resolved(0, {"10.1.0.1"});
    BOOST_TEST(text_of(them) == "10.1.0.1");
    // Without IDs, the addresses cannot be merged.
    known_sentinels silent(one_host);
    silent.resolved(0, both);
    silent.identified(0, "10.0.0.1", "");
    silent.identified(0, "10.1.0.1", "");
    BOOST_TEST(text_of(silent) == "10.0.0.1 | 10.1.0.1");
}

/// The Sentinel has one vote. The majority is still that of the hosts in the URI.
BOOST_AUTO_TEST_CASE(one_sentinel_behind_two_hosts_has_one_vote, *label("fault-90")) {
    known_sentinels them({"1", "1", "1"});
    them.resolved(0, {"127.0.0.1"});
    them.resolved(1, {"::1", "127.0.0.1"});
    them.resolved(2, {"127.0.0.2"});
    BOOST_TEST(text_of(them) == "127.0.0.1 | (::1 127.0.0.1) | 127.0.0.2");
    them.identified(0, "127.0.0.1", "x");
    them.identified(2, "127.0.0.2", "x");
    BOOST_TEST(text_of(them) == "127.0.0.1 | (::1 127.0.0.1) | (127.0.0.2)");
    them.identified(2, "127.0.0.2", "y");  // Another Sentinel has taken the address.
    BOOST_TEST(text_of(them) == "127.0.0.1 | (::1 127.0.0.1) | 127.0.0.2");
    known_sentinels other_ports({"1", "2"});
    other_ports.resolved(0, {"127.0.0.1"});
    other_ports.resolved(1, {"127.0.0.1"});
    BOOST_TEST(text_of(other_ports) == "127.0.0.1 | 127.0.0.1");
}

BOOST_AUTO_TEST_CASE(sentinels_of_several_names_are_listed_and_deduplicated, *label("fault-90")) {
    known_sentinels them({"1", "1"});
    them.resolved(1, {"10.0.0.3", "10.0.0.4"});
    them.resolved(0, {"10.0.0.1", "10.0.0.2"});
    BOOST_TEST(text_of(them) == "10.0.0.1 | 10.0.0.2 | 10.0.0.3 | 10.0.0.4");
    them.resolved(0, {"10.0.0.4", "10.0.0.3"});
    BOOST_TEST(text_of(them) == "10.0.0.4 | 10.0.0.3 | (10.0.0.3) | (10.0.0.4)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis::test
