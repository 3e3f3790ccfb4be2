// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "page_server.hpp"

#include "http_client.hpp"
#include "json_response.hpp"
#include "page.hpp"  // generated
#include "together.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <random>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using std::chrono::milliseconds;

namespace like_counter::driver {
namespace {

constexpr int most_listeners = 16;
constexpr std::size_t most_people = 10'000;
constexpr auto log_time = std::chrono::minutes(2);
constexpr auto burst_patience = std::chrono::seconds(60);
constexpr auto dawdle_of_holder = milliseconds(2000);

std::string random_text() {
    std::random_device random;
    std::string text;
    for (int i = 0; i != 32; ++i) {
        text += "0123456789abcdef"[random() % 16];
    }
    return text;
}

http_response plain(http::status status, const std::string& message) {
    return json_response(status, {{"ok", false}, {"message", message}});
}

http_response page_response() {
    http_response response(http::status::ok, 11);
    response.set(http::field::content_type, "text/html; charset=utf-8");
    response.set(http::field::cache_control, "no-store");
    response.set(http::field::referrer_policy, "no-referrer");  // The address is a secret.
    response.set(http::field::content_security_policy,
                 "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                 "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                 "frame-ancestors 'none'");
    response.body() = page;
    // The page of a service alone is the same page without the faults.
    const std::string_view mode = R"("mode": "service")";
    const auto position = response.body().find(mode);
    response.body().replace(position, mode.size(), R"("mode": "stage")");
    return response;
}

const char* to_text(child_state state) {
    switch (state) {
        case child_state::running:
            return "running";
        case child_state::stopped:
            return "stopped";
        case child_state::ended:
            return "ended";
    }
    return "";
}

std::string text_in(const nlohmann::json& body, const char* field) {
    const auto found = body.find(field);
    if (found == body.end() || !found->is_string()) {
        throw action_refused(std::string(field) + ": expected a text");
    }
    return found->get<std::string>();
}

std::optional<std::string> action_in(const std::string& path) {
    const std::string_view beginning = "actions/";
    if (!path.starts_with(beginning)) {
        return std::nullopt;
    }
    return path.substr(beginning.size());
}

}  // namespace

page_server::page_server(asio::any_io_executor executor, stage& stage,
                         const asio::ip::tcp::endpoint& listen)
    : executor_(executor),
      stage_(stage),
      secret_(random_text()),
      prefix_("show" + random_text().substr(0, 4)),
      crowd_(executor, std::string()),
      server_(executor, listen, http_limits(),
              {[this](http_request request) { return answer(std::move(request)); }, plain,
               [this](const http_request& request) { return stream(request); }}) {
    begin_post();
    for (const stage::service& one : stage_.services()) {
        watches_.emplace_back(executor_, one.address);
    }
}

std::string page_server::address() const {
    return "http://127.0.0.1:" + std::to_string(server_.local_endpoint().port()) + "/" + secret_ +
           "/";
}

asio::awaitable<void> page_server::run() {
    std::vector<asio::awaitable<void>> all;
    for (watch& one : watches_) {
        all.push_back(one.run());
    }
    all.push_back(keep_reading());
    all.push_back(server_.run());
    co_await together(executor_, std::move(all));
}

asio::awaitable<void> page_server::stop() {
    stopped_ = true;
    for (watch& one : watches_) {
        one.stop();
    }
    co_await server_.stop(milliseconds(500));
}

// --- Requests --------------------------------------------------------------------------------------------

// Another page in the browser does not know the secret. If it learned it all the same, the browser would say
// where the request comes from.
bool page_server::is_same_origin(const http_request& request) const {
    const std::string port = ":" + std::to_string(server_.local_endpoint().port());
    const std::string_view host = request[http::field::host];
    const std::string_view origin = request[http::field::origin];
    if (host != "127.0.0.1" + port && host != "localhost" + port) {
        return false;
    }
    return origin.empty() || origin == "http://" + std::string(host);
}

// The path behind the secret.
std::optional<std::string> page_server::path_of(const http_request& request) const {
    const std::string beginning = "/" + secret_ + "/";
    const std::string_view target = request.target();
    if (!target.starts_with(beginning) || !is_same_origin(request)) {
        return std::nullopt;
    }
    return std::string(target.substr(beginning.size()));
}

asio::awaitable<http_response> page_server::answer(http_request request) {
    const auto path = path_of(request);
    if (!path) {
        co_return plain(http::status::not_found, "there is nothing here");
    }
    if (path->empty() && request.method() == http::verb::get) {
        co_return page_response();
    }
    if (*path == "events") {
        co_return plain(http::status::service_unavailable, "too many pages are open");
    }
    const auto action = action_in(*path);
    if (!action || request.method() != http::verb::post) {
        co_return plain(http::status::not_found, "there is nothing here");
    }
    nlohmann::json body = nlohmann::json::parse(request.body(), nullptr, false);
    if (!body.is_object()) {
        co_return plain(http::status::bad_request, "the body must be a JSON object");
    }
    // Always 200: a refused button is no fault of the page, and the browser would report it as one.
    nlohmann::json result = co_await act(*action, std::move(body));
    co_return json_response(http::status::ok, result);
}

std::optional<event_stream> page_server::stream(const http_request& request) {
    const auto path = path_of(request);
    if (!path || *path != "events" || request.method() != http::verb::get ||
        listeners_ >= most_listeners) {
        return std::nullopt;
    }
    ++listeners_;
    const std::shared_ptr<void> reader(nullptr, [this](void*) { --listeners_; });
    event_stream events;
    events.next = [this, reader]() -> asio::awaitable<std::string> {
        co_return snapshot().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    };
    return events;
}

// --- Actions ---------------------------------------------------------------------------------------------

asio::awaitable<nlohmann::json> page_server::act(std::string name, nlohmann::json body) {
    std::string message;
    bool is_ok = true;
    try {
        if (name == "like" || name == "unlike") {
            message = co_await like(std::move(body), name == "like");
        } else if (name == "burst") {
            message = co_await burst(std::move(body));
        } else if (name == "locking") {
            message = co_await set_locking(body.value("on", true));
        } else if (name == "freeze") {
            message = co_await freeze();
        } else if (name == "new_post") {
            message = begin_post();
        } else {
            message = co_await act_on_server(name, std::move(body));
        }
    } catch (const std::exception& error) {
        is_ok = false;
        message = error.what();
    }
    co_return nlohmann::json{{"ok", is_ok}, {"message", std::move(message)}};
}

namespace {

/// Keeps other actions out until it is destroyed.
class exclusive {
public:
    exclusive(std::string& with, std::string what) : with_(with) {
        if (!with_.empty()) {
            throw action_refused("Wait until this has ended: " + with_ + ".");
        }
        with_ = std::move(what);
    }
    ~exclusive() { with_.clear(); }
    exclusive(const exclusive&) = delete;
    exclusive& operator=(const exclusive&) = delete;

private:
    std::string& with_;
};

}  // namespace

asio::awaitable<std::string> page_server::like(nlohmann::json body, bool liked) {
    const std::string name = text_in(body, "service");
    const std::string user = text_in(body, "user");
    const auto found =
        std::ranges::find(stage_.services(), name, [](const auto& one) { return one.name; });
    if (found == stage_.services().end()) {
        throw action_refused("there is no " + name);
    }
    std::string text = co_await crowd_.like(found->address, user, liked);
    co_await settle();
    co_return name + ": " + text;
}

asio::awaitable<std::string> page_server::burst(nlohmann::json body) {
    const auto people = body.value("people", std::size_t{1000});
    if (people == 0 || people > most_people) {
        throw action_refused("people: expected a number from 1 to " + std::to_string(most_people));
    }
    const exclusive alone(busy_with_, "a burst of likes");
    note("action", "burst of " + std::to_string(people) + " likes");
    std::vector<asio::ip::tcp::endpoint> services;
    for (const stage::service& one : stage_.services()) {
        services.push_back(one.address);
    }
    std::string text = co_await crowd_.burst(std::move(services), people, burst_patience);
    co_await settle();
    note("action", "end of the burst");
    co_return text;
}

asio::awaitable<std::string> page_server::set_locking(bool on) {
    const exclusive alone(busy_with_, on ? "switching the locks on" : "switching the locks off");
    for (stage::service& one : stage_.services()) {
        nlohmann::json change{{"locking", on}};
        co_await change_experiment(one, std::move(change));
    }
    note(on ? "repair" : "fault", on ? "locks on" : "locks off");
    co_return on ? "Each like takes the lock again. Start a new post if the count is wrong."
                 : "Likes take no lock now. Send a burst, and watch the count.";
}

std::string page_server::begin_post() {
    const exclusive alone(busy_with_, "a new post");
    if (crowd_.in_flight() > 0) {
        throw action_refused("Wait until all likes are answered.");
    }
    crowd_.begin(prefix_ + ".post-" + std::to_string(++posts_));
    figures_.reset();
    return "New post: " + crowd_.post() + ".";
}

// The holder pauses before it writes. It is stopped there, until the other service has had the lock.
asio::awaitable<std::string> page_server::freeze() {
    const exclusive alone(busy_with_, "holding and freezing");
    if (stage_.services().size() < 2) {
        throw action_refused("This needs two services.");
    }
    for (const watch& one : watches_) {
        if (one.report().is_object() && !one.report().value("locking", false)) {
            throw action_refused("Switch the locks on first.");
        }
    }
    stage::service& holder = stage_.services()[0];
    stage::service& other = stage_.services()[1];
    const std::string number = std::to_string(++freezes_);
    nlohmann::json slow{{"dawdle_ms", dawdle_of_holder.count()}};
    co_await change_experiment(holder, std::move(slow));

    std::string told_holder;
    std::string told_other;
    auto late_like = [&]() -> asio::awaitable<void> {
        told_holder = co_await crowd_.like(holder.address, "late writer " + number, true);
    };
    auto next_like = [&]() -> asio::awaitable<void> {
        const bool holds = co_await until_first_service_holds();
        if (holds) {
            holder.process->stop();
            note("fault", holder.name + " frozen with the lock");
            told_other = co_await crowd_.like(other.address, "next writer " + number, true);
            note("action", other.name + ", next holder: " + told_other);
            holder.process->resume();
            note("repair", holder.name + " resumed");
        }
    };
    std::exception_ptr failure;
    try {
        std::vector<asio::awaitable<void>> both;
        both.push_back(late_like());
        both.push_back(next_like());
        co_await together(executor_, std::move(both));
    } catch (...) {
        failure = std::current_exception();
    }
    holder.process->resume();
    nlohmann::json quick{{"dawdle_ms", 0}};
    co_await change_experiment(holder, std::move(quick));
    if (failure) {
        std::rethrow_exception(failure);
    }
    if (told_other.empty()) {
        throw action_refused(holder.name + " did not get the lock. It says: " + told_holder);
    }
    note("loss", holder.name + ", late write: " + told_holder);
    co_await settle();
    co_return other.name + ", after the ttl: " + told_other + " " + holder.name +
        ", when it resumed: " + told_holder;
}

// Until the service has reported that it holds the lock. The page shows this report as long as the service
// is frozen.
asio::awaitable<bool> page_server::until_first_service_holds() {
    const auto deadline = clock::now() + std::chrono::seconds(5);
    const std::string lock = "like:" + crowd_.post();
    while (clock::now() < deadline) {
        const nlohmann::json& report = watches_.front().report();
        if (report.is_object()) {
            for (const auto& lease : report.at("in_use").at("leases")) {
                if (lease.at("name") == lock) {
                    co_return true;
                }
            }
        }
        co_await pause(milliseconds(10));
    }
    co_return false;
}

asio::awaitable<void> page_server::change_experiment(stage::service& which, nlohmann::json change) {
    http_client client(executor_, which.address);
    const http_reply reply =
        co_await client.request(http::verb::put, "/v1/experiment", std::move(change));
    if (reply.status != 200) {
        throw std::runtime_error(which.name + " refused to change the experiment");
    }
}

asio::awaitable<std::string> page_server::act_on_server(std::string name, nlohmann::json body) {
    const std::string which = text_in(body, "server");
    const auto found =
        std::ranges::find(stage_.lock_servers(), which, [](const auto& one) { return one.name; });
    if (found == stage_.lock_servers().end()) {
        throw action_refused("there is no " + which);
    }
    if (found->is_starting) {
        throw action_refused(which + " is starting.");
    }
    child& process = *found->process;
    const child_state state = process.state();
    if (name == "stop" && state == child_state::running) {
        process.stop();
        note("fault", which + " stopped");
        co_return which + " is stopped (SIGSTOP). It keeps its locks, but it does not answer.";
    }
    if (name == "resume" && state == child_state::stopped) {
        process.resume();
        note("repair", which + " resumed");
        co_return which + " runs again (SIGCONT).";
    }
    if (name == "kill" && state != child_state::ended) {
        process.kill();
        note("fault", which + " killed");
        co_return which + " is killed (SIGKILL). It has lost its locks.";
    }
    if (name == "restart" && state == child_state::ended) {
        co_await stage_.restart(*found);
        note("repair", which + " restarted");
        co_return which + " runs again, without its locks. It is quarantined for the longest ttl.";
    }
    throw action_refused(which + " is " + to_text(state) + ".");
}

// --- What the page shows ---------------------------------------------------------------------------------

asio::awaitable<void> page_server::keep_reading() {
    while (!stopped_) {
        co_await read_post();
        co_await pause(milliseconds(500));
    }
}

// The figures count only if no like was under way while they were read.
asio::awaitable<void> page_server::read_post() {
    const std::string post = crowd_.post();
    for (stage::service& one : stage_.services()) {
        if (one.process->state() != child_state::running) {
            continue;
        }
        const std::uint64_t ended = crowd_.ended();
        const bool was_quiet = crowd_.in_flight() == 0;
        try {
            event_reader reader(executor_);
            co_await reader.connect(one.address, "/v1/events?entity=" + post);
            const nlohmann::json event = co_await reader.next(std::chrono::seconds(2));
            if (event.contains("post") && crowd_.post() == post) {
                figures read;
                read.members = event["post"]["likes"].get<std::int64_t>();
                read.counted = event["post"]["counted"].get<std::int64_t>();
                read.ended = ended;
                read.settled = was_quiet && crowd_.in_flight() == 0 && crowd_.ended() == ended;
                figures_ = read;
                co_return;
            }
        } catch (const boost::system::system_error&) {
            // The next service may know it.
        }
    }
}

// After an action, so that the page shows its result with its answer.
asio::awaitable<void> page_server::settle() {
    if (crowd_.in_flight() == 0) {
        co_await read_post();
    }
}

void page_server::note(std::string kind, std::string text) {
    const auto now = clock::now();
    while (!log_.empty() && log_.front().at < now - log_time) {
        log_.pop_front();
    }
    log_.push_back({now, std::move(kind), std::move(text)});
}

nlohmann::json page_server::services() const {
    auto list = nlohmann::json::array();
    auto watched = watches_.begin();
    for (const stage::service& one : stage_.services()) {
        list.push_back({{"name", one.name},
                        {"address", "127.0.0.1:" + std::to_string(one.address.port())},
                        {"pid", one.process->pid()},
                        {"process", to_text(one.process->state())},
                        {"silent_ms", watched->silent().count()},
                        {"report", watched->report()}});
        ++watched;
    }
    return list;
}

nlohmann::json page_server::servers() const {
    auto list = nlohmann::json::array();
    for (const stage::server& one : stage_.lock_servers()) {
        list.push_back({{"name", one.name},
                        {"address", one.uri()},
                        {"pid", one.process->pid()},
                        {"process", to_text(one.process->state())}});
    }
    return list;
}

nlohmann::json page_server::post() const {
    nlohmann::json told{{"entity", crowd_.post()},         {"accepted", crowd_.accepted()},
                        {"unknown", crowd_.unknown()},     {"refused", crowd_.refused()},
                        {"in_flight", crowd_.in_flight()}, {"settled", false}};
    if (figures_) {
        told["members"] = figures_->members;
        told["counted"] = figures_->counted;
        told["settled"] =
            figures_->settled && crowd_.in_flight() == 0 && figures_->ended == crowd_.ended();
    }
    return told;
}

nlohmann::json page_server::snapshot() const {
    const auto now = clock::now();
    auto log = nlohmann::json::array();
    for (const log_entry& one : log_) {
        if (one.at >= now - log_time) {
            const auto age = std::chrono::duration_cast<milliseconds>(now - one.at);
            log.push_back({{"age_ms", age.count()}, {"kind", one.kind}, {"text", one.text}});
        }
    }
    return {{"services", services()}, {"servers", servers()},
            {"post", post()},         {"ttl_ms", stage_.options().ttl.count()},
            {"busy", busy_with_},     {"log", std::move(log)}};
}

}  // namespace like_counter::driver
