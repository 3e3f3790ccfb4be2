#include "instance/redis/connection.hpp"

#include "instance/clock.hpp"
#include "instance/redis/decode.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/redis/connection.hpp>
#include <boost/redis/error.hpp>
#include <boost/redis/logger.hpp>
#include <boost/version.hpp>

#include <openssl/ssl.h>
#include <openssl/tls1.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

static_assert(
    BOOST_VERSION >= 109000,
    "colock needs Boost 1.90 or newer: before it, cancelling a request that was sent tears "
    "the connection down, and every other lock's renewal with it");

namespace colock::instance::redis {
namespace asio = boost::asio;
namespace resp3 = boost::redis::resp3;
using boost::redis::any_adapter;
using boost::system::error_code;

/// An adapter that fails with this ends the connection before anything else is read.
const error_code stop_reading = asio::error::connection_aborted;

/// Hears what the server tells unasked: of keys that have changed (`invalidate`, and their names, or null
/// for all keys). Ignores other pushes. Boost.Redis also gives it a reply that no command waits for: then
/// replies and commands are out of step, and the connection ends.
class push_adapter {
public:
    explicit push_adapter(connection& source) : source_(&source) {}

    void on_init() {}
    void on_done() {}
    void on_node(const resp3::node_view& node, error_code& failure) {
        switch (node.depth) {
            case 0:
                if (node.data_type != resp3::type::push) {
                    source_->give_up("it sent a reply that no command waits for");
                    failure = stop_reading;
                }
                about_keys_ = false;
                break;
            case 1:
                about_keys_ = about_keys_ || node.value == "invalidate";
                if (about_keys_ && node.data_type == resp3::type::null) {
                    source_->owner_->on_all_keys_changed();
                }
                break;
            default:
                if (about_keys_) {
                    source_->owner_->on_key_changed(node.value);
                }
        }
    }

private:
    connection* source_;
    bool about_keys_ = false;
};

namespace {

/// "Done", and no more to tell.
const core::vote plain_grant = core::vote::granted();

/// For `set_receive_response`.
struct pushes {
    connection& from;
};

push_adapter boost_redis_adapt(pushes& p) {
    return push_adapter(p.from);
}

/// Boost.Redis's part.
template <typename Executor>
class connection_on final : public connection {
public:
    connection_on(const Executor& executor, const address& to, const connection_settings& settings,
                  asio::ssl::context tls)
        : connection(executor, to, settings),
          redis_(executor, std::move(tls),
                 boost::redis::logger(boost::redis::logger::level::disabled)) {
        pushes all{*this};
        redis_.set_receive_response(all);
        if (to.tls) {
            name_host(to.host);
        }
    }

private:
    void start_run(const boost::redis::config& settings) override {
        redis_.async_run(settings, [self = this->self()](const error_code& failure) {
            self->on_run_ended(failure);
        });
    }

    void start_receive() override {
        auto on_push = [self = this->self()](const error_code& failure, auto... /*bytes*/) {
            self->on_received(failure);
        };
#if BOOST_VERSION >= 109100
        redis_.async_receive2(std::move(on_push));
#else
        redis_.async_receive(std::move(on_push));
#endif
    }

    void start_execute(std::unique_ptr<sent_batch> commands, any_adapter replies) override {
        const boost::redis::request& request = *commands->request;
        redis_.async_exec(request, std::move(replies),
                          [self = this->self(), commands = std::move(commands)](
                              const error_code& failure, std::size_t /*bytes*/) mutable {
                              self->on_executed(std::move(commands), failure);
                          });
    }

    asio::awaitable<error_code> ask(const boost::redis::request& questions, any_adapter replies,
                                    std::chrono::milliseconds timeout) override {
        const auto [failure, bytes] = co_await redis_.async_exec(
            questions, std::move(replies),
            asio::cancel_after(timeout, asio::as_tuple(asio::use_awaitable)));
        co_return failure;
    }

    void cancel(boost::redis::operation what) override {
        redis_.cancel(what);
    }

    [[nodiscard]] bool is_connected() override {
        error_code none;
        socket().remote_endpoint(none);
        return !none;
    }

    /// Boost.Redis leaves Nagle's algorithm on, which costs a command that follows another up to 40 ms.
    void disable_nagle() override {
        error_code ignored;  // without it everything works, only slower
        socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    }

