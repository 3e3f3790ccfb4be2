// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Passes any bytes to the RESP reader. run.sh builds it with libFuzzer. test/fuzz/CMakeLists.txt passes the
// corpus to it.

#include "resp/reader.hpp"
#include "resp/value.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace {

namespace resp = colock::resp;
using status = resp::reader::status;

constexpr std::size_t limit = 4096;

void expect(bool holds) {
    if (!holds) {
        std::abort();
    }
}

struct finding {
    status result = status::incomplete;
    std::size_t where = 0;
    friend bool operator==(const finding& a, const finding& b) = default;
};

/// Checks that each value lies within the reply, and that there are as many as announced.
void walk(std::string_view reply, std::size_t children,
          resp::cursor& values) {  // NOLINT(misc-no-recursion)
    for (; children != 0; --children) {
        const resp::value v = values.next();
        expect(v.text.empty() || (v.text.data() >= reply.data() &&
                                  v.text.data() + v.text.size() <= reply.data() + reply.size()));
        expect(v.children == 0 || v.text.empty());
        walk(reply, v.children, values);
    }
}

/// Returns the findings in all replies, which are read in pieces of at most `step` bytes.
std::vector<finding> read_all(std::string_view bytes, std::size_t step) {
    std::vector<finding> result;
    resp::reader reader(limit);
    while (true) {
        finding next;
        for (std::size_t size = std::min(step, bytes.size());;
             size = std::min(size + step, bytes.size())) {
            // Each piece has exactly this size and a new address, so that AddressSanitizer detects reads
            // beyond it.
            const auto piece = std::make_unique<char[]>(size);  // NOLINT(*-c-arrays)
            bytes.copy(piece.get(), size);
            next.result = reader.read({piece.get(), size});
            next.where = reader.position();
            expect(next.where <= size);
            if (next.result == status::complete) {
                expect(next.where != 0 && next.where <= limit);
                resp::cursor values({piece.get(), next.where});
                walk({piece.get(), next.where}, 1, values);
            }
            if (next.result != status::incomplete || size == bytes.size()) {
                break;
            }
        }
        result.push_back(next);
        if (next.result != status::complete) {
            return result;
        }
        bytes.remove_prefix(next.where);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data),
                                 size);  // NOLINT(*-reinterpret-cast)
    const std::vector<finding> whole = read_all(bytes, std::max<std::size_t>(size, 1));
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{7}}) {
        expect(read_all(bytes, step) == whole);
    }
    return 0;
}
