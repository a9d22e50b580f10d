#include "http/connection.h"

#include <algorithm>
#include <utility>

#include "base/random_id.h"
#include "http/content_coding.h"
#include "http/error_page.h"
#include "http/route_decision.h"

namespace gp::http {
namespace {

namespace beast = boost::beast::http;

// Bytes that a client may send ahead while its request is being answered.
constexpr size_t kAheadBytesMax = 16 << 10;
constexpr size_t kRequestIdMax = 128;
// Bytes that are read and dropped after the last answer, so that the client can still read that.
constexpr size_t kLingerBytesMax = 256 << 20;
// Answers are written in pieces, so that the progress of a slow reader is visible.
constexpr size_t kPieceBytes = 64 << 10;

bool IsUsableRequestId(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
  return !text.empty() && text.size() <= kRequestIdMax &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

ApiError ErrorOfParser(beast::error error, const ServerLimits& limits) {
  switch (error) {
    case beast::error::header_limit:
      return {.status = 431,
              .message = fmt::format("the header of this request has more than {} bytes",
                                     limits.header_bytes_max)};
    case beast::error::body_limit:
      return {.status = 413,
              .message = fmt::format("the body of this request has more than {} bytes; send less "
                                     "at once",
                                     limits.body_bytes_max)};
    case beast::error::bad_chunk:
    case beast::error::bad_chunk_extension:
      return {.status = 400,
              .message =
                  "the body is not chunked as Transfer-Encoding says: a line with a chunk's "
                  "size is wrong"};
    default:
      return {.status = 400, .message = "this is not an HTTP/1.1 request"};
  }
}

ApiError LongLineOfBody() {
  return {.status = 400,
          .message = fmt::format("the chunked body has a line (a chunk's size and extensions, or "
                                 "the trailer) of more than {} bytes; leave the extensions out",
                                 kAheadBytesMax)};
}

// The bytes of empty lines at the front, which a client may send before a request or after the body
// of the previous one (RFC 9112, 2.2).
size_t EmptyLineBytes(std::string_view input) {
  size_t bytes = 0;
  while (input.substr(bytes).starts_with("\r\n")) bytes += 2;
  return bytes;
}

Request MakeRequest(const std::string& method, Headers headers, const std::string& client) {
  Request request{.method = method,
                  .head = method == "HEAD",
                  .headers = std::move(headers),
                  .client_address = client};
  if (request.head) request.method = "GET";
  const std::string_view id = request.Header("x-request-id").value_or("");
  request.id = IsUsableRequestId(id) ? std::string(id) : "req-" + RandomId(20);
  return request;
}

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Connection::Connection(std::shared_ptr<ServerState> server, std::unique_ptr<Transport> transport,
                       std::string client)
    : shared_(std::move(server)),
      server_(*shared_),
      transport_(std::move(transport)),
      client_(std::move(client)) {}

void Connection::Enter(Phase phase) {
  if (phase_ == Phase::kClosed) return;
  phase_ = phase;
  since_ = std::chrono::steady_clock::now();
}

void Connection::Start() {
  transport_->Handshake([self = shared_from_this()](bool ok, size_t) {
    if (!ok) return self->Close();
    self->Enter(Phase::kIdle);
    self->Read();
  });
}

void Connection::Refuse() {
  keep_alive_ = false;
  AppendHead(ErrorResponse({.status = 503,
                            .message = "too many clients are connected; try again in a moment",
                            .code = "too_many_connections",
                            .retry_after = 5}),
             std::nullopt);
  Enter(Phase::kLingering);  // from the start, so that it takes no place
  Flush();
  Read();
}

void Connection::Tick(Time now) {
  const ServerLimits& limits = server_.context.limits;
  NoteProgress(now);
  const auto past = [&](Phase phase, std::chrono::nanoseconds limit) {
    return phase_ == phase && !write_under_way_ && now - since_ > limit;
  };
  if (past(Phase::kGreeting, limits.header_timeout) || past(Phase::kIdle, limits.idle_timeout) ||
      past(Phase::kLingering, limits.linger_timeout)) {
    return Close();
  }
  if (past(Phase::kHeader, limits.header_timeout) || past(Phase::kBody, limits.body_timeout)) {
    return RefuseInput({.status = 408, .message = "the request did not arrive in time"});
  }
  if (write_under_way_ && now - progress_ > limits.write_timeout) return Leave();
  if (phase_ == Phase::kStreaming && !write_under_way_ && now - progress_ > limits.ping_period) {
    SendPiece(": ping\n\n");
  }
}

// The kernel buffers much more than a slow client reads in a second, so the end of a write shows
// little. Each read of the client shortens the kernel's send queue, which this checks.
void Connection::NoteProgress(Time now) {
  if (!write_under_way_) return;
  const size_t queued = transport_->QueuedBytes();
  if (std::exchange(queued_bytes_, queued) != queued) progress_ = now;
}

void Connection::Drain() {
  keep_alive_ = false;
  if (phase_ == Phase::kIdle && write_under_way_) return EndAfterAnswer();
  if (phase_ == Phase::kIdle || phase_ == Phase::kGreeting) Close();
}

Connection::Use Connection::use() const {
  constexpr std::chrono::seconds kUnreadAfter{1};
  const bool leaves = phase_ == Phase::kLingering || phase_ == Phase::kClosed;
  if (write_under_way_ && !leaves) {
    const bool stalls = std::chrono::steady_clock::now() - progress_ > kUnreadAfter;
    return stalls ? Use::kUnread : Use::kAnswering;
  }
  switch (phase_) {
    case Phase::kGreeting:
    case Phase::kIdle:
    case Phase::kHeader:
      if (!served_) return Use::kNoRequestYet;
      return phase_ == Phase::kIdle ? Use::kIdle : Use::kReceiving;
    case Phase::kBody:
      return Use::kReceiving;
    case Phase::kHandling:
    case Phase::kStreaming:
    case Phase::kLastAnswer:
      return Use::kAnswering;
    case Phase::kLingering:
    case Phase::kClosed:
      return Use::kLeaving;
  }
  return Use::kLeaving;
}

Connection::Time Connection::used_since() const {
  switch (use()) {
    case Use::kNoRequestYet:
      return begun_;
    case Use::kUnread:
      return progress_;
    default:
      return since_;
  }
}

// For a client that is idle between two requests, closes only the sending side: a request that the
// client sends at the same moment is then read and dropped instead of answered by a TCP reset.
void Connection::GiveUpPlace() {
  if (use() != Use::kIdle) return Leave();
  keep_alive_ = false;
  Linger();
}

// ---- reading ----

void Connection::Read() {
  if (reading_ || no_more_input_ || phase_ == Phase::kClosed) return;
  if (input_.size() > kAheadBytesMax) return;
  reading_ = true;
  transport_->Read(buffer_.data(), buffer_.size(),
                   [self = shared_from_this()](bool ok, size_t bytes) {
                     self->reading_ = false;
                     self->OnRead(ok, bytes);
                   });
}

void Connection::OnRead(bool ok, size_t bytes) {
  if (phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kLastAnswer || phase_ == Phase::kLingering) {
    lingered_bytes_ += bytes;
    no_more_input_ = !ok;
    const bool over = lingered_bytes_ > kLingerBytesMax || (!ok && phase_ == Phase::kLingering);
    return over ? Close() : Read();
  }
  if (!ok) {
    no_more_input_ = true;
    // An answer that is already complete is still sent.
    if (phase_ == Phase::kHandling || phase_ == Phase::kStreaming) return Leave();
    if (!write_under_way_ && output_.empty()) return Close();
    return;
  }
  input_.append(buffer_.data(), bytes);
  Advance();
  Read();
}

void Connection::Advance() {
  while (AdvanceOnce()) {
  }
}

bool Connection::AdvanceOnce() {
  const bool receiving =
      phase_ == Phase::kIdle || phase_ == Phase::kHeader || phase_ == Phase::kBody;
  // The next request is parsed only after the last answer is written.
  if (!receiving || input_.empty() || write_under_way_ || !output_.empty()) return false;
  if (!parser_ && !BeginRequest()) return false;
  boost::beast::error_code error;
  const size_t used = parser_->put(boost::asio::buffer(input_.data(), input_.size()), error);
  if (!header_seen_) header_text_.append(input_, 0, used);
  input_.erase(0, used);
  const bool body_is_long = error == beast::error::body_limit && !header_seen_;
  if (error && error != beast::error::need_more && !body_is_long) {
    RefuseInput(ErrorOfParser(static_cast<beast::error>(error.value()), server_.context.limits));
    return false;
  }
  const bool short_of_input = error || input_.empty();
  const bool header_is_whole = parser_->is_header_done() || body_is_long;
  if (header_is_whole && !std::exchange(header_seen_, true)) OnHeader(body_is_long);
  if (parser_->is_header_done() && !body_share_.Resize(parser_->get().body().size())) {
    RefuseInput({.status = 503,
                 .message = "clients are sending too much data at once; try again in a moment",
                 .code = "busy",
                 .retry_after = 1});
    return false;
  }
  if (parser_->is_done()) {
    Dispatch();
    return true;
  }
  // Refuses the request before its body has arrived.
  if (refusal_ && short_of_input) {
    keep_alive_ = false;
    Dispatch();
    return false;
  }
  // The read-ahead limit is reached without a complete line, so Read() would not read more: refuses
  // the request.
  if (short_of_input && input_.size() > kAheadBytesMax) {
    RefuseInput(header_seen_ ? LongLineOfBody()
                             : ErrorOfParser(beast::error::header_limit, server_.context.limits));
    return false;
  }
  return !short_of_input;
}

// Skips empty lines and makes a parser. False: no byte of a request has arrived.
bool Connection::BeginRequest() {
  input_.erase(0, EmptyLineBytes(input_));
  if (input_.empty() || input_ == "\r") return false;
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(server_.context.limits.header_bytes_max));
  parser_->body_limit(server_.context.limits.body_bytes_max);
  header_seen_ = false;
  header_text_.clear();
  Enter(Phase::kHeader);
  return true;
}

void Connection::OnHeader(bool body_is_long) {
  Enter(Phase::kBody);
  served_ = true;
  const auto& message = parser_->get();
  keep_alive_ = message.keep_alive() && !server_.draining;
  http_1_0_ = message.version() < 11;
  request_ = TakeRequest();
  gone_ = std::make_shared<GoneSignal>();
  notes_ = std::make_shared<ExchangeNotes>();
  record_ = {.method = request_.head ? "HEAD" : request_.method,
             .target = ShownTarget(View(message.target())),
             .endpoint = "other",
             .client_address = client_,
             .request_id = request_.id,
             .begun = std::chrono::steady_clock::now()};
  RouteDecision decision =
      DecideRoute(server_.context, {View(message.target()), http_1_0_}, request_);
  route_ = decision.route;
  origin_ = std::move(decision.origin);
  refusal_ = std::move(decision.refusal);
  if (route_ != nullptr) record_.endpoint = route_->pattern;
  if (const auto error = RefusedTransferCoding(request_)) {
    keep_alive_ = false;  // where its body ends may be unknown
    if (!refusal_) refusal_ = ErrorResponseTo(request_, *error);
  }
  if (!refusal_ && body_is_long) {
    refusal_ =
        ErrorResponseTo(request_, ErrorOfParser(beast::error::body_limit, server_.context.limits));
  }
  record_.key_name = request_.key_name;
  body_share_ = {server_.budget, request_.Asker()};
  unsent_share_ = {server_.budget, request_.Asker()};
  const bool waits = Lower(View(message[beast::field::expect])) == "100-continue";
  if (!refusal_ && waits && !parser_->is_done() && !http_1_0_) {
    output_ += "HTTP/1.1 100 Continue\r\n\r\n";
    Flush();
  }
}

Request Connection::TakeRequest() {
  const auto& message = parser_->get();
  Headers headers;
  for (const auto& field : message) {
    headers.emplace_back(Lower(View(field.name_string())), std::string(View(field.value())));
  }
  return MakeRequest(std::string(View(message.method_string())), std::move(headers), client_);
}

void Connection::Dispatch() {
  Enter(Phase::kHandling);
  request_.body = std::move(parser_->get().body());
  parser_.reset();
  ByteBudget::Share held = std::exchange(body_share_, {});
  if (refusal_) return Answer(*std::exchange(refusal_, std::nullopt));
  const auto self = shared_from_this();
  const auto exchange = std::make_shared<Exchange>(std::move(request_), weak_from_this(), gone_,
                                                   notes_, std::move(held));
  route_->handler(exchange);
}

void Connection::RefuseInput(const ApiError& error) {
  keep_alive_ = false;
  if (!header_seen_) TakeReceived();
  record_.request_id = request_.id;
  body_share_ = {};
  parser_.reset();
  Enter(Phase::kHandling);
  Answer(ErrorResponseTo(request_, error));
}

// Makes request_ from the part of the header that has arrived.
void Connection::TakeReceived() {
  ReceivedHeader received = ReadReceivedHeader(header_text_ + input_);
  record_ = {.method = received.method,
             .target = ShownTarget(received.target),
             .endpoint = "other",
             .client_address = client_,
             .begun = std::chrono::steady_clock::now()};
  request_ = MakeRequest(received.method, std::move(received.headers), client_);
  origin_ = AllowedOrigin(server_.context.sites, request_);
  gone_ = std::make_shared<GoneSignal>();
  notes_ = std::make_shared<ExchangeNotes>();
}

// ---- writing ----

void Connection::AppendHead(const Response& response, std::optional<size_t> length) {
  output_ += fmt::format("HTTP/1.1 {} {}\r\n", response.status, ReasonOf(response.status));
  if (!response.content_type.empty()) output_ += "Content-Type: " + response.content_type + "\r\n";
  for (const auto& [name, value] : response.headers) output_ += name + ": " + value + "\r\n";
  if (!record_.request_id.empty()) output_ += "x-request-id: " + record_.request_id + "\r\n";
  AppendCors(output_);
  if (length && response.status != 204 && response.status != 304) {
    output_ += fmt::format("Content-Length: {}\r\n", *length);
  }
  if (!length && chunked_) output_ += "Transfer-Encoding: chunked\r\n";
  if (!keep_alive_) output_ += "Connection: close\r\n";
  if (keep_alive_ && http_1_0_) output_ += "Connection: keep-alive\r\n";
  output_ += "\r\n";
}

void Connection::AppendCors(std::string& out) const {
  if (server_.context.sites.cors_origins.empty()) return;
  out += "Vary: Origin\r\n";
  if (origin_.empty()) return;
  out += "Access-Control-Allow-Origin: " + origin_ + "\r\n";
  out += "Access-Control-Expose-Headers: x-request-id, x-gp-seed, x-gp-ignored, retry-after\r\n";
}

void Connection::Answer(Response response) {
  if (phase_ != Phase::kHandling) return;
  const bool has_body = record_.method != "HEAD";
  if (has_body && !unsent_share_.Resize(response.body.size())) {
    response = ErrorResponse({.status = 503,
                              .message = "this client has not read too many of its long answers; "
                                         "read them, or ask for less at once",
                              .code = "busy",
                              .retry_after = 1});
  }
  chunked_ = false;
  record_.status = response.status;
  written_bytes_ = output_.size();
  AppendHead(response, response.body.size());
  if (has_body) {
    output_.reserve(output_.size() + response.body.size());
    output_ += response.body;
  }
  record_.bytes = output_.size() - written_bytes_;
  Finish();
  AfterAnswer();
}

void Connection::BeginStream(Headers headers) {
  if (phase_ != Phase::kHandling) return;
  const bool has_body = record_.method != "HEAD";
  if (has_body) Enter(Phase::kStreaming);
  chunked_ = has_body && !http_1_0_;
  keep_alive_ = keep_alive_ && (chunked_ || !has_body);
  record_.status = 200;
  record_.bytes = 0;
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");
  AppendHead({.content_type = "text/event-stream; charset=utf-8", .headers = std::move(headers)},
             std::nullopt);
  Flush();
  if (has_body) return;
  // The answer to HEAD has no body, so the stream is over.
  Finish();
  AfterAnswer();
  gone_->Raise();
}

void Connection::SendPiece(std::string_view text) {
  if (phase_ != Phase::kStreaming || text.empty()) return;
  if (unsent_bytes() > server_.context.limits.unsent_bytes_max) return Leave();
  record_.bytes += text.size();
  if (chunked_) {
    fmt::format_to(std::back_inserter(output_), "{:x}\r\n", text.size());
    output_ += text;
    output_ += "\r\n";
  } else {
    output_ += text;
  }
  if (!unsent_share_.Resize(output_.size() + writing_.size())) return Leave();
  Flush();
}

void Connection::EndStream(bool cut) {
  if (phase_ != Phase::kStreaming) return;
  if (cut) return Leave();
  if (chunked_) output_ += "0\r\n\r\n";
  Enter(Phase::kHandling);
  Finish();
  AfterAnswer();
}

// Reports the finished exchange to the log and the metrics.
void Connection::Finish() {
  record_.duration = std::chrono::steady_clock::now() - record_.begun;
  record_.notes = notes_ ? *notes_ : ExchangeNotes();
  if (server_.context.finished) server_.context.finished(record_);
}

void Connection::AfterAnswer() {
  const bool asks_no_more = no_more_input_ && input_.empty();
  if (!keep_alive_ || asks_no_more) return EndAfterAnswer();
  Enter(Phase::kIdle);
  Flush();
}

void Connection::EndAfterAnswer() {
  input_.clear();
  if (unsent_bytes() == 0) return Linger();
  Enter(Phase::kLastAnswer);
  Flush();
}

void Connection::Linger() {
  Enter(Phase::kLingering);
  transport_->EndWriting();
  if (no_more_input_) return Close();
  Read();
}

void Connection::Flush() {
  if (write_under_way_ || phase_ == Phase::kClosed || unsent_bytes() == 0) return;
  write_under_way_ = true;
  progress_ = std::chrono::steady_clock::now();
  if (writing_.empty()) writing_.swap(output_);
  const std::string_view piece = std::string_view(writing_).substr(written_, kPieceBytes);
  transport_->Write(piece, [self = shared_from_this()](bool ok, size_t bytes) {
    self->write_under_way_ = false;
    self->OnWritten(ok, bytes);
  });
}

void Connection::OnWritten(bool ok, size_t bytes) {
  constexpr size_t kKeptBytes = 16 << 10;
  progress_ = std::chrono::steady_clock::now();
  written_ += bytes;
  if (phase_ == Phase::kClosed) return;
  if (!ok) return Leave();
  if (written_ == writing_.size()) {
    writing_.clear();
    written_ = 0;
    unsent_share_.Resize(output_.size());
    if (writing_.capacity() > kKeptBytes) writing_.shrink_to_fit();
  }
  if (unsent_bytes() > 0) return Flush();
  if (phase_ == Phase::kLastAnswer || phase_ == Phase::kLingering) return Linger();
  if (phase_ == Phase::kIdle)
    Enter(Phase::kIdle);  // the idle timeout begins once the answer is written
  Advance();
  const bool waits = phase_ == Phase::kIdle || phase_ == Phase::kHeader || phase_ == Phase::kBody;
  if (waits && no_more_input_ && !write_under_way_) return Close();
  Read();
}

void Connection::Leave() {
  if (phase_ == Phase::kClosed) return;
  const bool answering = phase_ == Phase::kHandling || phase_ == Phase::kStreaming;
  if (answering && notes_) {
    notes_->gone = true;
    if (record_.status == 0) record_.status = 499;
    Finish();
  }
  const auto self = shared_from_this();
  const auto gone = gone_;
  Close();
  if (answering && gone) gone->Raise();
}

void Connection::Close() {
  if (phase_ == Phase::kClosed) return;
  const auto self = shared_from_this();
  body_share_ = {};
  unsent_share_ = {};
  phase_ = Phase::kClosed;
  transport_->Close();
}

}  // namespace gp::http
