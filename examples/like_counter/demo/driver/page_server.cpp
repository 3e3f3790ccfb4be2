// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "page_server.hpp"

#include "browser.hpp"
#include "http_client.hpp"
#include "together.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using namespace asio::experimental::awaitable_operators;
using std::chrono::milliseconds;

namespace like_counter::driver {
namespace {

constexpr int most_listeners = 16;
constexpr std::size_t most_people = 10'000;
constexpr auto log_time = std::chrono::minutes(2);
constexpr auto burst_patience = std::chrono::seconds(60);
constexpr auto dawdle_of_holder = milliseconds(2000);

http_response plain(http::status status, const std::string& message) {
    return json_response(status, {{"ok", false}, {"message", message}});
}

std::string text_in(const nlohmann::json& body, const char* field) {
    const auto found = body.find(field);
    if (found == body.end() || !found->is_string()) {
        throw action_refused(std::string(field) + ": expected a text");
    }
    return found->get<std::string>();
}

/// Returns the service or server whose name is in a field of the request.
template <typename Item>
Item& named_in(const nlohmann::json& body, const char* field, std::vector<Item>& items) {
    const std::string name = text_in(body, field);
    const auto found = std::ranges::find(items, name, &Item::name);
    if (found == items.end()) {
        throw action_refused("there is no " + name);
    }
    return *found;
}

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

page_server::page_server(asio::any_io_executor executor, stage& stage,
                         const asio::ip::tcp::endpoint& listen)
    : executor_(executor),
      stage_(stage),
      secret_(random_text()),
      prefix_("show" + random_text().substr(0, 4)),
      crowd_(executor),
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
    co_await together(std::move(all));
}

asio::awaitable<void> page_server::stop() {
    stopped_ = true;
    for (watch& one : watches_) {
        one.stop();
    }
    co_await server_.stop(milliseconds(500));
}

// --- Requests --------------------------------------------------------------------------------------------

// The path behind the secret, which another page in the browser does not know.
std::optional<std::string> page_server::path_of(const http_request& request) const {
    const std::string beginning = "/" + secret_ + "/";
    const std::string_view target = request.target();
    if (!target.starts_with(beginning) || foreign_field(request)) {
        return std::nullopt;
    }
    return std::string(target.substr(beginning.size()));
}

asio::awaitable<http_response> page_server::answer(http_request request) {
    const auto path = path_of(request);
    if (path == "" && request.method() == http::verb::get) {
        co_return page_response("stage");
    }
    if (path == "events") {
        co_return plain(http::status::service_unavailable, "too many pages are open");
    }
    const std::string actions = "actions/";
    if (!path || !path->starts_with(actions) || request.method() != http::verb::post) {
        co_return plain(http::status::not_found, "there is nothing here");
    }
    nlohmann::json body = nlohmann::json::parse(request.body(), nullptr, false);
    if (!body.is_object()) {
        co_return plain(http::status::bad_request, "the body must be a JSON object");
    }
    // Always 200: a refused button is no fault of the page, and the browser would report it as one.
    nlohmann::json result = co_await act(path->substr(actions.size()), std::move(body));
    co_return json_response(http::status::ok, result);
}

std::optional<event_stream> page_server::stream(const http_request& request) {
    if (path_of(request) != "events" || request.method() != http::verb::get ||
        listeners_ >= most_listeners) {
        return std::nullopt;
    }
    ++listeners_;
    const std::shared_ptr<void> reader(nullptr, [this](void*) { --listeners_; });
    event_stream events;
    events.next = [this, reader]() -> asio::awaitable<std::string> {
        co_return json_text(snapshot());
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

asio::awaitable<std::string> page_server::like(nlohmann::json body, bool liked) {
    const std::string user = text_in(body, "user");
    const stage::service& through = named_in(body, "service", stage_.services());
    std::string text = co_await crowd_.like(through.address, user, liked);
    co_await settle();
    co_return through.name + ": " + text;
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
    for (const stage::service& one : stage_.services()) {
        co_await change_experiment(one, "locking", on);
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
    const stage::service& holder = stage_.services()[0];
    const stage::service& other = stage_.services()[1];
    const std::string number = std::to_string(++freezes_);
    co_await change_experiment(holder, "dawdle_ms", dawdle_of_holder.count());

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
        co_await (late_like() && next_like());
    } catch (...) {
        failure = std::current_exception();
    }
    holder.process->resume();
    co_await change_experiment(holder, "dawdle_ms", 0);
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

asio::awaitable<void> page_server::change_experiment(const stage::service& which, std::string field,
                                                     nlohmann::json value) {
    http_client client(executor_, which.address);
    nlohmann::json change;
    change[field] = std::move(value);
    const http_reply reply =
        co_await client.request(http::verb::put, "/v1/experiment", std::move(change));
    if (reply.status != 200) {
        throw std::runtime_error(which.name + " refused to change the experiment");
    }
}

asio::awaitable<std::string> page_server::act_on_server(std::string name, nlohmann::json body) {
    stage::server& server = named_in(body, "server", stage_.lock_servers());
    const std::string which = server.name;
    child& process = *server.process;
    if (server.is_starting()) {
        throw action_refused(which + " is starting.");
    }
    if (name == "stop" && process.is_running()) {
        process.stop();
        note("fault", which + " stopped");
        co_return which + " is stopped (SIGSTOP). It keeps its locks, but it does not answer.";
    }
    if (name == "resume" && process.is_stopped()) {
        process.resume();
        note("repair", which + " resumed");
        co_return which + " runs again (SIGCONT).";
    }
    if (name == "kill" && !process.is_ended()) {
        process.kill();
        note("fault", which + " killed");
        co_return which + " is killed (SIGKILL). It has lost its locks.";
    }
    if (name == "restart" && process.is_ended()) {
        co_await stage_.restart(server);
        note("repair", which + " restarted");
        co_return which + " runs again, without its locks. It is quarantined for the longest ttl.";
    }
    throw action_refused(which + " is " + process.state() + ".");
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
        if (!one.process->is_running()) {
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
    log_.push_back({clock::now(), std::move(kind), std::move(text)});
}

nlohmann::json page_server::services() const {
    auto list = nlohmann::json::array();
    auto watched = watches_.begin();
    for (const stage::service& one : stage_.services()) {
        list.push_back({{"name", one.name},
                        {"address", "127.0.0.1:" + std::to_string(one.address.port())},
                        {"pid", one.process->pid()},
                        {"process", one.process->state()},
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
                        {"process", one.process->state()}});
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

nlohmann::json page_server::snapshot() {
    const auto now = clock::now();
    std::erase_if(log_, [now](const log_entry& one) { return one.at < now - log_time; });
    auto log = nlohmann::json::array();
    for (const log_entry& one : log_) {
        const auto age = std::chrono::duration_cast<milliseconds>(now - one.at);
        log.push_back({{"age_ms", age.count()}, {"kind", one.kind}, {"text", one.text}});
    }
    return {{"services", services()}, {"servers", servers()},
            {"post", post()},         {"ttl_ms", stage_.options().ttl.count()},
            {"busy", busy_with_},     {"log", std::move(log)}};
}

}  // namespace like_counter::driver