    int native_handle() override {
        return socket().native_handle();
    }

    /// Has the TLS handshake tell what host we want (SNI), where several share an address.
    void name_host(const std::string& host) {
        error_code no_address;
        asio::ip::make_address(host, no_address);
        if (!no_address) {
            return;  // only names may be told: RFC 6066
        }
        std::string name = host;
        if (::SSL_ctrl(tls_stream().native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME,
                       TLSEXT_NAMETYPE_host_name, name.data()) != 1) {
            throw std::runtime_error("TLS cannot be asked for the host " + host);
        }
    }

    auto& tls_stream() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
        return redis_.next_layer();  // deprecated, and the only way there is
#pragma GCC diagnostic pop
    }
    auto& socket() {
        return tls_stream().next_layer();
    }

    [[nodiscard]] std::shared_ptr<connection_on> self() {
        return std::static_pointer_cast<connection_on>(shared_from_this());
    }

    boost::redis::basic_connection<Executor> redis_;
};

}  // namespace

asio::ssl::context make_tls_context(const address& to) {
    asio::ssl::context tls(asio::ssl::context::tls_client);
    if (!to.tls) {
        return tls;
    }
    // A key that needs a password cannot be used: OpenSSL must not ask for it on the terminal.
    tls.set_password_callback([](auto&&...) { return std::string(); });
    if (to.tls_ca_file.empty()) {
        tls.set_default_verify_paths();
    } else {
        tls.load_verify_file(to.tls_ca_file);
    }
    if (!to.tls_cert_file.empty()) {
        tls.use_certificate_chain_file(to.tls_cert_file);
    }
    if (!to.tls_key_file.empty()) {
        tls.use_private_key_file(to.tls_key_file, asio::ssl::context::pem);
    }
    if (to.tls_verify) {
        tls.set_verify_mode(asio::ssl::verify_peer);
        tls.set_verify_callback(asio::ssl::host_name_verification(to.host));
    } else {
        tls.set_verify_mode(asio::ssl::verify_none);
    }
    return tls;
}

std::shared_ptr<connection> connection::make(const asio::any_io_executor& executor,
                                             const address& to, const connection_settings& settings,
                                             asio::ssl::context tls) {
    using usual_executor = asio::io_context::executor_type;
    if (const auto* const usual = executor.target<usual_executor>()) {
        return std::make_shared<connection_on<usual_executor>>(*usual, to, settings,
                                                               std::move(tls));
    }
    return std::make_shared<connection_on<asio::any_io_executor>>(executor, to, settings,
                                                                  std::move(tls));
}

connection::connection(const asio::any_io_executor& executor, const address& to,
                       const connection_settings& settings)
    : to_(to),
      settings_(settings),
      ended_signal_(executor, asio::steady_timer::time_point::max()),
      watch_timer_(executor) {}

