// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The service's API, against a service process with locks and likes in its memory.

#include "http_connection.hpp"
#include "service_process.hpp"

#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace like_counter::test {
namespace {

/// Nothing expires during a test, even if the machine stalls for some seconds.
std::vector<std::string> in_memory(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"--listen", "127.0.0.1:0", "--data", "memory"};
    for (const char* lock : {"memory://a", "memory://b", "memory://c"}) {
        all.insert(all.end(), {"--lock", lock});
    }
    for (const char* time : {"--ttl-ms", "--patience-ms", "--stop-patience-ms"}) {
        all.insert(all.end(), {time, "60000"});
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

const std::string likes = "/v1/entities/ada.first/likes";
const std::string bob = R"({"user": "bob"})";

struct fixture {
    explicit fixture(std::vector<std::string> arguments = in_memory())
        : process(std::move(arguments)), address(process.listens_at()) {}

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
    nlohmann::json get(const std::string& target) const {
        return json(request_text("GET", target));
    }
    nlohmann::json status() const { return get("/v1/status"); }

    /// Bob likes an entity.
    nlohmann::json like(const std::string& target = likes) const {
        return json(request_text("POST", target, bob));
    }

    service_process process;
    asio::ip::tcp::endpoint address;
};

/// Checks that a JSON object has these members.
void check_has(const nlohmann::json& object, const nlohmann::json& members) {
    nlohmann::json with_members = object;
    with_members.merge_patch(members);
    BOOST_TEST(object == with_members);
}

/// Checks the status of an answer, and the code of its error.
void check_refused(const response& answer, unsigned status, const std::string& code) {
    BOOST_TEST(answer.result_int() == status);
    BOOST_TEST(nlohmann::json::parse(answer.body())["error"]["code"] == code);
}

/// A stream of events.
struct event_stream : http_connection {
    explicit event_stream(const asio::ip::tcp::endpoint& address, const std::string& query = {})
        : http_connection(address) {
        send(request_text("GET", "/v1/events" + query));
    }

    nlohmann::json next() {
        receive_until("data: ");
        return nlohmann::json::parse(receive_until("\n"));
    }
};

struct fixture_with_experiments : fixture {
    fixture_with_experiments() : fixture(in_memory({"--experiments"})) {}

    response change(const std::string& body) const {
        return ask(request_text("PUT", "/v1/experiment", body));
    }
};

struct fixture_without_locks : fixture {
    fixture_without_locks()
        : fixture({"--listen", "127.0.0.1:0", "--data", "memory", "--no-lock"}) {}
};

/// The like of another user for each number.
std::string like_of(int number) {
    return request_text("POST", likes, R"({"user": "user )" + std::to_string(number) + R"("})");
}

BOOST_FIXTURE_TEST_SUITE(like_counter_api, fixture)

BOOST_AUTO_TEST_CASE(a_like_counts_once) {
    const auto first = like();
    BOOST_TEST(first == nlohmann::json::parse(
                            R"({"entity": "ada.first", "user": "bob", "liked": true,
                                "changed": true, "likes": 1})"));
    check_has(like(), {{"changed", false}, {"likes", 1}});
}

BOOST_AUTO_TEST_CASE(removing_a_like_counts_once) {
    like();
    check_has(json(request_text("DELETE", likes, bob)),
              {{"liked", false}, {"changed", true}, {"likes", 0}});
    BOOST_TEST(json(request_text("DELETE", likes + "?user=bob"))["changed"] == false);
}

BOOST_AUTO_TEST_CASE(entities_and_authors_have_totals) {
    like();
    json(request_text("POST", likes, R"({"user": "eve"})"));
    like("/v1/entities/ada.second/likes");
    like("/v1/entities/alan.first/likes");

    const auto entity = get(likes + "?user=eve&users=10");
    check_has(entity, {{"author", "ada"}, {"likes", 2}, {"counted", 2}, {"liked", true}});
    BOOST_TEST(entity["users"].size() == 2U);
    BOOST_TEST(get("/v1/authors/ada")["likes"] == 3);
    BOOST_TEST(get("/v1/authors/nobody")["likes"] == 0);
    BOOST_TEST(get("/v1/entities/no.likes/likes")["likes"] == 0);
}

BOOST_AUTO_TEST_CASE(names_are_decoded_and_any_text_is_a_valid_user) {
    const auto liked = json(request_text("POST", "/v1/entities/%61da.first/likes",
                                         R"({"user": "Zo\u00eb \"Z\" 🦊"})"));
    check_has(liked, {{"entity", "ada.first"}, {"user", "Zoë \"Z\" 🦊"}});
    BOOST_TEST(get(likes + "?user=Zo%C3%AB+%22Z%22+%F0%9F%A6%8A")["liked"] == true);
}

BOOST_AUTO_TEST_CASE(concurrent_identical_likes_count_once) {
    constexpr int many = 20;
    std::list<http_connection> connections;
    for (int i = 0; i != many; ++i) {
        connections.emplace_back(address).send(request_text("POST", likes, bob));
    }
    int changed = 0;
    for (http_connection& connection : connections) {
        changed += nlohmann::json::parse(connection.receive().body())["changed"] == true ? 1 : 0;
    }
    BOOST_TEST(changed == 1);
    check_has(status(), {{"service", {{"accepted", many}, {"lock_violations", 0}}},
                         {"locks", {{"acquired", many}}}});
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
        const auto error = nlohmann::json::parse(answer.body())["error"];
        BOOST_TEST_CONTEXT(one.text.substr(0, 300)) {
            check_refused(answer, one.status, one.code);
            BOOST_TEST(answer[http::field::content_type] == "application/json");
            BOOST_TEST(error.value("field", "") == one.field);
            BOOST_TEST(!error["message"].get<std::string>().empty());
        }
    }
    BOOST_TEST(status()["service"]["rejected"] == std::size(cases));
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
            check_refused(answer, 404, "not_found");
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
    check_has(status()["service"], {{"rejected", 0}, {"requests", 0}});
    for (const char* target : {"/favicon", "/x/favicon.ico", "/v1/favicon.ico"}) {
        BOOST_TEST(ask(request_text("GET", target)).result_int() == 404U);
    }
    BOOST_TEST(status()["service"]["rejected"] == 3);
}

BOOST_AUTO_TEST_CASE(wrong_methods_are_answered_with_the_allowed_ones) {
    const response on_likes = ask(request_text("PUT", likes, bob));
    check_refused(on_likes, 405, "method_not_allowed");
    BOOST_TEST(on_likes[http::field::allow] == "GET, POST, DELETE");
    const response on_status = ask(request_text("DELETE", "/v1/status"));
    BOOST_TEST(on_status.result_int() == 405U);
    BOOST_TEST(on_status[http::field::allow] == "GET");
}

BOOST_AUTO_TEST_CASE(too_large_requests_are_rejected) {
    const std::string body = request_text("POST", likes, std::string(1'000'000, 'x'));
    check_refused(ask_too_much(body), 413, "body_too_large");

    std::string chunked = "POST " + likes + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    chunked += "f4240\r\n" + std::string(1'000'000, 'x') + "\r\n0\r\n\r\n";
    check_refused(ask_too_much(chunked), 413, "body_too_large");

    const std::string field = "X: " + std::string(100'000, 'x') + "\r\n";
    check_refused(ask_too_much("GET /healthz HTTP/1.1\r\n" + field + "\r\n"), 431,
                  "header_too_large");
}

BOOST_AUTO_TEST_CASE(requests_that_are_not_http_are_rejected) {
    check_refused(ask("this is no HTTP\r\n\r\n"), 400, "bad_request");
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
    check_has(get("/healthz"), {{"status", "ok"}, {"instances", 3}, {"quorum", 2}});
    const auto now = status();
    BOOST_TEST(now["instances"].size() == 3U);
    for (const char* field : {"address", "state", "reason", "version", "in_flight"}) {
        BOOST_TEST(now["instances"][0].contains(field));
    }
    BOOST_TEST(now["instances"][0]["address"] == "memory://a");
    BOOST_TEST(now["locking"] == true);
}

bool has_line(const response& answer, const std::string& line) {
    return ("\n" + answer.body()).find("\n" + line + "\n") != std::string::npos;
}

BOOST_AUTO_TEST_CASE(metrics_describe_the_service_and_its_locks) {
    like();
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

BOOST_FIXTURE_TEST_CASE(metrics_without_locks_are_those_of_the_service, fixture_without_locks) {
    const response answer = ask(request_text("GET", "/metrics"));
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
    check_has(status()["service"], {{"requests", 0}, {"rejected", 0}, {"in_flight", 0}});
    BOOST_TEST(has_line(ask(request_text("GET", "/metrics")), "likecounter_requests_total 0"));
}

BOOST_AUTO_TEST_CASE(events_show_the_status_and_a_post) {
    event_stream stream(address, "?entity=ada.first");
    BOOST_TEST(stream.receive_until("\n") == "HTTP/1.1 200 OK\r\n");
    BOOST_TEST(stream.receive_until("\n") == "Content-Type: text/event-stream\r\n");
    const auto first = stream.next();
    BOOST_TEST(first["instances"].size() == 3U);
    BOOST_TEST(first["post"]["likes"] == 0);
    BOOST_TEST(first["in_use"]["leases"].empty());
    BOOST_TEST(first["in_use"]["waits"]["count"] == 0);
    like();
    auto later = stream.next();
    nlohmann::json waits = later["in_use"]["waits"];
    // The set of likes changes first, and an event may be made before the count follows.
    while (later["post"]["counted"] == 0 || waits["count"] == 0) {
        later = stream.next();
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
        later = stream.next();
    }
    BOOST_TEST(later["in_use"]["waits"]["p50"].is_null());
}

BOOST_AUTO_TEST_CASE(readers_of_events_are_limited_and_not_counted) {
    std::list<event_stream> streams;
    for (int i = 0; i != 16; ++i) {
        streams.emplace_back(address).next();
    }
    const response refused = ask(request_text("GET", "/v1/events"));
    check_refused(refused, 503, "too_many_listeners");
    check_has(status()["service"], {{"requests", 0}, {"errors", 0}, {"in_flight", 0}});

    streams.clear();  // The service finds out when it sends the next event or heartbeat.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::string first_line;
    while (first_line != "HTTP/1.1 200 OK\r\n" && std::chrono::steady_clock::now() < deadline) {
        first_line = event_stream(address).receive_until("\n");
    }
    BOOST_TEST(first_line == "HTTP/1.1 200 OK\r\n");
}

BOOST_AUTO_TEST_CASE(events_of_a_wrong_post_are_rejected) {
    const response answer = ask(request_text("GET", "/v1/events?entity=ada"));
    BOOST_TEST(answer.result_int() == 400U);
    BOOST_TEST(ask(request_text("POST", "/v1/events")).result_int() == 405U);
}

BOOST_AUTO_TEST_CASE(stopping_ends_a_stream_of_events) {
    event_stream stream(address);
    stream.next();
    process.ask_to_stop();
    BOOST_TEST(process.exit_code() == 0);
}

BOOST_AUTO_TEST_CASE(experiments_need_the_option) {
    const response answer = ask(request_text("PUT", "/v1/experiment", R"({"locking": false})"));
    check_refused(answer, 403, "no_experiments");
    BOOST_TEST(status()["locking"] == true);
}

BOOST_FIXTURE_TEST_CASE(an_experiment_switches_the_locks_off_and_on, fixture_with_experiments) {
    BOOST_TEST(nlohmann::json::parse(change(R"({"locking": false})").body())["locking"] == false);
    like();
    check_has(status(), {{"locking", false}, {"locks", {{"acquired", 0}}}});
    BOOST_TEST(nlohmann::json::parse(change(R"({"locking": true})").body())["locking"] == true);
    json(request_text("DELETE", likes, bob));
    check_has(status(),
              {{"locking", true}, {"locks", {{"acquired", 1}}}, {"service", {{"requests", 2}}}});
}

/// Connections that send likes, and an event that shows the lock of the first like.
struct held_lock {
    /// So many connections send a like. On a busy machine, the likes may be over before an event shows their
    /// lock. Then they are sent again.
    held_lock(const asio::ip::tcp::endpoint& address, int connections) : events(address) {
        for (int i = 0; i != connections; ++i) {
            likes.emplace_back(address);
        }
        nlohmann::json event;
        do {
            event = events.next();
            used = event["in_use"];
            if (event["service"]["accepted"] == sent) {
                if (sent != 0) {
                    receive();
                }
                for (http_connection& one : likes) {
                    one.send(like_of(++sent));
                }
            }
        } while (used["leases"].empty() || (connections > 1 && used["waiting"].empty()));
    }

    void receive() {
        for (http_connection& one : likes) {
            BOOST_TEST(one.receive().result_int() == 200U);
        }
    }

    event_stream events;
    std::list<http_connection> likes;
    int sent = 0;
    nlohmann::json used;
};

BOOST_FIXTURE_TEST_CASE(events_show_a_held_lock_and_its_waiters, fixture_with_experiments) {
    BOOST_TEST(change(R"({"dawdle_ms": 2000})").result_int() == 200U);
    held_lock lock(address, 2);
    nlohmann::json& used = lock.used;
    const auto lease = used["leases"][0];
    check_has(lease,
              {{"name", "like:ada.first"}, {"holders", 1}, {"is_lost", false}, {"answers", ""}});
    BOOST_TEST(lease["fence"].is_string());
    BOOST_TEST(lease["holder"].get<std::string>().find(':') != std::string::npos);
    BOOST_TEST(lease["age_ms"] > 0);
    check_has(used["waiting"][0], {{"name", "like:ada.first"}, {"waiters", 1}});
    BOOST_TEST(used["waiting"][0]["longest_ms"] > 0);
    check_has(used, {{"all_leases", 1}, {"all_waiters", 1}});
    change(R"({"dawdle_ms": 0})");
    lock.receive();
    while (!used["leases"].empty() || !used["waiting"].empty()) {
        used = lock.events.next()["in_use"];
    }
    check_has(status(), {{"in_use", {{"waits", {{"count", lock.sent}}}}},  // since the start
                         {"locks", {{"held", 0}, {"acquiring", 0}, {"overstays", 0}}}});
}

BOOST_FIXTURE_TEST_CASE(stopping_ends_a_stream_while_a_lock_is_held, fixture_with_experiments) {
    BOOST_TEST(change(R"({"dawdle_ms": 5000})").result_int() == 200U);
    held_lock lock(address, 1);
    process.ask_to_stop();
    lock.events.receive_rest();
    lock.receive();
    BOOST_TEST(process.exit_code() == 0);
}

BOOST_FIXTURE_TEST_CASE(without_locks_nothing_is_in_use, fixture_without_locks) {
    like();
    const auto now = status();
    BOOST_TEST(now["locking"] == false);
    BOOST_TEST(!now.contains("locks"));
    BOOST_TEST(now["in_use"] ==
               nlohmann::json::parse(R"({"leases": [], "waiting": [], "all_leases": 0,
                                         "all_waiters": 0,
                                         "waits": {"count": 0, "p50": null, "p99": null}})"));
    event_stream stream(address);
    BOOST_TEST(stream.next()["in_use"] == now["in_use"]);
}

BOOST_FIXTURE_TEST_CASE(wrong_experiments_are_rejected, fixture_with_experiments) {
    for (const char* body :
         {"[]", R"({"locking": 1})", R"({"dawdle_ms": -1})", R"({"dawdle_ms": 60001})"}) {
        BOOST_TEST_CONTEXT(body) {
            BOOST_TEST(change(body).result_int() == 400U);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(what_another_site_sends_changes_nothing, fixture_with_experiments) {
    const struct {
        std::string sender;
        std::string code;  ///< If empty, the service accepts it.
    } cases[] = {
        {"Host: localhost\r\nOrigin: http://elsewhere.example\r\n", "foreign_origin"},
        {"Host: localhost:80\r\nOrigin: http://localhost:81\r\n", "foreign_origin"},
        {"Host: localhost\r\nOrigin: null\r\n", "foreign_origin"},
        // The site has given its name our address.
        {"Host: elsewhere.example:80\r\nOrigin: http://elsewhere.example:80\r\n", "foreign_host"},
        {"Host: localhost.elsewhere.example\r\n", "foreign_host"},
        {"", "foreign_host"},
        {"Host: localhost:80\r\nOrigin: http://localhost:80\r\n", ""},
        {"Host: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:80\r\n", ""},
        {"Host: [::1]:80\r\n", ""},
        {"Host: [::1]\r\n", ""},
    };
    for (const auto& [sender, code] : cases) {
        for (const std::string& text :
             {request_text("POST", likes, bob, "application/json", sender),
              request_text("POST", likes, bob, "",
                           sender),  // A browser sends it without a question.
              request_text("DELETE", likes + "?user=bob", "", "", sender),
              request_text("PUT", "/v1/experiment", R"({"locking": false})", "", sender)}) {
            BOOST_TEST_CONTEXT(text) {
                const response answer = ask(text);
                if (code.empty()) {
                    BOOST_TEST(answer.result_int() == 200U);
                } else {
                    check_refused(answer, 403, code);
                }
            }
        }
        if (!code.empty()) {
            check_has(status(), {{"locking", true}, {"service", {{"accepted", 0}}}});
        }
    }
}

BOOST_AUTO_TEST_CASE(a_service_may_have_names) {
    const fixture named(in_memory({"--host", "likes.example", "--host", "other.example"}));
    for (const char* sender : {"Host: likes.example\r\nOrigin: https://likes.example\r\n",
                               "Host: Other.example:8080\r\n", "Host: localhost\r\n"}) {
        const std::string text = request_text("POST", likes, bob, "", sender);
        BOOST_TEST(named.ask(text).result_int() == 200U, text);
    }
}

BOOST_AUTO_TEST_CASE(half_open_requests_end_after_five_seconds) {
    const fixture crowded(in_memory({"--max-connections", "3"}));
    const auto text = request_text("GET", "/healthz");
    http_connection idle(crowded.address);
    BOOST_TEST(idle.exchange(text).result_int() == 200U);
    http_connection half_open(crowded.address);
    half_open.send(text.substr(0, text.size() - 2));
    http_connection silent(crowded.address);

    BOOST_TEST(crowded.ask(text).result_int() == 200U);  // as soon as a connection has ended
    half_open.receive_rest();
    silent.receive_rest();
    BOOST_TEST(idle.exchange(text).result_int() == 200U);
}

BOOST_AUTO_TEST_CASE(the_page_is_served) {
    const response page = ask(request_text("GET", "/"));
    BOOST_TEST(page.result_int() == 200U);
    const std::string policy = page[http::field::content_security_policy];
    BOOST_TEST(policy.starts_with("default-src 'none'; script-src 'nonce-"), policy);
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
        busy.exchange("POST " + likes + " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n" +
                      "Content-Length: " + std::to_string(bob.size()) + "\r\n\r\n");
    BOOST_TEST(go_on.result_int() == 100U);
    process.ask_to_stop();
    BOOST_CHECK_THROW(idle.receive(), boost::system::system_error);  // closed: it is stopping

    const response answer = busy.exchange(bob);
    BOOST_TEST(answer.result_int() == 200U);
    BOOST_TEST(!answer.keep_alive());
    BOOST_TEST(nlohmann::json::parse(answer.body())["changed"] == true);
    BOOST_CHECK_THROW(http_connection{address}, boost::system::system_error);
    BOOST_TEST(process.exit_code() == 0);
}

BOOST_AUTO_TEST_CASE(stopping_an_idle_service_exits_with_success) {
    process.ask_to_stop();
    BOOST_TEST(process.exit_code() == 0);
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
            BOOST_TEST(process.exit_code() == 2);
        }
    }
}

BOOST_AUTO_TEST_CASE(help_exits_with_success) {
    service_process process({"--help"});
    BOOST_TEST(process.exit_code() == 0);
}

// Nobody listens on the ports 1 and 2.
BOOST_AUTO_TEST_CASE(without_a_quorum_the_service_is_unhealthy_and_likes_fail) {
    fixture service({"--listen", "127.0.0.1:0", "--data", "memory", "--lock", "redis://127.0.0.1:1",
                     "--lock", "redis://127.0.0.1:2", "--patience-ms", "60000"});
    const response health = service.ask(request_text("GET", "/healthz"));
    BOOST_TEST(health.result_int() == 503U);
    BOOST_TEST(nlohmann::json::parse(health.body())["instances_ready"] == 0);

    const response like = service.ask(request_text("POST", likes, bob));
    check_refused(like, 503, "locks_unavailable");
    BOOST_TEST(like[http::field::retry_after] == "1");

    // Only the like counts: a request for the health was answered.
    check_has(service.status()["service"], {{"requests", 1}, {"errors", 1}});

    service.process.ask_to_stop();
    BOOST_TEST(service.process.exit_code() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace like_counter::test
