// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The service's API, against a service process with locks and likes in its memory.

#include "http_connection.hpp"
#include "service_process.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace like_counter::test {
namespace {

/// Much longer than any step takes on a busy machine.
constexpr auto soon = std::chrono::seconds(30);

/// Nothing runs out during a test, even if the machine stalls for some seconds.
const std::vector<std::string> long_times{"--ttl-ms",           "60000", "--patience-ms", "60000",
                                          "--stop-patience-ms", "60000"};

std::vector<std::string> in_memory() {
    std::vector<std::string> all{"--listen",   "127.0.0.1:0", "--data",     "memory", "--lock",
                                 "memory://a", "--lock",      "memory://b", "--lock", "memory://c"};
    all.insert(all.end(), long_times.begin(), long_times.end());
    return all;
}

struct fixture {
    explicit fixture(std::vector<std::string> arguments = in_memory())
        : process(std::move(arguments)), address(process.listens_at().value()) {}

    response ask(std::string_view text) const { return http_connection(address).exchange(text); }

    /// Sends a request that the service refuses before it has read all of it. Sending the rest may fail.
    response ask_too_much(std::string_view text) const {
        http_connection connection(address);
        try {
            connection.send(text);
        } catch (const boost::system::system_error&) {
            // The service has closed the connection. Its answer is still there.
        }
        return connection.receive();
    }

    nlohmann::json json(std::string_view text) const {
        return nlohmann::json::parse(ask(text).body());
    }

    service_process process;
    asio::ip::tcp::endpoint address;
};

nlohmann::json error_in(const response& answer) {
    return nlohmann::json::parse(answer.body()).at("error");
}

/// The next event of a stream.
nlohmann::json event_of(http_connection& stream) {
    const std::string field = "data: ";
    std::string line;
    while (!line.starts_with(field)) {
        line = stream.receive_line();
    }
    return nlohmann::json::parse(line.substr(field.size()));
}

/// Reads events until the service closes the stream. Throws then.
[[noreturn]] void read_to_the_end(http_connection& stream) {
    for (;;) {
        event_of(stream);
    }
}

struct fixture_with_experiments : fixture {
    static std::vector<std::string> arguments() {
        std::vector<std::string> all = in_memory();
        all.emplace_back("--experiments");
        return all;
    }
    fixture_with_experiments() : fixture(arguments()) {}

