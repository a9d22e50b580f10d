// Exchange: one request and its answer. A handler answers once, by Respond or BeginEventStream, at
// once or later, in the loop; later answers, and answers after the client has left, are ignored.
// EventStream: an answer in pieces. Both are used only in the loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/api_error.h"
#include "http/byte_budget.h"
#include "http/message.h"

namespace gp::http {

// The interface through which an exchange writes to its connection.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void Answer(Response response) = 0;
  virtual void BeginStream(Headers headers) = 0;
  virtual void SendPiece(std::string_view text) = 0;
  // `cut`: cuts the connection, so that the client does not take the answer for complete.
  virtual void EndStream(bool cut) = 0;
  // Bytes of the answer that the client's machine has not taken yet.
  virtual size_t unsent_bytes() const = 0;
};

// Further fields of an exchange for the access log and the metrics, besides its status and time.
struct ExchangeNotes {
  std::string model;
  int64_t prompt_tokens = 0;
  int64_t tokens = 0;
  bool gone = false;  // the client left before the end of the answer
  std::optional<std::chrono::steady_clock::time_point> first_token;
};

// Signals once that the client of an exchange or of its event stream is gone.
class GoneSignal {
 public:
  void Set(std::function<void()> call);
  void Raise();
  bool raised() const { return raised_; }

 private:
  std::function<void()> call_;
  bool raised_ = false;
};

// Server-sent events: only data lines, and comments that keep the connection alive, which the
// connection sends by itself. If it is destroyed without End, the connection is cut, so that the
// client does not take the answer for complete.
class EventStream {
 public:
  // `held`: the bytes that the exchange counted as held, kept until the stream is destroyed.
  EventStream(std::weak_ptr<AnswerSink> sink, std::shared_ptr<GoneSignal> gone,
              std::shared_ptr<ExchangeNotes> notes, ByteBudget::Share held);
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // One event: `data` without line breaks.
  void Send(std::string_view data);
  // Sends `data` ("[DONE]") as the last event.
  void End(std::string_view data);
  void End();

  // Grows when the client reads more slowly than the handler sends. A Send that finds more than
  // ServerLimits::unsent_bytes_max closes the connection.
  size_t unsent_bytes() const;

  // Called once, when the client left, half-closed or reads too slowly; at once if it already has.
  void OnGone(std::function<void()> call) { gone_->Set(std::move(call)); }
  bool gone() const { return gone_->raised(); }
  ExchangeNotes& notes() { return *notes_; }

 private:
  const std::weak_ptr<AnswerSink> sink_;
  const std::shared_ptr<GoneSignal> gone_;
  const std::shared_ptr<ExchangeNotes> notes_;
  const ByteBudget::Share held_;
  bool ended_ = false;
};

class Exchange {
 public:
  Exchange(Request request, std::weak_ptr<AnswerSink> sink, std::shared_ptr<GoneSignal> gone,
           std::shared_ptr<ExchangeNotes> notes, ByteBudget::Share held = {});
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const Request& request() const { return request_; }
  Request& request() { return request_; }
  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();

  // Counts `bytes` as held for this client, in place of its body, until Respond is called or the
  // event stream is destroyed. False: the client holds too much already, and nothing has changed.
  bool Hold(size_t bytes) { return held_.Resize(bytes); }

  void Respond(Response response);
  void Respond(const ApiError& error);
  // "text/event-stream" with `headers` added. The exchange is over; the stream continues.
  std::shared_ptr<EventStream> BeginEventStream(Headers headers = {});

  // Called once, when the client left or half-closed before an answer; at once if it already has.
  void OnGone(std::function<void()> call) { gone_->Set(std::move(call)); }
  bool gone() const { return gone_->raised(); }
  ExchangeNotes& notes() { return *notes_; }

 private:
  Request request_;
  ByteBudget::Share held_;
  const std::weak_ptr<AnswerSink> sink_;
  const std::shared_ptr<GoneSignal> gone_;
  const std::shared_ptr<ExchangeNotes> notes_;
  bool answered_ = false;
};

}  // namespace gp::http
