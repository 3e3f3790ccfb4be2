// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/connection.hpp"

#include "instance/redis/decode.hpp"
#include "instance/redis/stream.hpp"
#include "platform/clock.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>

namespace colock::instance::redis {
namespace asio = boost::asio;
using boost::system::error_code;
using resp::value;

namespace {

/// A grant without further data.
const core::vote plain_grant = core::vote::granted();

constexpr std::string_view ping_text = "*1\r\n$4\r\nPING\r\n";

/// Returns the beginning of the received bytes, for display. Removes the password if the server has repeated
/// it.
std::string excerpt(const probe& login, std::string_view bytes) {
    constexpr std::size_t most = 32;
    const std::string text = without_password(bytes.substr(0, most), login.password());
    std::string result = "\"";
    for (const char c : std::string_view(text).substr(0, most)) {
        result += ' ' <= c && c <= '~' ? c : '.';
    }
    return result + (bytes.size() > most ? "...\"" : "\"");
}

/// Returns the end reason after bytes that are not RESP3.
std::string what_is_not_resp(const probe& login, std::string_view bytes) {
    constexpr char tls_alert = 21;
    return bytes.front() == tls_alert
               ? "it answers with TLS: the URI of a server with TLS begins with rediss://"
               : "it sent what is not RESP3: " + excerpt(login, bytes);
}

std::string in_ms(std::chrono::milliseconds time) {
    return std::to_string(time.count()) + " ms";
}

/// The part that depends on the type of the socket.
template <typename Executor>
class connection_on final : public connection {
public:
    connection_on(const Executor& executor, const address& to, const connection_settings& settings)
        : connection(executor, to, settings), stream_(executor, to) {}

    [[nodiscard]] bool has_unread() const noexcept override { return stream_.has_unread(); }

private:
    asio::awaitable<error_code> connect(endpoint_type endpoint) override {
        return stream_.connect(std::move(endpoint));
    }
    [[nodiscard]] bool encrypts() const noexcept override { return stream_.encrypts(); }
    asio::awaitable<error_code> shake_hands() override {
        return stream_.shake_hands(to(), tls_contexts());
    }

    void read() override {
        if (const std::span<char> to = room(); !to.empty()) {
            stream_.async_read_some(asio::buffer(to.data(), to.size()),
                                    [self = self()](const error_code& failure, std::size_t size) {
                                        if (self->on_read(failure, size)) {
                                            self->read();
                                        }
                                    });
        }
    }

    /// Keeps the bytes that the socket does not accept immediately, and writes them as soon as it does.
    void write(std::string_view text) override {
        if (!writing_) {
            text.remove_prefix(stream_.write_now(text));
        }
        if (!text.empty()) {
            waiting_ += text;
            if (!writing_) {
                write_waiting();
            }
        }
    }

    void write_waiting() {
        writing_ = true;
        being_written_.clear();
        being_written_.swap(waiting_);
        stream_.async_write(being_written_,
                            [self = self()](const error_code& failure, std::size_t /*size*/) {
                                self->on_written(failure);
                            });
    }

    /// Stops writing after an error. The reader ends the connection, because the server may have sent the
    /// reason before it closed.
    void on_written(const error_code& failure) {
        if (!failure) {
            writing_ = false;
            if (!waiting_.empty()) {
                write_waiting();
            }
        }
    }

    std::string explain(const error_code& failure) override {
        return stream_.explain(failure, to());
    }
    void disconnect() noexcept override { stream_.close(); }
    int native_handle() override { return stream_.native_handle(); }

    [[nodiscard]] std::shared_ptr<connection_on> self() {
        return std::static_pointer_cast<connection_on>(shared_from_this());
    }

