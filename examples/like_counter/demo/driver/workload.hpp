// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_WORKLOAD_HPP
#define LIKE_COUNTER_DRIVER_WORKLOAD_HPP

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

/// Numbers from 0 to n-1, of which the k-th is drawn with a probability proportional to
/// 1/(k+1)^exponent.
class zipf_distribution {
public:
    zipf_distribution(std::size_t n, double exponent);
    std::size_t operator()(std::mt19937_64& random);

private:
    std::vector<double> cumulative_;
};

/// Decides what is asked for, and names it.
class workload {
public:
    explicit workload(const workload_options& options);

    /// The next request, of whichever connection. Some repeat the one before, as users do who click
    /// twice: that is the same wish, at the same time, on another connection.
    operation next();

    [[nodiscard]] const workload_options& options() const noexcept { return options_; }
    [[nodiscard]] std::size_t author_of(std::size_t entity) const;
    [[nodiscard]] std::string author_name(std::size_t author) const;
    [[nodiscard]] std::string entity_name(std::size_t entity) const;
    [[nodiscard]] std::string user_name(std::size_t user) const;

private:
    bool chance(double share);

    workload_options options_;
    std::mt19937_64 random_;
    zipf_distribution entities_;
    zipf_distribution users_;
    operation last_;
};

}  // namespace like_counter::driver

#endif