asio::awaitable<std::string> connection::serve(std::string numeric_host,
                                               std::shared_ptr<connection_owner> owner) {
    const auto self = shared_from_this();
    owner_ = std::move(owner);
    run(numeric_host);
    std::string reason = co_await pass_probe();
    if (reason.empty()) {
        if (to_.unix_path.empty()) {
            disable_nagle();
            socket_.set(native_handle());
        }
        reason = owner_->on_ready(facts_);
    }
    if (!reason.empty()) {
        close();
    }
    if (!ended_) {
        co_await ended_signal_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    co_return reason.empty() ? end_reason_ : reason;
}

void connection::run(const std::string& numeric_host) {
    config_.use_ssl = to_.tls;
    config_.addr = {numeric_host, to_.port};
    config_.unix_socket = to_.unix_path;
    config_.use_setup = true;  // with an empty `setup`: logging in is the probe's
    config_.setup.clear();
    config_.resolve_timeout = settings_.connect_timeout;
    config_.connect_timeout = settings_.connect_timeout;
    config_.ssl_handshake_timeout = settings_.connect_timeout;
    // A ping after one interval without writing; the end after two without reading.
    config_.health_check_interval = settings_.silence_timeout / 2;
    config_.reconnect_wait_interval = std::chrono::seconds::zero();  // never; run ends instead
    config_.max_read_size = settings_.max_reply_size;
    start_run(config_);
    start_receive();
    watch();
}

/// Boost.Redis ends a connection on which nothing is heard. But one that is out of step can be heard, and
/// so can one that sends nothing but pushes: hence this look at the oldest command, every now and then.
void connection::watch() {
    const core::time_point now = clock::now();
    core::time_point next = now + settings_.silence_timeout / 4;
    if (const core::time_point since = waiting_since(); since != core::never) {
        const core::time_point end = std::max(since, blocked_until_) + settings_.silence_timeout;
        next = end > now ? std::min(next, end) : next;
    }
    watch_due_ = next;
    watch_timer_.expires_after(next - now);
    watch_timer_.async_wait([self = shared_from_this()](const error_code& cancelled) {
        if (!cancelled && !self->ended_) {
            self->check();
        }
    });
}

void connection::check() {
    const core::time_point now = clock::now();
    const core::duration late = now - watch_due_;
    if (late > settings_.silence_timeout / 4) {
        blocked_for_ = recently_blocked(now) ? std::max(blocked_for_, late) : late;
        blocked_until_ = now;
    }
    // What was answered while the event loop was blocked is still to be read: that time does not count.
    if (now - std::max(waiting_since(), blocked_until_) >= settings_.silence_timeout) {
        give_up("a command was not answered within " +
                std::to_string(settings_.silence_timeout.count()) + " ms (silence_timeout)" +
                blocked_note());
        close();
        return;
    }
    watch();
}

bool connection::recently_blocked(core::time_point now) const {
    return blocked_until_ != core::time_point::min() &&
           now - blocked_until_ <= 2 * settings_.silence_timeout;
}

/// For the reason of a timeout: our own fault, or not.
std::string connection::blocked_note() const {
    using std::chrono::milliseconds;
    if (!recently_blocked(clock::now())) {
        return {};
    }
    return "; the event loop was blocked for " +
           std::to_string(std::chrono::duration_cast<milliseconds>(blocked_for_).count()) + " ms";
}

/// Nothing that comes from the server is trusted any more. The caller ends the connection, too.
void connection::give_up(const std::string& reason) {
    if (end_reason_.empty()) {
        end_reason_ = reason;
        owner_->on_ended(reason);
    }
}

std::string connection::reason_for(const error_code& failure) const {
    using boost::redis::error;
    if (failure == error::pong_timeout) {
        return "nothing heard from it for too long" + blocked_note();
    }
    if (failure == error::exceeds_maximum_read_buffer_size) {
        return "a reply is larger than " + std::to_string(settings_.max_reply_size) +
               " bytes (max_reply_size)";
    }
    const bool is_timeout = failure == error::connect_timeout ||
                            failure == error::ssl_handshake_timeout ||
                            failure == error::write_timeout;
    return failure.message() + (is_timeout ? blocked_note() : std::string());
}

void connection::on_run_ended(const error_code& failure) {
    ended_ = true;
    socket_.reset();
    if (end_reason_.empty()) {
        end_reason_ = reason_for(failure);
    }
    owner_->on_ended(end_reason_);
    watch_timer_.cancel();
    cancel(boost::redis::operation::exec);
    cancel(boost::redis::operation::receive);
    ended_signal_.cancel();
}

/// Pushes that nobody takes would stall the reader once 256 of them are waiting.
void connection::on_received(const error_code& failure) {
    if (!failure && !ended_) {
        start_receive();
    }
}

/// Asks what must be known before the first command. Gives the reason against it, or an empty string.
asio::awaitable<std::string> connection::pass_probe() {
    probe questions(to_);
    any_adapter::impl_t replies = [&questions, &owner = *owner_, first = true](
                                      any_adapter::parse_event event, const resp3::node_view& node,
                                      error_code&) mutable {
        if (std::exchange(first, false)) {
            owner.on_probing();  // Boost.Redis does not tell when it is connected
        }
        if (event == any_adapter::parse_event::node) {
            questions.on_node(node);
        }
    };
    // It waits for the connection, too, whose steps Boost.Redis gives as much time.
    const error_code failure = co_await ask(questions.request(), any_adapter(std::move(replies)),
                                            settings_.connect_timeout);
    if (!end_reason_.empty()) {
        co_return end_reason_;
    }
    if (failure) {
        co_return failure == asio::error::operation_aborted
            ? (is_connected() ? "the probe was not answered in time"
                              : "it could not be connected to in time") +
                  (" (connect_timeout, " + std::to_string(settings_.connect_timeout.count()) +
                   " ms)") +
                  blocked_note()
            : failure.message();
    }
    if (const auto objection = questions.objection()) {
        co_return *objection;
    }
    facts_ = questions.facts();
    co_return std::string();
}

void connection::execute(sent_batch commands, core::time_point now) {
    std::unique_ptr<sent_batch> owned;
    if (spares_.empty()) {
        owned = std::make_unique<sent_batch>();
    } else {
        owned = std::move(spares_.back());
        spares_.pop_back();
    }
    *owned = std::move(commands);
    sent_batch& sent = *owned;
    any_adapter::impl_t replies = [this, &sent](any_adapter::parse_event event,
                                                const resp3::node_view& node, error_code& failure) {
        if (event == any_adapter::parse_event::node && node.depth == 0 && end_reason_.empty()) {
            on_reply(sent, node);
        }
        if (!end_reason_.empty()) {
            failure = stop_reading;
        }
    };
    sent_at_.push_back(now);
    const encoder::request_pointer request = sent.request;
    try {
        start_execute(std::move(owned), any_adapter(std::move(replies)));
    } catch (...) {  // nobody knows how far it has come
        last_request_ = request;
        close();
        give_up("out of memory");
        throw;
    }
}

void connection::on_reply(sent_batch& sent, const resp3::node_view& root) {
    const submission* const answered = sent.next();
    if (answered == nullptr) {
        return;
    }
    const core::verb verb = answered->command.verb;
    if (const std::size_t count = sent_as_one(sent.unanswered(), facts_.dialect, sent.form);
        count > 1) {
        on_reply_to_many(sent, count, root);
        return;
    }
    if (is_plain_grant(verb, root)) {  // which nearly every reply is
        sent.advance();
        owner_->on_vote(*answered, plain_grant, sent.soon());
        return;
    }
    if (has_prelude(verb, facts_.dialect) && !sent.prelude_answered) {
        sent.prelude_answered = true;
        return;
    }
    sent.advance();
    if (is_native(verb, facts_.dialect, sent.form)) {
        if (is_error(root)) {
            owner_->on_refused(*answered, is_refused_for_good(root));
        } else {
            vote_on(*answered, decode_native_delete(root), sent.soon());
        }
    } else if (!is_in_full(sent.form) && is_unknown_script(root)) {
        owner_->on_unknown_script(*answered, false);
    } else {
        vote_on(*answered, decode(verb, root), sent.soon());
    }
}

void connection::on_reply_to_many(sent_batch& sent, std::size_t count,
                                  const resp3::node_view& root) {
    for (std::size_t i = 0; i != count; ++i) {
        const submission& answered = *sent.next();
        sent.advance();
        if (!is_in_full(sent.form) && is_unknown_script(root)) {
            owner_->on_unknown_script(answered, true);
        } else if (is_error(root)) {
            owner_->on_refused(answered, is_refused_for_good(root));
        } else {
            vote_on(answered, decode_release_of(i, count, root), sent.soon());
        }
    }
}

/// A reply that is no answer to its command is that to another one, perhaps.
void connection::vote_on(const submission& answered, const core::vote& vote,
                         const submission* soon) {
    owner_->on_vote(answered, vote, soon);
    if (vote.reason == core::failure::unexpected_reply) {
        give_up("it sent a reply that is no answer to the command");
    }
}

void connection::on_executed(std::unique_ptr<sent_batch> sent, const error_code& failure) {
    sent_at_.pop_front();
    std::shared_ptr<const std::string> reason;
    while (const submission* const unanswered = sent->next()) {
        if (!reason) {
            reason = std::make_shared<const std::string>(end_reason_.empty() ? reason_for(failure)
                                                                             : end_reason_);
        }
        sent->advance();
        owner_->on_vote(*unanswered, core::vote::failed(core::failure::connection_lost, reason),
                        nullptr);
    }
    *sent = sent_batch();
    try {
        spares_.push_back(std::move(sent));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then there is one less
    }
}

void connection::close() {
    cancel(boost::redis::operation::run);
    cancel(boost::redis::operation::exec);
}

}  // namespace colock::instance::redis
