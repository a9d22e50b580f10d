#include "coordinator/telemetry/run_times.h"

#include <algorithm>
#include <optional>
#include <variant>

namespace gp::coordinator {
namespace {

double Seconds(Timestamp from, Timestamp to) {
  return std::chrono::duration<double>(to - from).count();
}

bool HasRanks(RunTime state) {
  return state == RunTime::kStarting || state == RunTime::kProductive;
}

// The state that an event leads to; nullopt when the event does not change it.
struct NextState {
  bool has_ranks = false;  // before the event

  using Result = std::optional<RunTime>;
  Result operator()(const RunSubmitted&) const { return RunTime::kQueued; }
  Result operator()(const RunQueued&) const { return RunTime::kQueued; }
  Result operator()(const RunRequeued&) const { return RunTime::kQueued; }
  Result operator()(const RunResumed&) const { return RunTime::kQueued; }
  Result operator()(const LegBegun&) const { return RunTime::kQueued; }
  Result operator()(const LegRequested&) const { return UnlessRanks(RunTime::kQueued); }
  Result operator()(const PauseRequested&) const { return UnlessRanks(RunTime::kPaused); }
  Result operator()(const RunPaused&) const { return RunTime::kPaused; }
  Result operator()(const RunPlaced&) const { return RunTime::kStarting; }
  Result operator()(const RunStarted&) const { return RunTime::kProductive; }
  Result operator()(const RankFailed&) const { return RunTime::kWaiting; }
  Result operator()(const CancelRequested&) const { return RunTime::kWaiting; }
  Result operator()(const RunFinishing&) const { return RunTime::kWaiting; }
  Result operator()(const RunEnded&) const { return RunTime::kPaused; }
  template <typename Other>
  Result operator()(const Other&) const {
    return std::nullopt;
  }

 private:
  Result UnlessRanks(RunTime state) const { return has_ranks ? std::nullopt : Result(state); }
};

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
    case RunTime::kPaused:
      return "paused";
  }
  return "";
}

void RunTimes::Observe(const Event& event) {
  const EventBody& body = event.body;
  if (const auto* placed = std::get_if<RunPlaced>(&body)) {
    resumed_from_[placed->epoch] = std::max<int64_t>(placed->resume_step, 0);
  }
  const bool has_ranks = !spans_.empty() && HasRanks(spans_.back().state);
  if (const auto state = std::visit(NextState{has_ranks}, body)) Enter(*state, event);
  if (const auto* started = std::get_if<RunStarted>(&body)) spans_.back().epoch = started->epoch;
  ended_ = std::holds_alternative<RunEnded>(body) ||
           (ended_ && !std::holds_alternative<LegRequested>(body));
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
