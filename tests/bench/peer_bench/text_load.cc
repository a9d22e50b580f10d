#include "bench/peer_bench/text_load.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>  // Boost 1.74 needs it and does not include it

#include "bench/peer_bench/event_reader.h"

namespace gp::engine {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using LoadClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTextSilenceMax(120);
constexpr std::chrono::milliseconds kProbeEvery(20);
constexpr unsigned kOk = 200;

// State shared by the streams of a round.
struct Round {
  explicit Round(const TextLoad& l) : load(l) {}

  double Now() const { return std::chrono::duration<double>(LoadClock::now() - begin).count(); }
  void Fail(Status why) {
    if (status.ok()) status = std::move(why);
    io.stop();
  }
  bool done() const { return std::ssize(outcome.texts) == load.texts; }

  const TextLoad& load;
  asio::io_context io;
  const LoadClock::time_point begin = LoadClock::now();
  int64_t next = 0;  // the next text to request
  LoadOutcome outcome;
  Status status;
};

// One kept-alive connection that sends requests repeatedly. Its pending operation keeps it alive.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(Round& round) : round_(round), stream_(round.io) {}
  virtual ~Connection() = default;

  void Begin() {
    stream_.expires_after(kTextSilenceMax);
    stream_.async_connect(
        asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), round_.load.port),
        [self = shared_from_this()](beast::error_code error) {
          if (error) return self->Fail("connect", error);
          beast::error_code ignored;
          self->stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
          self->Next();
        });
  }

 protected:
  // Sends the next request with Ask, or does nothing if there is none.
  virtual void Next() = 0;
  // Called with each piece of the body of an answer with status 200.
  virtual void OnPiece(const std::string& piece) = 0;
  virtual void OnEnd() = 0;

  void Ask(http::request<http::string_body> request) {
    request.set(http::field::host, "127.0.0.1");
    request.prepare_payload();
    request_ = std::move(request);
    parser_.emplace();
    // Not boost::none: with it Boost 1.74 refuses every body of a known length.
    parser_->body_limit(std::numeric_limits<uint64_t>::max());
    stream_.expires_after(kTextSilenceMax);
    http::async_write(stream_, request_,
                      [self = shared_from_this()](beast::error_code error, size_t) {
                        if (error) return self->Fail("send", error);
                        self->Read();
                      });
  }

  Round& round() { return round_; }

 private:
  void Fail(const char* what, beast::error_code error) {
    round_.Fail(Unavailable("cannot {} a request: {}", what, error.message()));
  }

  void Read() {
    stream_.expires_after(kTextSilenceMax);
    http::async_read_some(stream_, buffer_, *parser_,
                          [self = shared_from_this()](beast::error_code error, size_t) {
                            if (error) return self->Fail("read the answer to", error);
                            self->OnSome();
                          });
  }

  void OnSome() {
    if (!parser_->is_header_done()) return Read();
    std::string& body = parser_->get().body();
    if (parser_->get().result_int() == kOk) {
      if (!body.empty()) OnPiece(body);
      body.clear();
    }
    if (!parser_->is_done()) return Read();
    if (parser_->get().result_int() != kOk) {
      return round_.Fail(
          Unavailable("the server answered {}: {}", parser_->get().result_int(), body));
    }
    OnEnd();
    if (round_.status.ok()) Next();
  }

  Round& round_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  std::optional<http::response_parser<http::string_body>> parser_;
};

class StreamingDetokenizer : public Connection {
 public:
  using Connection::Connection;

 private:
  void Next() override {
    if (round().next == round().load.texts) return;
    http::request<http::string_body> request(http::verb::post, "/v1/completions", 11);
    request.set(http::field::content_type, "application/json");
    request.body() = round().load.body(round().next++);
    timing_ = {.sent = round().Now()};
    events_ = {};
    Ask(std::move(request));
  }

  void OnPiece(const std::string& piece) override {
    for (const std::string& event : events_.Feed(piece)) {
      if (timing_.first_byte == 0) timing_.first_byte = round().Now();
      if (event != "[DONE]") OnEvent(event);
    }
  }

  void OnEvent(const std::string& event) {
    // Most events carry no counts and need not be parsed.
    if (event.find("\"completion_tokens\"") == std::string::npos &&
        event.find("\"error\"") == std::string::npos) {
      return;
    }
    const auto json = nlohmann::json::parse(event, nullptr, false);
    if (!json.is_object() || json.contains("error")) {
      return round().Fail(Unavailable("the server ended a stream with {}", event));
    }
    if (const auto usage = json.find("usage"); usage != json.end() && usage->is_object()) {
      timing_.tokens = usage->value("completion_tokens", int64_t{0});
    }
  }

  void OnEnd() override {
    timing_.finished = round().Now();
    round().outcome.texts.push_back(timing_);
    if (round().done()) round().io.stop();
  }

  EventReader events_;
  TextTiming timing_;
};

class Probe : public Connection {
 public:
  explicit Probe(Round& round) : Connection(round), pause_(round.io) {}

 private:
  void Next() override {
    pause_.expires_after(kProbeEvery);
    pause_.async_wait([self = shared_from_this(), this](beast::error_code) {
      sent_ = round().Now();
      Ask(http::request<http::string_body>(http::verb::get, round().load.probe, 11));
    });
  }
  void OnPiece(const std::string&) override {}
  void OnEnd() override { round().outcome.probe_ms.push_back(1e3 * (round().Now() - sent_)); }

  asio::steady_timer pause_;
  double sent_ = 0;
};

}  // namespace

StatusOr<LoadOutcome> RunTextLoad(const TextLoad& load) {
  Round round(load);
  for (int64_t i = 0; i < load.streams; ++i) std::make_shared<StreamingDetokenizer>(round)->Begin();
  if (!load.probe.empty()) std::make_shared<Probe>(round)->Begin();
  round.io.run();
  RETURN_IF_ERROR(round.status);
  if (!round.done()) return Internal("{} of {} texts", round.outcome.texts.size(), load.texts);
  return std::move(round.outcome);
}

}  // namespace gp::engine