    stream<Executor> stream_;
    bool writing_ = false;
    std::string being_written_;
    std::string waiting_;  // Written after `being_written_`.
};

}  // namespace

std::shared_ptr<connection> connection::make(const asio::any_io_executor& executor,
                                             const address& to,
                                             const connection_settings& settings) {
    using usual_executor = asio::io_context::executor_type;
    if (const auto* const usual = executor.target<usual_executor>()) {
        return std::make_shared<connection_on<usual_executor>>(*usual, to, settings);
    }
    return std::make_shared<connection_on<asio::any_io_executor>>(executor, to, settings);
}

connection::connection(const asio::any_io_executor& executor, const address& to,
                       const connection_settings& settings)
    : to_(to),
      settings_(settings),
      reader_(settings.max_reply_size),
      signal_(executor, asio::steady_timer::time_point::max()),
      watch_timer_(executor) {}

// --- Lifetime ---------------------------------------------------------------------------------------

asio::awaitable<std::string> connection::serve(std::string numeric_host,
                                               std::shared_ptr<connection_owner> owner) {
    const auto self = shared_from_this();
    owner_ = std::move(owner);
    set_up_until_ = platform::clock::now() + settings_.connect_timeout;
    watch();
    co_await set_up(std::move(numeric_host));
    while (!ended()) {
        co_await signal_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    watch_timer_.cancel();
    socket_.reset();
    owner_->on_ended(end_reason_);
    fail_unanswered();
    co_return end_reason_;
}

/// Connects, so that the probe can be sent.
asio::awaitable<error_code> connection::open(std::string numeric_host) {
    error_code failure;
    endpoint_type endpoint = endpoint_of(to_, numeric_host, failure);
    if (!failure) {
        failure = co_await connect(std::move(endpoint));
    }
    if (!failure && !ended()) {
        socket_.set(native_handle());
        if (encrypts()) {
            stage_ = stage::shaking_hands;
            failure = co_await shake_hands();
        }
    }
    if (!failure && !ended()) {
        probe_.emplace(to_, settings_.deployment, settings_.key_prefix);
    }
    co_return failure;
}

/// Runs until the first command can be sent, or the connection has ended. Files are read only after the
/// server has accepted the connection, so that a failed attempt is cheap.
asio::awaitable<void> connection::set_up(std::string numeric_host) {
    try {
        if (const error_code failure = co_await open(std::move(numeric_host))) {
            end(explain(failure) + blocked_note());
        }
    } catch (const std::exception& failure) {
        end(failure.what());
    }
    if (ended()) {
        co_return;
    }
    stage_ = stage::probing;
    expect(expectation::kind_type::probe, platform::clock::now());
    write(probe_->text());
    read();
    while (!ended() && !probe_->answered()) {
        co_await signal_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    if (ended()) {
        co_return;
    }
    facts_ = probe_->facts();
    std::string objection = probe_->objection().value_or(std::string());
    if (objection.empty()) {
        stage_ = stage::ready;
        last_sent_ = platform::clock::now();
        objection = owner_->on_ready(facts_);
    }
    if (!objection.empty()) {
        end(std::move(objection));
    }
}

/// Ends the connection permanently. The first reason counts. Makes no call to the owner, so it can be called
/// from anywhere.
void connection::end(std::string reason) noexcept {
    if (!ended()) {
        end_reason_ = std::move(reason);
        disconnect();
        signal_.cancel();
    }
}

void connection::fail_unanswered() {
    std::shared_ptr<const std::string> reason;
    try {
        reason = std::make_shared<const std::string>(end_reason_);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the votes matter more
    }
    const core::time_point now = platform::clock::now();
    while (!expected_.empty()) {
        sent_batch& sent = expected_.front().sent;
        while (const submission* const unanswered = sent.next()) {
            sent.advance();
            owner_->on_vote(*unanswered, core::vote::failed(core::failure::connection_lost, reason),
                            now);
        }
        expected_.pop_front();
    }
}

/// Returns why the server has closed the connection. The server may have sent the reason.
std::string connection::reason_for(const error_code& failure) {
    if (stage_ == stage::probing) {
        if (std::optional<std::string> last_words = probe_->objection()) {
            return *std::move(last_words);
        }
    }
    std::string result = explain(failure);
    const bool is_tcp = to_.unix_path.empty();
    if (stage_ == stage::probing && !probe_->begun() && is_tcp && !encrypts()) {
        result += " before it answered: the URI of a server with TLS begins with rediss://";
    }
    return result;
}

// --- Commands and replies ---------------------------------------------------------------------------

void connection::execute(sent_batch commands, std::string_view text, core::time_point now) {
    expect(expectation::kind_type::batch, now).sent = std::move(commands);
    if (ended()) {
        return;
    }
    try {
        write(text);
        last_sent_ = now;
    } catch (const std::bad_alloc&) {  // It is unknown how much was written.
        forget(std::prev(expected_.end()));
        end("out of memory");
        throw;
    }
}

connection::expectation& connection::expect(expectation::kind_type kind, core::time_point now) {
    if (spares_.empty()) {
        spares_.emplace_back();
    }
    expected_.splice(expected_.end(), spares_, spares_.begin());
    expectation& result = expected_.back();
    result.kind = kind;
    result.sent_at = now;
    result.blocked_before = blocked_in_all_;
    return result;
}

void connection::forget(std::list<expectation>::iterator done) noexcept {
    done->sent = sent_batch();
    spares_.splice(spares_.begin(), expected_, done);
}

std::span<char> connection::room() noexcept {
    try {
        return input_.room();
    } catch (const std::bad_alloc&) {
        end("out of memory");
        return {};
    }
}

bool connection::on_read(const error_code& failure, std::size_t size) {
    if (failure) {
        end(reason_for(failure));
    }
    input_.commit(size);
    read_at_ = platform::clock::now();
    try {
        read_replies();
    } catch (...) {
        end("an exception was thrown while its replies were read");
        throw;
    }
    owner_->on_answered(std::exchange(first_answered_, std::nullopt),
                        std::exchange(all_answered_, std::nullopt));
    return !ended();
}

void connection::read_replies() {
    while (!ended()) {
        const std::string_view bytes = input_.bytes();
        switch (reader_.read(bytes)) {
            case resp::reader::status::incomplete:
                return;
            case resp::reader::status::malformed:
                end(what_is_not_resp(*probe_, bytes.substr(reader_.position())));
                break;
            case resp::reader::status::too_large:
                end("a reply is larger than " + std::to_string(settings_.max_reply_size) +
                    " bytes (max_reply_size)");
                break;
            case resp::reader::status::complete:
                input_.consume(reader_.size());
                if (reader_.root().type == resp::type::push) {
                    on_push(bytes.substr(0, reader_.size()));
                } else {
                    on_reply(reader_.root(), bytes.substr(0, reader_.size()));
                }
                break;
        }
    }
}

/// Handles a push. `invalidate` contains the names of changed keys, or null for all keys. Ignores other
/// pushes. See https://redis.io/docs/latest/develop/reference/client-side-caching/
void connection::on_push(std::string_view push) {
    resp::cursor values(push);
    if (values.next().children != 2 || values.next().text != "invalidate") {
        return;
    }
    const value keys = values.next();
    if (keys.type == resp::type::null) {
        owner_->on_all_keys_changed();
    }
    for (std::size_t i = 0; i != keys.children; ++i) {
        const value key = values.next();
        owner_->on_key_changed(key.text);
        values.skip_children(key);
    }
}

void connection::on_reply(const value& root, std::string_view reply) {
    if (expected_.empty()) {
        end("it sent a reply that no command waits for" +
            (is_error(root) ? ": " + without_password(root.text, probe_->password())
                            : std::string()));
        return;
    }
    expectation& next = expected_.front();
    bool done = true;
    switch (next.kind) {
        case expectation::kind_type::probe:
            if (!probe_->begun()) {
                owner_->on_probing();
            }
            probe_->on_reply(reply);
            done = probe_->answered();
            if (done) {
                signal_.cancel();
            }
            break;
        case expectation::kind_type::ping:
            break;
        case expectation::kind_type::batch:
            on_reply_to_batch(next, root);
            done = next.sent.answered();
            break;
    }
    if (done) {
        forget(expected_.begin());
    }
}

void connection::on_reply_to_batch(expectation& batch, const value& root) {
    // If all commands are answered, only the number of replicas is missing.
    if (batch.sent.next() == nullptr) {
        batch.sent.waits_for_replicas = false;
        owner_->on_replicated(root, read_at_);
        return;
    }
    if (batch.sent.is_unanswered()) {
        first_answered_ = batch.sent_at;
    }
    on_reply_to_command(batch.sent, root);
    if (batch.sent.next() == nullptr) {
        all_answered_ = batch.sent_at;
    }
}

void connection::on_reply_to_command(sent_batch& sent, const value& root) {
    const submission* const answered = sent.next();
    const kinds::command& command = answered->command;
    if (const std::size_t count = sent_as_one(sent.unanswered(), facts_.capabilities, sent.form);
        count > 1) {
        on_reply_to_many(sent, count, root);
        return;
    }
    // Comes first, because the reply to ASKING looks like a SET that grants.
    if (has_prelude(command, facts_.capabilities, sent.form) && !sent.prelude_answered) {
        sent.prelude_answered = true;
        return;
    }
    if (is_plain_grant(command, root)) {  // The usual reply.
        sent.advance();
        owner_->on_vote(*answered, plain_grant, read_at_);
        return;
    }
    if (is_error(root) && on_misplaced(sent, root)) {
        return;
    }
    sent.advance();
    if (command.kind->is_native(command, facts_.capabilities, sent.form)) {
        if (is_error(root)) {
            owner_->on_refused(*answered, is_refused_for_good(root));
        } else {
            vote_on(*answered, command.kind->decode_native(command, root));
        }
    } else if (!is_in_full(sent.form) && is_unknown_script(root)) {
        owner_->on_unknown_script(*answered, false);
    } else {
        vote_on(*answered, decode(command, root));
    }
}

/// Returns whether the server does not, or no longer, execute commands on this key. If it reports this but is
/// not a cluster node, it is not the server that the URI describes. The connection then ends.
bool connection::on_misplaced(sent_batch& sent, const value& root) {
    const submission& answered = *sent.next();
    const bool redirected = is_redirection(root);
    if (redirected && settings_.deployment == deployment::cluster) {
        sent.advance();
        owner_->on_redirected(answered, root);
        return true;
    }
    if (!redirected && !is_from_replica(root)) {
        return false;
    }
    sent.advance();
    vote_on(answered, decode(answered.command, root));
    end(redirected ? "it is a node of a Redis Cluster, whose URI begins with redis+cluster://"
                   : "it has become a replica (" + std::string(root.text) + ")");
    return true;
}

void connection::on_reply_to_many(sent_batch& sent, std::size_t count, const value& root) {
    const kinds::command& first = sent.next()->command;
    const kinds::coalescing* const together =
        first.kind->coalesces(first, facts_.capabilities, sent.form);
    for (std::size_t i = 0; i != count; ++i) {
        const submission& answered = *sent.next();
        sent.advance();
        if (!is_in_full(sent.form) && is_unknown_script(root)) {
            owner_->on_unknown_script(answered, true);
        } else if (is_error(root)) {
            owner_->on_refused(answered, is_refused_for_good(root));
        } else {
            vote_on(answered, together->decode(i, count, root));
        }
    }
}

/// Passes the vote on. After a reply that does not fit its command, replies may no longer match commands, so
/// the connection ends.
void connection::vote_on(const submission& answered, const core::vote& vote) {
    owner_->on_vote(answered, vote, read_at_);
    if (vote.reason == core::failure::unexpected_reply) {
        end("it sent a reply that is no answer to the command");
    }
}

// --- Watchdog ---------------------------------------------------------------------------------------

/// Checks regularly whether the server is late with a reply, even if it sends other data. Sends a PING if no
/// reply is pending.
void connection::watch() {
    const core::time_point now = platform::clock::now();
    watch_due_ = std::clamp(due(), now, now + settings_.silence_timeout / 4);
    watch_timer_.expires_after(watch_due_ - now);
    watch_timer_.async_wait([self = shared_from_this()](const error_code& cancelled) {
        if (!cancelled && !self->ended()) {
            self->check();
        }
    });
}

void connection::check() {
    const core::time_point now = platform::clock::now();
    const core::duration late = now - watch_due_;
    if (late > settings_.silence_timeout / 4) {
        blocked_for_ = recently_blocked(now) ? std::max(blocked_for_, late) : late;
        blocked_until_ = now;
        blocked_in_all_ += late;
    }
    if (now >= due()) {
        end(late_reason() + blocked_note());
        return;
    }
    if (expected_.empty() && now - last_sent_ >= settings_.silence_timeout / 2 &&
        stage_ == stage::ready) {
        ping(now);
    }
    watch();
}

void connection::ping(core::time_point now) {
    try {
        expect(expectation::kind_type::ping, now);
        write(ping_text);
        last_sent_ = now;
    } catch (const std::bad_alloc&) {
        end("out of memory");
    }
}

/// Returns when the next reply is due.
core::time_point connection::due() const noexcept {
    if (stage_ != stage::ready) {
        return set_up_until_;
    }
    if (expected_.empty()) {
        return core::never;
    }
    // The time for which the event loop was blocked does not count. After a blockage, replies may still be unread.
    const expectation& next = expected_.front();
    const bool is_ping = next.kind == expectation::kind_type::ping;
    core::duration blocked = blocked_in_all_ - next.blocked_before;
    if (blocked != core::duration::zero()) {
        // The first blockage may have begun before the command was sent. That part of it does not excuse the server.
        blocked = std::clamp(blocked_until_ - next.sent_at, core::duration::zero(), blocked);
    }
    const core::duration limit =
        is_ping ? settings_.silence_timeout / 2 : settings_.silence_timeout;
    return std::max(next.sent_at + blocked + limit, blocked_until_ + settings_.silence_timeout / 4);
}

std::string connection::late_reason() const {
    const std::string limit = " (connect_timeout, " + in_ms(settings_.connect_timeout) + ")";
    switch (stage_) {
        case stage::connecting:
            return "it could not be connected to in time" + limit;
        case stage::shaking_hands:
            return "the TLS handshake was not done in time" + limit +
                   ": the URI of a server without TLS begins with redis://";
        case stage::probing:
            return "the probe was not answered in time" + limit;
        case stage::ready:
            break;
    }
    const std::string silence = in_ms(settings_.silence_timeout) + " (silence_timeout)";
    return expected_.front().kind == expectation::kind_type::ping
               ? "nothing heard from it for " + silence
               : "a command was not answered within " + silence;
}

bool connection::recently_blocked(core::time_point now) const {
    return blocked_until_ != core::time_point::min() &&
           now - blocked_until_ <= 2 * settings_.silence_timeout;
}

/// Returns the note on a blocked event loop for the reason of a timeout.
std::string connection::blocked_note() const {
    using std::chrono::milliseconds;
    if (!recently_blocked(platform::clock::now())) {
        return {};
    }
    return ", the event loop was blocked for " +
           std::to_string(std::chrono::duration_cast<milliseconds>(blocked_for_).count()) + " ms";
}

}  // namespace colock::instance::redis
