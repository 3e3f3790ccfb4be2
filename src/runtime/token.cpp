#include "runtime/token.hpp"

#include <algorithm>
#include <cstddef>

namespace colock::runtime {
namespace {

/// Two hexadecimal digits for every byte.
constexpr auto digits_of = [] {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<std::array<char, 2>, 256> result{};
    for (std::size_t byte = 0; byte != result.size(); ++byte) {
        result[byte] = {digits[byte >> 4U], digits[byte & 15U]};
    }
    return result;
}();

}  // namespace

token_source::token_source() {
    std::random_device entropy;
    std::array<std::random_device::result_type, 16> words{};
    std::generate(words.begin(), words.end(), [&entropy] { return entropy(); });
    std::seed_seq seeds(words.begin(), words.end());
    generator_.seed(seeds);
}

token token_source::next_token() {
    token result;
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte != result.digits_.size() / 2; ++byte, bits >>= 8U) {
        if (byte % sizeof(bits) == 0) {
            bits = generator_();
        }
        std::copy_n(digits_of[bits & 0xffU].begin(), 2, &result.digits_[2 * byte]);
    }
    return result;
}

}  // namespace colock::runtime
