#include "http/connection.h"

#include <algorithm>
#include <utility>

#include "base/random_id.h"

namespace gp::http {
namespace {

namespace beast = boost::beast::http;

// Bytes that a client may send ahead while its request is being answered.
constexpr size_t kAheadBytesMax = 64 << 10;
constexpr size_t kTargetShown = 200;
constexpr size_t kRequestIdMax = 128;
// What is read and dropped after a refusal, so that the client reads the answer first.
constexpr size_t kLingerBytesMax = 256 << 20;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool IsUsableRequestId(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
  return !text.empty() && text.size() <= kRequestIdMax &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

ApiError ErrorOfParser(beast::error error) {
  switch (error) {
    case beast::error::header_limit:
      return {.status = 431, .message = "the header of this request is too large"};
    case beast::error::body_limit:
      return {.status = 413, .message = "the body of this request is too large"};
    default:
      return {.status = 400, .message = "this is no HTTP/1.1 request"};
  }
}

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Connection::Connection(std::shared_ptr<ServerState> server, std::unique_ptr<Transport> transport,
                       std::string client)
    : shared_(std::move(server)),
      server_(*shared_),
      transport_(std::move(transport)),
      client_(std::move(client)) {}

Connection::~Connection() { GiveBackBody(); }

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
  Enter(Phase::kHandling);
  keep_alive_ = false;
  AppendHead(ErrorResponse({.status = 503,
                            .message = "too many clients are connected",
                            .code = "too_many_connections",
                            .retry_after = 5}),
             std::nullopt);
  AfterAnswer();
  Read();
}

void Connection::Tick(Time now) {
  const ServerLimits& limits = server_.context.limits;
  const auto past = [&](Phase phase, std::chrono::nanoseconds limit) {
    return phase_ == phase && now - since_ > limit;
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

void Connection::Drain() {
  keep_alive_ = false;
  if (phase_ == Phase::kIdle || phase_ == Phase::kGreeting) Close();
}

// ---- reading
// -------------------------------------------------------------------------------------------

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
  if (phase_ == Phase::kLingering) {
    lingered_bytes_ += bytes;
    if (!ok || lingered_bytes_ > kLingerBytesMax) return Close();
    return Read();
  }
  if (!ok) {
    no_more_input_ = true;
    // An answer that is whole already is still sent.
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
  // One answer is written before the next request is looked at.
  if (!receiving || input_.empty() || write_under_way_ || !output_.empty()) return false;
  if (!parser_) {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(server_.context.limits.header_bytes_max));
    parser_->body_limit(server_.context.limits.body_bytes_max);
    header_seen_ = false;
    Enter(Phase::kHeader);
  }
  boost::beast::error_code error;
  const size_t used = parser_->put(boost::asio::buffer(input_.data(), input_.size()), error);
  if (parser_->is_header_done()) {
    const size_t body_bytes = parser_->get().body().size();
    server_.body_bytes += body_bytes - body_bytes_;
    body_bytes_ = body_bytes;
  }
  input_.erase(0, used);
  const bool short_of_input = error == beast::error::need_more || input_.empty();
  if (error && error != beast::error::need_more) {
    RefuseInput(ErrorOfParser(static_cast<beast::error>(error.value())));
    return false;
  }
  if (parser_->is_header_done() && !std::exchange(header_seen_, true)) OnHeader();
  if (server_.body_bytes > server_.context.limits.bodies_bytes_max) {
    RefuseInput({.status = 503, .message = "too much is being sent at once", .retry_after = 1});
    return false;
  }
  if (parser_->is_done()) {
    Dispatch();
    return true;
  }
  // The body is still coming, and nobody wants it.
  if (refusal_ && short_of_input) {
    keep_alive_ = false;
    Dispatch();
    return false;
  }
  return !short_of_input;
}

void Connection::OnHeader() {
  Enter(Phase::kBody);
  const auto& message = parser_->get();
  keep_alive_ = message.keep_alive() && !server_.draining;
  http_1_0_ = message.version() < 11;
  request_ = TakeRequest();
  gone_ = std::make_shared<GoneSignal>();
  notes_ = std::make_shared<ExchangeNotes>();
  record_ = {.method = request_.head ? "HEAD" : request_.method,
             .target = std::string(View(message.target()).substr(0, kTargetShown)),
             .endpoint = "other",
             .client_address = client_,
             .request_id = request_.id,
             .begun = std::chrono::steady_clock::now()};
  refusal_ = FindRoute();
  record_.key_name = request_.key_name;
  const bool waits = Lower(View(message[beast::field::expect])) == "100-continue";
  if (!refusal_ && waits && !parser_->is_done() && !http_1_0_) {
    output_ += "HTTP/1.1 100 Continue\r\n\r\n";
    Flush();
  }
}

Request Connection::TakeRequest() {
  const auto& message = parser_->get();
  Request request;
  request.method = std::string(View(message.method_string()));
  request.head = request.method == "HEAD";
  if (request.head) request.method = "GET";
  request.client_address = client_;
  for (const auto& field : message) {
    request.headers.emplace_back(Lower(View(field.name_string())),
                                 std::string(View(field.value())));
  }
  const std::string_view id = request.Header("x-request-id").value_or("");
  request.id = IsUsableRequestId(id) ? std::string(id) : "req-" + RandomId(20);
  return request;
}

std::optional<Response> Connection::FindRoute() {
  route_ = nullptr;
  origin_.clear();
  const std::string_view origin = request_.Header("origin").value_or("");
  for (const std::string& allowed : server_.context.cors_origins) {
    if (!origin.empty() && (allowed == "*" || allowed == origin)) origin_ = origin;
  }
  auto target = ParseTarget(View(parser_->get().target()));
  if (!target.ok()) return ErrorResponse(ErrorOf(target.status()));
  request_.path = std::move(target->path);
  request_.query = std::move(target->query);
  const Router::Found found =
      server_.context.router.Find(request_.method, request_.path, request_.captures);
  if (std::holds_alternative<Router::Unknown>(found)) {
    return ErrorResponse({.status = 404,
                          .message = fmt::format("there is nothing at {}", record_.target),
                          .code = "unknown_path"});
  }
  if (const auto* wrong = std::get_if<Router::WrongMethod>(&found)) {
    if (request_.method == "OPTIONS") return Preflight(wrong->allowed);
    Response response =
        ErrorResponse({.status = 405,
                       .message = fmt::format("{} answers {} only", record_.target, wrong->allowed),
                       .code = "wrong_method"});
    response.headers.emplace_back("Allow", wrong->allowed);
    return response;
  }
  route_ = std::get<const Route*>(found);
  record_.endpoint = route_->pattern;
  if (!server_.context.key_name) return std::nullopt;
  const auto name = server_.context.key_name(request_.Header("authorization").value_or(""));
  if (name) request_.key_name = *name;
  if (name || route_->open) return std::nullopt;
  Response response = ErrorResponse({.status = 401,
                                     .message = "this server needs a key: send the header "
                                                "Authorization: Bearer KEY",
                                     .code = "invalid_api_key"});
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

std::optional<Response> Connection::Preflight(std::string_view allowed) const {
  Response response{.status = 204, .content_type = ""};
  response.headers.emplace_back("Allow", std::string(allowed));
  if (!origin_.empty()) {
    response.headers.emplace_back("Access-Control-Allow-Methods", std::string(allowed));
    response.headers.emplace_back("Access-Control-Allow-Headers",
                                  "authorization, content-type, x-request-id");
    response.headers.emplace_back("Access-Control-Max-Age", "600");
  }
  return response;
}

void Connection::Dispatch() {
  Enter(Phase::kHandling);
  request_.body = std::move(parser_->get().body());
  GiveBackBody();
  parser_.reset();
  if (refusal_) return Answer(*std::exchange(refusal_, std::nullopt));
  const auto self = shared_from_this();
  const auto exchange =
      std::make_shared<Exchange>(std::move(request_), weak_from_this(), gone_, notes_);
  route_->handler(exchange);
}

void Connection::RefuseInput(const ApiError& error) {
  keep_alive_ = false;
  if (!header_seen_) {
    request_ = {};
    origin_.clear();
    gone_ = std::make_shared<GoneSignal>();
    notes_ = std::make_shared<ExchangeNotes>();
    record_ = {.endpoint = "other",
               .client_address = client_,
               .request_id = request_.id = "req-" + RandomId(20),
               .begun = std::chrono::steady_clock::now()};
  }
  record_.request_id = request_.id;
  GiveBackBody();
  parser_.reset();
  Enter(Phase::kHandling);
  Answer(ErrorResponse(error));
}

void Connection::GiveBackBody() {
  server_.body_bytes -= body_bytes_;
  body_bytes_ = 0;
}

// ---- writing
// -------------------------------------------------------------------------------------------

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
  if (server_.context.cors_origins.empty()) return;
  out += "Vary: Origin\r\n";
  if (origin_.empty()) return;
  out += "Access-Control-Allow-Origin: " + origin_ + "\r\n";
  out += "Access-Control-Expose-Headers: x-request-id, x-gp-seed, x-gp-ignored, retry-after\r\n";
}

void Connection::Answer(Response response) {
  if (phase_ != Phase::kHandling) return;
  chunked_ = false;
  record_.status = response.status;
  written_bytes_ = output_.size();
  AppendHead(response, response.body.size());
  if (record_.method != "HEAD") output_ += response.body;
  record_.bytes = output_.size() - written_bytes_;
  Finish();
  AfterAnswer();
}

void Connection::BeginStream(Headers headers) {
  if (phase_ != Phase::kHandling) return;
  Enter(Phase::kStreaming);
  chunked_ = !http_1_0_;
  keep_alive_ = keep_alive_ && chunked_;
  record_.status = 200;
  record_.bytes = 0;
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");
  AppendHead({.content_type = "text/event-stream; charset=utf-8", .headers = std::move(headers)},
             std::nullopt);
  Flush();
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

// Tells the log and the metrics.
void Connection::Finish() {
  record_.duration = std::chrono::steady_clock::now() - record_.begun;
  record_.notes = notes_ ? *notes_ : ExchangeNotes();
  if (server_.context.finished) server_.context.finished(record_);
}

void Connection::AfterAnswer() {
  if (keep_alive_ && !no_more_input_) {
    Enter(Phase::kIdle);
  } else {
    Enter(Phase::kLingering);
  }
  Flush();
}

void Connection::Flush() {
  if (write_under_way_ || phase_ == Phase::kClosed || output_.empty()) return;
  write_under_way_ = true;
  progress_ = std::chrono::steady_clock::now();
  writing_.swap(output_);
  transport_->Write(writing_, [self = shared_from_this()](bool ok, size_t) {
    self->write_under_way_ = false;
    self->OnWritten(ok);
  });
}

void Connection::OnWritten(bool ok) {
  constexpr size_t kKeptBytes = 16 << 10;
  writing_.clear();
  if (writing_.capacity() > kKeptBytes) writing_.shrink_to_fit();
  progress_ = std::chrono::steady_clock::now();
  if (phase_ == Phase::kClosed) return;
  if (!ok) return Leave();
  if (!output_.empty()) return Flush();
  if (phase_ == Phase::kLingering) {
    transport_->EndWriting();
    if (no_more_input_) return Close();
  }
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
  GiveBackBody();
  phase_ = Phase::kClosed;
  transport_->Close();
}

}  // namespace gp::http
