#include "coordinator/telemetry/run_times.h"

#include <algorithm>

namespace gp::coordinator {
namespace {

double Seconds(Timestamp from, Timestamp to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::string_view Name(RunTime state) {
  switch (state) {
    case RunTime::kQueued:
      return "queued";
    case RunTime::kStarting:
      return "starting";
    case RunTime::kProductive:
      return "productive";
    case RunTime::kRedone:
      return "redone";
    case RunTime::kWaiting:
      return "waiting";
  }
  return "";
}

void RunTimes::Observe(const Event& event) {
  const EventBody& body = event.body;
  if (std::holds_alternative<RunSubmitted>(body)) Enter(RunTime::kQueued, event);
  if (std::holds_alternative<RunQueued>(body)) Enter(RunTime::kQueued, event);
  if (std::holds_alternative<RunRequeued>(body)) Enter(RunTime::kQueued, event);
  if (const auto* placed = std::get_if<RunPlaced>(&body)) {
    resumed_from_[placed->epoch] = std::max<int64_t>(placed->resume_step, 0);
    Enter(RunTime::kStarting, event);
  }
  if (const auto* started = std::get_if<RunStarted>(&body)) {
    Enter(RunTime::kProductive, event);
    spans_.back().epoch = started->epoch;
  }
  if (std::holds_alternative<RankFailed>(body)) Enter(RunTime::kWaiting, event);
  if (std::holds_alternative<CancelRequested>(body)) Enter(RunTime::kWaiting, event);
  if (std::holds_alternative<RunFinishing>(body)) Enter(RunTime::kWaiting, event);
  if (std::holds_alternative<RunEnded>(body)) {
    Enter(RunTime::kWaiting, event);
    ended_ = true;
  }
}

// A clock that was set back between two events must not make a span negative.
void RunTimes::Enter(RunTime state, const Event& event) {
  const Timestamp from = spans_.empty() ? event.at : std::max(event.at, spans_.back().from);
  spans_.push_back({from, state, 0});
}

std::array<double, kRunTimes.size()> RunTimes::At(Timestamp now) const {
  std::array<double, kRunTimes.size()> seconds{};
  const auto add = [&](RunTime state, Timestamp from, Timestamp to) {
    seconds[static_cast<size_t>(state)] += Seconds(from, to);
  };
  for (size_t i = 0; i < spans_.size(); ++i) {
    const Span& span = spans_[i];
    const bool last = i + 1 == spans_.size();
    if (last && ended_) break;
    const Timestamp end = last ? std::max(now, span.from) : spans_[i + 1].from;
    if (span.state != RunTime::kProductive) {
      add(span.state, span.from, end);
      continue;
    }
    const Timestamp caught_up = CaughtUp(span, end);
    add(RunTime::kRedone, span.from, caught_up);
    add(RunTime::kProductive, caught_up, end);
  }
  return seconds;
}

Timestamp RunTimes::CaughtUp(const Span& span, Timestamp end) const {
  const auto resumed = resumed_from_.find(span.epoch);
  const int64_t from_step = resumed == resumed_from_.end() ? 0 : resumed->second;
  if (from_step >= LastStepBefore(span.epoch, epochs_)) return span.from;
  const auto epoch = std::find_if(epochs_.begin(), epochs_.end(), [&](const EpochStart& start) {
    return start.epoch == span.epoch;
  });
  if (epoch == epochs_.end() || !epoch->caught_up_at) return end;
  return std::clamp(*epoch->caught_up_at, span.from, end);
}

}  // namespace gp::coordinator
