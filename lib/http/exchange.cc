#include "http/exchange.h"

#include <utility>

#include "http/error_page.h"

namespace gp::http {

void GoneSignal::Set(std::function<void()> call) {
  if (raised_) {
    if (call) call();
    return;
  }
  call_ = std::move(call);
}

void GoneSignal::Raise() {
  if (std::exchange(raised_, true)) return;
  if (const auto call = std::exchange(call_, nullptr)) call();
}

EventStream::EventStream(std::weak_ptr<AnswerSink> sink, std::shared_ptr<GoneSignal> gone,
                         std::shared_ptr<ExchangeNotes> notes, ByteBudget::Share held)
    : sink_(std::move(sink)),
      gone_(std::move(gone)),
      notes_(std::move(notes)),
      held_(std::move(held)) {}

EventStream::~EventStream() {
  gone_->Set(nullptr);
  const auto sink = sink_.lock();
  if (!ended_ && sink && !gone()) sink->EndStream(/*cut=*/true);
}

void EventStream::Send(std::string_view data) {
  const auto sink = sink_.lock();
  if (ended_ || gone() || !sink) return;
  std::string text;
  text.reserve(data.size() + 8);
  text += "data: ";
  text += data;
  text += "\n\n";
  sink->SendPiece(text);
}

size_t EventStream::unsent_bytes() const {
  const auto sink = sink_.lock();
  return sink ? sink->unsent_bytes() : 0;
}

void EventStream::End(std::string_view data) {
  Send(data);
  End();
}

void EventStream::End() {
  if (std::exchange(ended_, true)) return;
  const auto sink = sink_.lock();
  if (sink && !gone()) sink->EndStream(/*cut=*/false);
}

Exchange::Exchange(Request request, std::weak_ptr<AnswerSink> sink,
                   std::shared_ptr<GoneSignal> gone, std::shared_ptr<ExchangeNotes> notes,
                   ByteBudget::Share held)
    : request_(std::move(request)),
      held_(std::move(held)),
      sink_(std::move(sink)),
      gone_(std::move(gone)),
      notes_(std::move(notes)) {}

Exchange::~Exchange() {
  if (answered_) return;
  gone_->Set(nullptr);
  Respond(ApiError{.status = 500, .message = "no handler answered this request"});
}

void Exchange::Respond(const ApiError& error) { Respond(ErrorResponseTo(request_, error)); }

void Exchange::Respond(Response response) {
  if (std::exchange(answered_, true)) return;
  held_ = {};
  const auto sink = sink_.lock();
  if (sink && !gone()) sink->Answer(std::move(response));
}

std::shared_ptr<EventStream> Exchange::BeginEventStream(Headers headers) {
  const bool first = !std::exchange(answered_, true);
  const auto sink = sink_.lock();
  if (first && sink && !gone()) sink->BeginStream(std::move(headers));
  return std::make_shared<EventStream>(first ? sink_ : std::weak_ptr<AnswerSink>(), gone_, notes_,
                                       std::move(held_));
}

}  // namespace gp::http
