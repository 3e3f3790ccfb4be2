// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/plain_client.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <memory>
#include <utility>

namespace colock::benchmark {

plain_client::plain_client(const orders& work)
    : work_(work), measurement_(context_, work), tasks_(work.concurrency) {}

measured plain_client::run() {
    context_.run();
    return measurement_.result();
}

void plain_client::start() {
    work_.when_connected();
    measurement_.start();
    running_ = tasks_.size();
    const auto now = measurement::clock::now();
    for (std::size_t i = 0; i != tasks_.size(); ++i) {
        take(static_cast<std::uint32_t>(i), now);
    }
}

template <typename Function>
void plain_client::go_on(Function function) {
    if (work_.pause.count() == 0) {
        function();
        return;
    }
    auto timer = std::make_unique<boost::asio::steady_timer>(context_, work_.pause);
    auto& waiting = *timer;
    waiting.async_wait([timer = std::move(timer),
                        function = std::move(function)](boost::system::error_code) { function(); });
}

void plain_client::take(std::uint32_t number, measurement::clock::time_point now) {
    task& each = tasks_[number];
    each.started = now;
    each.releasing = false;
    each.votes = 0;
    token t;
    draw(t);
    send_take({number, ++each.round}, t);
}

void plain_client::release(std::uint32_t number) {
    task& each = tasks_[number];
    each.votes = 0;
    send_release({number, ++each.round});
}

void plain_client::granted(ballot counted) {
    task& each = tasks_[counted.task];
    const std::size_t quorum = work_.instances.size() / 2 + 1;
    if (each.round != counted.round || ++each.votes != quorum) {
        return;
    }
    if (each.releasing) {
        on_released(counted.task);
        return;
    }
    each.releasing = true;
    if (work_.pause.count() != 0) {
        measurement_.cycle_since(each.started);
    }
    go_on([this, number = counted.task] { release(number); });
}

void plain_client::on_released(std::uint32_t number) {
    auto now = measurement::clock::now();
    if (work_.pause.count() == 0) {
        now = measurement_.cycle_since(tasks_[number].started);
    }
    if (measurement_.over()) {
        all_done_ = --running_ == 0;
    } else if (work_.pause.count() == 0) {
        take(number, now);
    } else {
        go_on([this, number] { take(number, measurement::clock::now()); });
    }
}

void plain_client::draw(token& result) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i != result.size(); ++i, bits >>= 4U) {
        if (i % 16 == 0) {
            bits = random_();
        }
        result[i] = digits[bits & 15U];
    }
}

}  // namespace colock::benchmark