    response change(const std::string& body) const {
        return ask(request_text("PUT", "/v1/experiment", body));
    }
};

const std::string likes = "/v1/entities/ada.first/likes";
const std::string bob = R"({"user": "bob"})";

/// The like of another user for each number.
std::string like_of(int number) {
    return request_text("POST", likes, R"({"user": "user )" + std::to_string(number) + R"("})");
}

BOOST_FIXTURE_TEST_SUITE(like_counter_api, fixture)

BOOST_AUTO_TEST_CASE(a_like_counts_once) {
    const auto first = json(request_text("POST", likes, bob));
    BOOST_TEST(first == nlohmann::json::parse(
                            R"({"entity": "ada.first", "user": "bob", "liked": true,
                                "changed": true, "likes": 1})"));
    const auto second = json(request_text("POST", likes, bob));
    BOOST_TEST(second["changed"] == false);
    BOOST_TEST(second["likes"] == 1);
}

BOOST_AUTO_TEST_CASE(removing_a_like_counts_once) {
    json(request_text("POST", likes, bob));
    const auto first = json(request_text("DELETE", likes, bob));
    BOOST_TEST(first["liked"] == false);
    BOOST_TEST(first["changed"] == true);
    BOOST_TEST(first["likes"] == 0);
    BOOST_TEST(json(request_text("DELETE", likes + "?user=bob"))["changed"] == false);
}

BOOST_AUTO_TEST_CASE(entities_and_authors_have_totals) {
    json(request_text("POST", likes, bob));
    json(request_text("POST", likes, R"({"user": "eve"})"));
    json(request_text("POST", "/v1/entities/ada.second/likes", bob));
    json(request_text("POST", "/v1/entities/alan.first/likes", bob));

    const auto entity = json(request_text("GET", likes + "?user=eve&users=10"));
    BOOST_TEST(entity["author"] == "ada");
    BOOST_TEST(entity["likes"] == 2);
    BOOST_TEST(entity["counted"] == 2);
    BOOST_TEST(entity["liked"] == true);
    BOOST_TEST(entity["users"].size() == 2U);
    BOOST_TEST(json(request_text("GET", "/v1/authors/ada"))["likes"] == 3);
    BOOST_TEST(json(request_text("GET", "/v1/authors/nobody"))["likes"] == 0);
    BOOST_TEST(json(request_text("GET", "/v1/entities/no.likes/likes"))["likes"] == 0);
}

BOOST_AUTO_TEST_CASE(names_are_decoded_and_any_text_is_a_valid_user) {
    const auto liked = json(request_text("POST", "/v1/entities/%61da.first/likes",
                                         R"({"user": "Zo\u00eb \"Z\" 🦊"})"));
    BOOST_TEST(liked["entity"] == "ada.first");
    BOOST_TEST(liked["user"] == "Zoë \"Z\" 🦊");
    BOOST_TEST(json(request_text("GET", likes + "?user=Zo%C3%AB+%22Z%22+%F0%9F%A6%8A"))["liked"] ==
               true);
}

BOOST_AUTO_TEST_CASE(concurrent_identical_likes_count_once) {
    constexpr int many = 20;
    std::vector<std::unique_ptr<http_connection>> connections;
    for (int i = 0; i != many; ++i) {
        connections.push_back(std::make_unique<http_connection>(address));
        connections.back()->send(request_text("POST", likes, bob));
    }
    int changed = 0;
    for (const auto& connection : connections) {
        changed += nlohmann::json::parse(connection->receive().body())["changed"] == true ? 1 : 0;
    }
    BOOST_TEST(changed == 1);
    const auto status = json(request_text("GET", "/v1/status"));
    BOOST_TEST(status["service"]["accepted"] == many);
    BOOST_TEST(status["service"]["lock_violations"] == 0);
    BOOST_TEST(status["locks"]["acquired"] == many);
}

BOOST_AUTO_TEST_CASE(invalid_input_is_rejected_with_the_field) {
    const struct {
        std::string text;
        unsigned status;
        std::string code;
        std::string field;
    } cases[] = {
        {request_text("POST", likes, R"({"user": "bob")"), 400, "bad_json", ""},
        {request_text("POST", likes, "[1]"), 400, "bad_json", ""},
        {request_text("POST", likes), 400, "bad_json", ""},
        {request_text("POST", likes, "{\"user\": \"\xff\"}"), 400, "bad_json", ""},
        {request_text("POST", likes, std::string(10'000, '[')), 400, "bad_json", ""},
        {request_text("POST", likes, "{}"), 400, "invalid_field", "user"},
        {request_text("POST", likes, R"({"user": 7})"), 400, "invalid_field", "user"},
        {request_text("POST", likes, R"({"user": ""})"), 400, "invalid_field", "user"},
        {request_text("POST", likes, R"({"user": "a\u0000b"})"), 400, "invalid_field", "user"},
        {request_text("POST", likes, R"({"user": ")" + std::string(129, 'x') + R"("})"), 400,
         "invalid_field", "user"},
        {request_text("DELETE", likes + "?user="), 400, "invalid_field", "user"},
        {request_text("POST", "/v1/entities/ada/likes", bob), 400, "invalid_field", "entity"},
        {request_text("POST", "/v1/entities/.x/likes", bob), 400, "invalid_field", "entity"},
        {request_text("POST", "/v1/entities/ada./likes", bob), 400, "invalid_field", "entity"},
        {request_text("POST", "/v1/entities/ada.a%2Fb/likes", bob), 400, "invalid_field", "entity"},
        {request_text("GET", "/v1/authors/a.b"), 400, "invalid_field", "author"},
        {request_text("GET", likes + "?users=many"), 400, "invalid_field", "users"},
        {request_text("GET", likes + "?users=1001"), 400, "invalid_field", "users"},
        {request_text("POST", likes, bob, "text/plain"), 415, "unsupported_media_type",
         "Content-Type"},
    };
    for (const auto& one : cases) {
        const response answer = ask(one.text);
        const auto error = error_in(answer);
        BOOST_TEST_CONTEXT(one.text.substr(0, 300)) {
            BOOST_TEST(answer.result_int() == one.status);
            BOOST_TEST(answer[http::field::content_type] == "application/json");
            BOOST_TEST(error["code"] == one.code);
            BOOST_TEST(error.value("field", "") == one.field);
            BOOST_TEST(!error["message"].get<std::string>().empty());
        }
    }
    BOOST_TEST(json(request_text("GET", "/v1/status"))["service"]["rejected"] == std::size(cases));
}

BOOST_AUTO_TEST_CASE(a_media_type_may_have_parameters) {
    const auto text = request_text("POST", likes, bob, "application/json; charset=utf-8");
    BOOST_TEST(ask(text).result_int() == 200U);
}

BOOST_AUTO_TEST_CASE(unknown_routes_are_not_found) {
    for (const char* target : {"/nope", "/v1", "/v1/", "/v1/entities", "/v1/entities/a.b",
                               "/v1/entities/a.b/likes/x", "/v2/status", "/healthz/x", "//"}) {
        const response answer = ask(request_text("GET", target));
        BOOST_TEST_CONTEXT(target) {
            BOOST_TEST(answer.result_int() == 404U);
            BOOST_TEST(error_in(answer)["code"] == "not_found");
        }
    }
}

BOOST_AUTO_TEST_CASE(automatic_browser_requests_are_not_counted) {
    for (const char* target :
         {"/favicon.ico", "/favicon.ico?v=1", "/apple-touch-icon.png",
          "/apple-touch-icon-precomposed.png", "/apple-touch-icon-120x120.png"}) {
        const response answer = ask(request_text("GET", target));
        BOOST_TEST_CONTEXT(target) {
            BOOST_TEST(answer.result_int() == 204U);
            BOOST_TEST(answer.body().empty());
            BOOST_TEST(answer[http::field::cache_control] == "max-age=86400");
            BOOST_TEST(answer.count(http::field::content_length) == 0U);  // RFC 9110, section 8.6
        }
    }
    auto service = json(request_text("GET", "/v1/status"))["service"];
    BOOST_TEST(service["rejected"] == 0);
    BOOST_TEST(service["requests"] == 0);
    for (const char* target : {"/favicon", "/x/favicon.ico", "/v1/favicon.ico"}) {
        BOOST_TEST(ask(request_text("GET", target)).result_int() == 404U);
    }
    service = json(request_text("GET", "/v1/status"))["service"];
    BOOST_TEST(service["rejected"] == 3);
}

BOOST_AUTO_TEST_CASE(wrong_methods_are_answered_with_the_allowed_ones) {
    const response on_likes = ask(request_text("PUT", likes, bob));
    BOOST_TEST(on_likes.result_int() == 405U);
    BOOST_TEST(on_likes[http::field::allow] == "GET, POST, DELETE");
    BOOST_TEST(error_in(on_likes)["code"] == "method_not_allowed");
    const response on_status = ask(request_text("DELETE", "/v1/status"));
    BOOST_TEST(on_status.result_int() == 405U);
    BOOST_TEST(on_status[http::field::allow] == "GET");
}

BOOST_AUTO_TEST_CASE(too_large_requests_are_rejected) {
    const response body = ask_too_much(request_text("POST", likes, std::string(1'000'000, 'x')));
    BOOST_TEST(body.result_int() == 413U);
    BOOST_TEST(error_in(body)["code"] == "body_too_large");

    std::string chunked = "POST " + likes + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    chunked += "f4240\r\n" + std::string(1'000'000, 'x') + "\r\n0\r\n\r\n";
    BOOST_TEST(ask_too_much(chunked).result_int() == 413U);

    const response header =
        ask_too_much("GET /healthz HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
    BOOST_TEST(header.result_int() == 431U);
    BOOST_TEST(error_in(header)["code"] == "header_too_large");
}

BOOST_AUTO_TEST_CASE(requests_that_are_not_http_are_rejected) {
    const response answer = ask("this is no HTTP\r\n\r\n");
    BOOST_TEST(answer.result_int() == 400U);
    BOOST_TEST(error_in(answer)["code"] == "bad_request");
}

BOOST_AUTO_TEST_CASE(a_connection_serves_requests_in_order) {
    http_connection connection(address);
    const auto text = request_text("GET", "/healthz");
    BOOST_TEST(connection.exchange(text).result_int() == 200U);
    connection.send(text + request_text("POST", likes, "{}") + text);  // pipelined
    BOOST_TEST(connection.receive().result_int() == 200U);
    BOOST_TEST(connection.receive().result_int() == 400U);
    BOOST_TEST(connection.receive().result_int() == 200U);
}

BOOST_AUTO_TEST_CASE(health_and_status_describe_the_instances) {
    const auto health = json(request_text("GET", "/healthz"));
    BOOST_TEST(health["status"] == "ok");
    BOOST_TEST(health["instances"] == 3);
    BOOST_TEST(health["quorum"] == 2);
    const auto status = json(request_text("GET", "/v1/status"));
    BOOST_TEST(status["instances"].size() == 3U);
    for (const char* field : {"address", "state", "reason", "version", "in_flight"}) {
        BOOST_TEST(status["instances"][0].contains(field));
    }
    BOOST_TEST(status["instances"][0]["address"] == "memory://a");
    BOOST_TEST(status["locking"] == true);
}

bool has_line(const response& answer, const std::string& line) {
    return ("\n" + answer.body()).find("\n" + line + "\n") != std::string::npos;
}

BOOST_AUTO_TEST_CASE(metrics_describe_the_service_and_its_locks) {
    json(request_text("POST", likes, bob));
    ask(request_text("POST", likes, "{}"));
    const response answer = ask(request_text("GET", "/metrics"));
    BOOST_TEST(answer.result_int() == 200U);
    BOOST_TEST(answer[http::field::content_type] == "text/plain; version=0.0.4; charset=utf-8");
    BOOST_TEST(answer[http::field::cache_control] == "no-store");
    for (const char* line : {"likecounter_requests_total 2", "likecounter_accepted_total 1",
                             "likecounter_changed_total 1", "likecounter_rejected_total 1",
                             "likecounter_errors_total 0", "likecounter_lock_violations_total 0",
                             "likecounter_in_flight 0", "colock_acquired_total 1",
                             "colock_instances 3", "colock_wait_seconds_count 1",
                             "colock_instance_state{address=\"memory://a\",state=\"ready\"} 1"}) {
        BOOST_TEST(has_line(answer, line), line);
    }
}

BOOST_AUTO_TEST_CASE(metrics_without_locks_are_those_of_the_service) {
    const fixture without_locks({"--listen", "127.0.0.1:0", "--data", "memory", "--no-lock"});
    const response answer = without_locks.ask(request_text("GET", "/metrics"));
    BOOST_TEST(has_line(answer, "likecounter_requests_total 0"));
    BOOST_TEST(answer.body().find("colock_") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(requests_for_metrics_are_not_counted) {
    for (int i = 0; i != 3; ++i) {
        ask(request_text("GET", "/metrics"));
    }
    const response refused = ask(request_text("POST", "/metrics"));
    BOOST_TEST(refused.result_int() == 405U);
    BOOST_TEST(refused[http::field::allow] == "GET");
    const auto service = json(request_text("GET", "/v1/status"))["service"];
    BOOST_TEST(service["requests"] == 0);
    BOOST_TEST(service["rejected"] == 0);
    BOOST_TEST(service["in_flight"] == 0);
    BOOST_TEST(has_line(ask(request_text("GET", "/metrics")), "likecounter_requests_total 0"));
}

BOOST_AUTO_TEST_CASE(events_show_the_status_and_a_post) {
    http_connection stream(address);
    stream.send(request_text("GET", "/v1/events?entity=ada.first"));
    BOOST_TEST(stream.receive_line() == "HTTP/1.1 200 OK\r\n");
    BOOST_TEST(stream.receive_line() == "Content-Type: text/event-stream\r\n");
    const auto first = event_of(stream);
    BOOST_TEST(first["instances"].size() == 3U);
    BOOST_TEST(first["post"]["likes"] == 0);
    BOOST_TEST(first["in_use"]["leases"].empty());
    BOOST_TEST(first["in_use"]["waits"]["count"] == 0);
    json(request_text("POST", likes, bob));
    auto later = event_of(stream);
    nlohmann::json waits = later["in_use"]["waits"];
    // The set of likes changes first, and an event may be made before the count follows.
    while (later["post"]["counted"] == 0 || waits["count"] == 0) {
        later = event_of(stream);
        if (waits["count"] == 0) {
            waits = later["in_use"]["waits"];
        }
    }
    BOOST_TEST(later["post"]["counted"] == 1);
    BOOST_TEST(later["post"]["likes"] == 1);
    BOOST_TEST(waits["count"] == 1);
    for (const char* share : {"p50", "p99"}) {
        BOOST_TEST(waits[share]["ms"] > waits[share]["from_ms"]);
        BOOST_TEST(waits[share]["ms"] <= waits[share]["to_ms"]);
    }
    while (later["in_use"]["waits"]["count"] != 0) {  // They become older than a second.
        later = event_of(stream);
    }
    BOOST_TEST(later["in_use"]["waits"]["p50"].is_null());
}

BOOST_AUTO_TEST_CASE(readers_of_events_are_limited_and_not_counted) {
    std::vector<std::unique_ptr<http_connection>> streams;
    for (int i = 0; i != 16; ++i) {
        streams.push_back(std::make_unique<http_connection>(address));
        streams.back()->send(request_text("GET", "/v1/events"));
        event_of(*streams.back());
    }
    const response refused = ask(request_text("GET", "/v1/events"));
    BOOST_TEST(refused.result_int() == 503U);
    BOOST_TEST(error_in(refused)["code"] == "too_many_listeners");
    const auto service = json(request_text("GET", "/v1/status"))["service"];
    BOOST_TEST(service["requests"] == 0);
    BOOST_TEST(service["errors"] == 0);
    BOOST_TEST(service["in_flight"] == 0);

    streams.clear();  // The service finds out when it sends the next event or heartbeat.
    const auto deadline = std::chrono::steady_clock::now() + soon;
    std::string status;
    while (status != "HTTP/1.1 200 OK\r\n" && std::chrono::steady_clock::now() < deadline) {
        http_connection again(address);
        again.send(request_text("GET", "/v1/events"));
        status = again.receive_line();
    }
    BOOST_TEST(status == "HTTP/1.1 200 OK\r\n");
}

BOOST_AUTO_TEST_CASE(events_of_a_wrong_post_are_rejected) {
    const response answer = ask(request_text("GET", "/v1/events?entity=ada"));
    BOOST_TEST(answer.result_int() == 400U);
    BOOST_TEST(ask(request_text("POST", "/v1/events")).result_int() == 405U);
}

BOOST_AUTO_TEST_CASE(stopping_ends_a_stream_of_events) {
    http_connection stream(address);
    stream.send(request_text("GET", "/v1/events"));
    event_of(stream);
    process.ask_to_stop();
    BOOST_TEST((process.exit_code_within(soon) == 0));
}

BOOST_AUTO_TEST_CASE(experiments_need_the_option) {
    const response answer = ask(request_text("PUT", "/v1/experiment", R"({"locking": false})"));
    BOOST_TEST(answer.result_int() == 403U);
    BOOST_TEST(error_in(answer)["code"] == "no_experiments");
    BOOST_TEST(json(request_text("GET", "/v1/status"))["locking"] == true);
}

BOOST_FIXTURE_TEST_CASE(an_experiment_switches_the_locks_off_and_on, fixture_with_experiments) {
    BOOST_TEST(nlohmann::json::parse(change(R"({"locking": false})").body())["locking"] == false);
    json(request_text("POST", likes, bob));
    auto status = json(request_text("GET", "/v1/status"));
    BOOST_TEST(status["locking"] == false);
    BOOST_TEST(status["locks"]["acquired"] == 0);
    BOOST_TEST(nlohmann::json::parse(change(R"({"locking": true})").body())["locking"] == true);
    json(request_text("DELETE", likes, bob));
    status = json(request_text("GET", "/v1/status"));
    BOOST_TEST(status["locking"] == true);
    BOOST_TEST(status["locks"]["acquired"] == 1);
    BOOST_TEST(status["service"]["requests"] == 2);
}

BOOST_FIXTURE_TEST_CASE(events_show_a_held_lock_and_its_waiters, fixture_with_experiments) {
    BOOST_TEST(change(R"({"dawdle_ms": 2000})").result_int() == 200U);
    http_connection stream(address);
    stream.send(request_text("GET", "/v1/events"));
    http_connection holder(address);
    http_connection waiter(address);
    int sent = 0;
    nlohmann::json used;
    do {
        const nlohmann::json event = event_of(stream);
        used = event["in_use"];
        // On a busy machine, the likes may be over before an event shows their lock.
        if (event["service"]["accepted"] == sent) {
            if (sent != 0) {
                BOOST_TEST(holder.receive().result_int() == 200U);
                BOOST_TEST(waiter.receive().result_int() == 200U);
            }
            holder.send(like_of(++sent));
            waiter.send(like_of(++sent));
        }
    } while (used["leases"].empty() || used["waiting"].empty());
    BOOST_TEST(used["leases"][0]["name"] == "like:ada.first");
    const auto lease = used["leases"][0];
    BOOST_TEST(lease["fence"].is_string());
    BOOST_TEST(lease["holder"].get<std::string>().find(':') != std::string::npos);
    BOOST_TEST(lease["holders"] == 1);
    BOOST_TEST(lease["is_lost"] == false);
    BOOST_TEST(lease["age_ms"] > 0);
    BOOST_TEST(lease["answers"] == "");
    const auto waiting = used["waiting"][0];
    BOOST_TEST(waiting["name"] == "like:ada.first");
    BOOST_TEST(waiting["waiters"] == 1);
    BOOST_TEST(waiting["longest_ms"] > 0);
    BOOST_TEST(used["all_leases"] == 1);
    BOOST_TEST(used["all_waiters"] == 1);
    change(R"({"dawdle_ms": 0})");
    BOOST_TEST(holder.receive().result_int() == 200U);
    BOOST_TEST(waiter.receive().result_int() == 200U);
    while (!used["leases"].empty() || !used["waiting"].empty()) {
        used = event_of(stream)["in_use"];
    }
    const auto status = json(request_text("GET", "/v1/status"));
    BOOST_TEST(status["in_use"]["waits"]["count"] == sent);  // since the start
    BOOST_TEST(status["locks"]["held"] == 0);
    BOOST_TEST(status["locks"]["acquiring"] == 0);
    BOOST_TEST(status["locks"]["overstays"] == 0);
}

BOOST_FIXTURE_TEST_CASE(stopping_ends_a_stream_while_a_lock_is_held, fixture_with_experiments) {
    BOOST_TEST(change(R"({"dawdle_ms": 5000})").result_int() == 200U);
    http_connection stream(address);
    stream.send(request_text("GET", "/v1/events"));
    http_connection holder(address);
    int sent = 0;
    nlohmann::json event;
    do {
        event = event_of(stream);
        // On a busy machine, the like may be over before an event shows its lock.
        if (event["service"]["accepted"] == sent) {
            if (sent != 0) {
                BOOST_TEST(holder.receive().result_int() == 200U);
            }
            holder.send(like_of(++sent));
        }
    } while (event["in_use"]["leases"].empty());
    process.ask_to_stop();
    BOOST_CHECK_THROW(read_to_the_end(stream), boost::system::system_error);
    BOOST_TEST(holder.receive().result_int() == 200U);
    BOOST_TEST(process.exit_code_within(soon).value_or(-1) == 0);
}

struct fixture_without_locks : fixture {
    fixture_without_locks()
        : fixture({"--listen", "127.0.0.1:0", "--data", "memory", "--no-lock"}) {}
};

BOOST_FIXTURE_TEST_CASE(without_locks_nothing_is_in_use, fixture_without_locks) {
    json(request_text("POST", likes, bob));
    const auto status = json(request_text("GET", "/v1/status"));
    BOOST_TEST(status["locking"] == false);
    BOOST_TEST(!status.contains("locks"));
    BOOST_TEST(status["in_use"] ==
               nlohmann::json::parse(R"({"leases": [], "waiting": [], "all_leases": 0,
                                         "all_waiters": 0,
                                         "waits": {"count": 0, "p50": null, "p99": null}})"));
    http_connection stream(address);
    stream.send(request_text("GET", "/v1/events"));
    BOOST_TEST(event_of(stream)["in_use"] == status["in_use"]);
}

BOOST_FIXTURE_TEST_CASE(wrong_experiments_are_rejected, fixture_with_experiments) {
    for (const char* body :
         {"[]", R"({"locking": 1})", R"({"dawdle_ms": -1})", R"({"dawdle_ms": 60001})"}) {
        BOOST_TEST_CONTEXT(body) {
            BOOST_TEST(change(body).result_int() == 400U);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_page_is_served) {
    const response page = ask(request_text("GET", "/"));
    BOOST_TEST(page.result_int() == 200U);
    BOOST_TEST(page[http::field::content_type].starts_with("text/html"));
    BOOST_TEST(page.body().starts_with("<!doctype html>"));
    BOOST_TEST(page.body().ends_with("</html>\n"));
}

BOOST_AUTO_TEST_CASE(stopping_lets_the_request_in_flight_finish) {
    http_connection idle(address);
    idle.exchange(request_text("GET", "/healthz"));

    // The service has the header, as its "100 Continue" shows, when it is asked to stop.
    http_connection busy(address);
    const response go_on =
        busy.exchange("POST " + likes + " HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: " +
                      std::to_string(bob.size()) + "\r\n\r\n");
    BOOST_TEST(go_on.result_int() == 100U);
    process.ask_to_stop();
    BOOST_CHECK_THROW(idle.receive(), boost::system::system_error);  // closed: it is stopping

    const response answer = busy.exchange(bob);
    BOOST_TEST(answer.result_int() == 200U);
    BOOST_TEST(!answer.keep_alive());
    BOOST_TEST(nlohmann::json::parse(answer.body())["changed"] == true);
    BOOST_CHECK_THROW(http_connection{address}, boost::system::system_error);
    BOOST_TEST(process.exit_code_within(soon).value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(stopping_an_idle_service_exits_with_success) {
    process.ask_to_stop();
    BOOST_TEST(process.exit_code_within(soon).value_or(-1) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(like_counter_command_line)

BOOST_AUTO_TEST_CASE(invalid_arguments_are_rejected) {
    const std::vector<std::vector<std::string>> wrong = {
        {},
        {"--data", "memory"},
        {"--data", "memory", "--no-lock", "--lock", "memory://a"},
        {"--data", "http://localhost", "--no-lock"},
        {"--data", "memory", "--lock", "nonsense"},
        {"--data", "memory", "--no-lock", "--listen", "nowhere"},
        {"--data", "memory", "--no-lock", "--ttl-ms", "1"},
        {"--data", "memory", "--no-lock", "--unknown"},
        {"--data", "memory", "--config", "/no/such/file"},
    };
    for (const auto& arguments : wrong) {
        service_process process(arguments);
        BOOST_TEST_CONTEXT(nlohmann::json(arguments)) {
            BOOST_TEST(process.exit_code_within(soon).value_or(-1) == 2);
        }
    }
}

BOOST_AUTO_TEST_CASE(help_exits_with_success) {
    service_process process({"--help"});
    BOOST_TEST(process.exit_code_within(soon).value_or(-1) == 0);
}

// Nobody listens on the ports 1 and 2.
BOOST_AUTO_TEST_CASE(without_a_quorum_the_service_is_unhealthy_and_likes_fail) {
    service_process process({"--listen", "127.0.0.1:0", "--data", "memory", "--lock",
                             "redis://127.0.0.1:1", "--lock", "redis://127.0.0.1:2",
                             "--patience-ms", "60000"});
    const auto address = process.listens_at().value();
    http_connection connection(address);
    const response health = connection.exchange(request_text("GET", "/healthz"));
    BOOST_TEST(health.result_int() == 503U);
    BOOST_TEST(nlohmann::json::parse(health.body())["instances_ready"] == 0);

    const response like = connection.exchange(request_text("POST", likes, bob));
    BOOST_TEST(like.result_int() == 503U);
    BOOST_TEST(like[http::field::retry_after] == "1");
    BOOST_TEST(error_in(like)["code"] == "locks_unavailable");

    // Only the like counts: a request for the health was answered.
    const response told = connection.exchange(request_text("GET", "/v1/status"));
    const auto counted = nlohmann::json::parse(told.body())["service"];
    BOOST_TEST(counted["requests"] == 1);
    BOOST_TEST(counted["errors"] == 1);

    process.ask_to_stop();
    BOOST_TEST(process.exit_code_within(soon).value_or(-1) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace like_counter::test
