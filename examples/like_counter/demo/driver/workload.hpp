// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_WORKLOAD_HPP
#define LIKE_COUNTER_DRIVER_WORKLOAD_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace like_counter::driver {

struct workload_options {
    std::size_t users = 200;
    std::size_t entities = 1000;
    std::size_t authors = 50;
    double exponent = 0.8;      ///< of the Zipf distributions of entities and of users
    double unlike_share = 0.3;  ///< of the wishes
    double read_share = 0.05;   ///< of all requests
    double repeat_share = 0.1;  ///< of all requests: what another connection has just begun
    std::uint64_t seed = 1;
    std::string run = "run";  ///< in the name of every entity, so that each run has its own
};

enum class verb { like, unlike, read };

/// What one request is to do.
struct operation {
    verb what = verb::read;
    std::size_t entity = 0;
    std::size_t user = 0;
};

/// Numbers from 0 to n-1. The probability of k is proportional to 1/(k+1)^exponent.
class zipf_distribution {
public:
    zipf_distribution(std::size_t n, double exponent) {
        double sum = 0;
        for (std::size_t k = 0; k != n; ++k) {
            sum += std::pow(static_cast<double>(k + 1), -exponent);
            cumulative_.push_back(sum);
        }
    }

    std::size_t operator()(std::mt19937_64& random) {
        std::uniform_real_distribution<double> uniform(0, cumulative_.back());
        const auto found = std::ranges::upper_bound(cumulative_, uniform(random));
        const auto position = static_cast<std::size_t>(found - cumulative_.begin());
        return std::min(position, cumulative_.size() - 1);
    }

private:
    std::vector<double> cumulative_;
};

/// Selects the requests, and names what they ask for.
class workload {
public:
    explicit workload(const workload_options& options)
        : options_(options),
          random_(options.seed),
          entities_(options.entities, options.exponent),
          users_(options.users, options.exponent) {}

    /// Returns the next request, which any connection may send. Some repeat the request before, as users do who
    /// click twice. Then two connections have the same wish at the same time.
    operation next() {
        if (!chance(options_.repeat_share)) {
            last_.entity = entities_(random_);
            last_.user = users_(random_);
            last_.what = chance(options_.read_share)     ? verb::read
                         : chance(options_.unlike_share) ? verb::unlike
                                                         : verb::like;
        }
        return last_;
    }

    [[nodiscard]] const workload_options& options() const noexcept { return options_; }
    [[nodiscard]] std::size_t author_of(std::size_t entity) const {
        return entity % options_.authors;
    }
    [[nodiscard]] std::string author_name(std::size_t author) const {
        return options_.run + "-author" + std::to_string(author);
    }
    [[nodiscard]] std::string entity_name(std::size_t entity) const {
        return author_name(author_of(entity)) + ".post" + std::to_string(entity);
    }
    [[nodiscard]] static std::string user_name(std::size_t user) {
        return "user" + std::to_string(user);
    }

private:
    bool chance(double share) {
        return std::uniform_real_distribution<double>(0, 1)(random_) < share;
    }

    workload_options options_;
    std::mt19937_64 random_;
    zipf_distribution entities_;
    zipf_distribution users_;
    operation last_;
};

}  // namespace like_counter::driver

#endif
