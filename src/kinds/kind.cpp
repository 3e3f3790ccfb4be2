// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/kind.hpp"

#include <string>
#include <string_view>

namespace colock::kinds {

using core::key_state;

std::string lock_kind::why(const core::vote& denial, std::string_view detail) const {
    switch (denial.key) {
        case key_state::absent:
            return "denied, no such key";
        case key_state::unconnected:
            return "denied, no such key, because it was not connected at the acquire";
        case key_state::labelled:
            return "denied, held by " + std::string(detail);
        case key_state::other_kind:
        case key_state::other_limit:
            return "denied, the name belongs to " + std::string(detail);
        case key_state::announced:
            return "denied, another waiter has announced itself";
        case key_state::completed:
            return "denied, there is a result";
        case key_state::foreign:
        case key_state::partial:
            return detail.empty()
                       ? "denied, held by another holder"
                       : "denied, the key holds " + std::string(detail) + ", which is not a lock";
        case key_state::unknown:
            break;
    }
    return "denied, the key is missing or has another holder";
}

}  // namespace colock::kinds
