#include "worker/agent/progress_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gp::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Several turns of the agent's loop long.
constexpr milliseconds kTurnMax{500};
// Several messages of a trainer.
constexpr milliseconds kHeardLately{1000};

constexpr std::array<const char*, progress::kPhases> kPhaseNames = {
    "start",     "tuning",     "forward",  "backward", "all-reduce",
    "optimizer", "evaluation", "sampling", "save",     "between steps"};
constexpr std::array<const char*, progress::kWaits> kWaitNames = {"",     "peer", "storage",
                                                                  "data", "seal", "agent"};

// The trainer may be of a later version, with numbers that this one does not know.
template <size_t kCount>
const char* NameOf(const std::array<const char*, kCount>& names, int number) {
  const bool known = number >= 0 && number < static_cast<int>(kCount);
  return known ? names[static_cast<size_t>(number)] : "unknown";
}

double Seconds(nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

int64_t Milliseconds(nanoseconds duration) {
  return std::chrono::duration_cast<milliseconds>(duration).count();
}

nanoseconds LimitAfter(nanoseconds longest) {
  return std::max<nanoseconds>(ProgressWatch::kLimitMin, ProgressWatch::kIntervals * longest);
}

}  // namespace

void RunningTime::Advance(MonotonicTime now) {
  if (turned_at_ && now > *turned_at_) {
    passed_ += std::min<nanoseconds>(now - *turned_at_, kTurnMax);
  }
  turned_at_ = now;
}

void ProgressWatch::Observe(const link::Beat& progress, nanoseconds running) {
  if (newest_) longest_silence_ = std::max(longest_silence_, running - heard_at_);
  heard_at_ = running;
  if (!newest_ || newest_->count != progress.count) moved_at_ = running;
  completed_a_phase_ = completed_a_phase_ || progress.longest_ms.has_value();
  newest_ = progress;
}

nanoseconds ProgressWatch::LimitOfPhase() const {
  if (!newest_->longest_ms) return kFirstLimit;
  return LimitAfter(milliseconds(std::clamp<int64_t>(*newest_->longest_ms, 0, 1'000'000'000)));
}

nanoseconds ProgressWatch::LimitOfSilence() const {
  const nanoseconds limit = LimitAfter(longest_silence_);
  return completed_a_phase_ ? limit : std::max<nanoseconds>(limit, kFirstSilenceMin);
}

std::optional<std::string> ProgressWatch::Hang(nanoseconds running) const {
  if (!newest_) return std::nullopt;
  const char* phase = NameOf(kPhaseNames, newest_->phase);
  const nanoseconds silence = running - heard_at_;
  if (silence >= LimitOfSilence()) {
    return fmt::format(
        "stopped running in phase {}: nothing was heard from it for {:.1f} s (limit {:.1f} s)",
        phase, Seconds(silence), Seconds(LimitOfSilence()));
  }
  const nanoseconds still = running - moved_at_;
  const bool waits = newest_->waits_for != static_cast<int>(progress::Wait::kNothing);
  if (waits || still < LimitOfPhase()) return std::nullopt;
  return fmt::format("hung in phase {}: no progress for {:.1f} s (limit {:.1f} s)", phase,
                     Seconds(still), Seconds(LimitOfPhase()));
}

bool ProgressWatch::AwaitsPeerTooLong(nanoseconds running) const {
  return newest_ && newest_->waits_for == static_cast<int>(progress::Wait::kPeer) &&
         running - heard_at_ < kHeardLately && running - moved_at_ >= LimitOfPhase();
}

std::optional<v1::RankProgress> ProgressWatch::Report(nanoseconds running) const {
  if (!newest_) return std::nullopt;
  v1::RankProgress report;
  report.set_phase(NameOf(kPhaseNames, newest_->phase));
  // A process that may be stopped does not wait: its peers wait for it.
  if (running - heard_at_ < kHeardLately) {
    report.set_waits_for(NameOf(kWaitNames, newest_->waits_for));
  }
  report.set_peer(newest_->peer);
  report.set_still_ms(Milliseconds(running - moved_at_));
  report.set_limit_ms(Milliseconds(LimitOfPhase()));
  return report;
}

}  // namespace gp::agent
