#ifndef COLOCK_INSTANCE_REDIS_INFO_FIELD_HPP
#define COLOCK_INSTANCE_REDIS_INFO_FIELD_HPP

#include <algorithm>
#include <string_view>

namespace colock::instance::redis {

/// The value behind `name:` in the text of INFO, or of CLUSTER INFO; empty if it is not there.
inline std::string_view find_field(std::string_view info, std::string_view name) {
    while (!info.empty()) {
        const std::string_view line = info.substr(0, info.find('\n'));
        info.remove_prefix(std::min(info.size(), line.size() + 1));
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
            std::string_view value = line.substr(name.size() + 1);
            if (value.ends_with('\r')) {
                value.remove_suffix(1);
            }
            return value;
        }
    }
    return {};
}

}  // namespace colock::instance::redis

#endif
