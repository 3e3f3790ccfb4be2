#include "runtime/token.hpp"

#include <algorithm>
#include <cstddef>

namespace colock::runtime {

token_source::token_source() {
    std::random_device entropy;
    std::array<std::random_device::result_type, 16> words{};
    std::generate(words.begin(), words.end(), [&entropy] { return entropy(); });
    std::seed_seq seeds(words.begin(), words.end());
    generator_.seed(seeds);
}

token token_source::next_token() {
    static constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::size_t digits_per_draw = 16;
    token result;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i != result.digits_.size(); ++i, bits >>= 4U) {
        if (i % digits_per_draw == 0) {
            bits = generator_();
        }
        result.digits_[i] = digits[bits & 15U];
    }
    return result;
}

}  // namespace colock::runtime
