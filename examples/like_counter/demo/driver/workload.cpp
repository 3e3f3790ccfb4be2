// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "workload.hpp"

#include <algorithm>
#include <cmath>

namespace like_counter::driver {

zipf_distribution::zipf_distribution(std::size_t n, double exponent) {
    double sum = 0;
    for (std::size_t k = 0; k != n; ++k) {
        sum += std::pow(static_cast<double>(k + 1), -exponent);
        cumulative_.push_back(sum);
    }
}

std::size_t zipf_distribution::operator()(std::mt19937_64& random) {
    std::uniform_real_distribution<double> uniform(0, cumulative_.back());
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), uniform(random));
    const auto position = static_cast<std::size_t>(found - cumulative_.begin());
    return std::min(position, cumulative_.size() - 1);
}

workload::workload(const workload_options& options)
    : options_(options),
      random_(options.seed),
      entities_(options.entities, options.exponent),
      users_(options.users, options.exponent) {}

operation workload::next() {
    if (chance(options_.repeat_share)) {
        return last_;
    }
    last_.entity = entities_(random_);
    last_.user = users_(random_);
    last_.what = chance(options_.read_share)     ? verb::read
                 : chance(options_.unlike_share) ? verb::unlike
                                                 : verb::like;
    return last_;
}

std::size_t workload::author_of(std::size_t entity) const {
    return entity % options_.authors;
}

std::string workload::author_name(std::size_t author) const {
    return options_.run + "-author" + std::to_string(author);
}

std::string workload::entity_name(std::size_t entity) const {
    return author_name(author_of(entity)) + ".post" + std::to_string(entity);
}

std::string workload::user_name(std::size_t user) const {
    return "user" + std::to_string(user);
}

bool workload::chance(double share) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < share;
}

}  // namespace like_counter::driver
