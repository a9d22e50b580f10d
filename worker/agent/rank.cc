#include "worker/agent/rank.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/text/utf8.h"
#include "worker/agent/convert.h"
#include "worker/agent/engine_limits.h"

namespace gp::agent {
namespace {

// The most bytes kept of the message with which a trainer failed.
constexpr size_t kWordsBytesMax = 16 << 10;

void Enter(Rank& rank, v1::RankPhase phase, MonotonicTime now) {
  rank.phase = phase;
  rank.phase_since = now;
}

bool ObserveStep(Rank& rank, const link::StepReport& report, MonotonicTime now) {
  rank.step = report.point.step;
  if (report.point.epoch != rank.key.epoch || rank.phase != v1::RANK_PHASE_READY) return false;
  Enter(rank, v1::RANK_PHASE_RUNNING, now);
  return true;
}

struct Observer {
  Rank& rank;
  MonotonicTime now;

  bool operator()(const link::Listening& listening) const {
    if (rank.phase != v1::RANK_PHASE_STARTING) return false;
    rank.address = listening.address;
    rank.offer = ToProto(listening);
    Enter(rank, v1::RANK_PHASE_LISTENING, now);
    return true;
  }
  bool operator()(const link::Ready& ready) const {
    if (ready.epoch != rank.key.epoch || rank.phase != v1::RANK_PHASE_LISTENING) return false;
    rank.step = ready.step;
    rank.holds = false;
    Enter(rank, v1::RANK_PHASE_READY, now);
    return true;
  }
  bool operator()(const link::StepReport& report) const {
    return BelongsTo(rank, report.point.epoch) && ObserveStep(rank, report, now);
  }
  bool operator()(const link::CheckpointReport& written) const {
    if (!BelongsTo(rank, written.epoch)) return false;
    // An older unanswered checkpoint is not needed: the run resumes from the newest.
    if (rank.written.size() >= kUnansweredMax) rank.written.erase(rank.written.begin());
    rank.written.push_back(ToProto(written));
    return true;
  }
  bool operator()(const link::Finished& finished) const {
    if (!BelongsTo(rank, finished.epoch)) return false;
    rank.step = finished.step;
    Enter(rank, v1::RANK_PHASE_FINISHED, now);
    return true;
  }
  bool operator()(const link::Failed& failed) const {
    rank.failed = failed;
    rank.failed->message =
        ValidUtf8(std::string_view(failed.message).substr(0, kWordsBytesMax), '?');
    return false;  // the exit that follows reports it
  }
  bool operator()(const link::Stopped& stopped) const {
    rank.stopped = stopped;
    return false;  // the exit that follows reports it
  }
  bool operator()(const link::Waiting& waiting) const {
    if (!BelongsTo(rank, waiting.epoch)) return false;
    return std::exchange(rank.waiting, waiting.reason) != waiting.reason;
  }
  bool operator()(const link::Held& held) const {
    if (held.epoch != rank.key.epoch) return false;
    rank.step = held.committed;
    return !std::exchange(rank.holds, true);
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return false;
  }
};

}  // namespace

RankKey KeyOf(const v1::Assignment& assignment) {
  return {assignment.run_id(), assignment.epoch(), assignment.rank()};
}

std::string Describe(const RankKey& key) {
  return fmt::format("{} epoch {} rank {}", key.run_id, key.epoch, key.rank);
}

v1::RankStatus StatusOf(const Rank& rank) {
  v1::RankStatus status;
  status.set_run_id(rank.key.run_id);
  status.set_epoch(rank.key.epoch);
  status.set_rank(rank.key.rank);
  status.set_slot_id(rank.slot_id);
  status.set_incarnation(rank.incarnation);
  status.set_phase(rank.phase);
  status.set_address(rank.address);
  *status.mutable_offer() = rank.offer;
  status.set_step(rank.step);
  status.set_pid(rank.pid);
  for (const v1::WrittenCheckpoint& written : rank.written) *status.add_written() = written;
  if (!rank.exited()) status.set_waiting(rank.waiting);
  if (!rank.exited()) status.set_holds(rank.holds);
  if (!rank.exited() && rank.reported_progress) {
    *status.mutable_progress() = *rank.reported_progress;
  }
  if (rank.exited()) {
    status.set_exit_cause(rank.exit.cause);
    status.set_exit_code(rank.exit.code);
    status.set_message(rank.exit.message);
  }
  return status;
}

bool BelongsTo(const Rank& rank, uint64_t epoch) {
  return epoch <= rank.key.epoch && epoch >= rank.began_in.value_or(rank.key.epoch);
}

void ContinueAs(const RankKey& key, MonotonicTime now, Rank& rank) {
  if (!rank.began_in) rank.began_in = rank.key.epoch;
  rank.key = key;
  if (rank.exited() || rank.phase == v1::RANK_PHASE_FINISHED) return;
  rank.configured = false;
  rank.told_go = false;
  Enter(rank, v1::RANK_PHASE_LISTENING, now);
}

Rank& RankTable::Continue(const RankKey& from, const RankKey& to, MonotonicTime now) {
  auto entry = ranks_.extract(from);
  GP_CHECK(!entry.empty(), "{} is not in the table", Describe(from));
  ContinueAs(to, now, entry.mapped());
  entry.key() = to;
  const auto added = ranks_.insert(std::move(entry));
  GP_CHECK(added.inserted, "{} is already in the table", Describe(to));
  return added.position->second;
}

Rank& RankTable::Add(Rank rank) {
  const RankKey key = rank.key;
  const auto [position, added] = ranks_.emplace(key, std::move(rank));
  GP_CHECK(added, "{} is already in the table", Describe(key));
  return position->second;
}

Rank* RankTable::Find(const RankKey& key) {
  const auto found = ranks_.find(key);
  return found == ranks_.end() ? nullptr : &found->second;
}

const Rank* RankTable::Find(const RankKey& key) const {
  const auto found = ranks_.find(key);
  return found == ranks_.end() ? nullptr : &found->second;
}

bool RankTable::SlotBusy(const std::string& slot_id) const {
  for (const auto& [key, rank] : ranks_) {
    if (rank.slot_id == slot_id && !rank.exited()) return true;
  }
  return false;
}

bool Observe(Rank& rank, const link::Message& message, MonotonicTime now) {
  if (rank.exited()) return false;
  return std::visit(Observer{rank, now}, message);
}

}  // namespace gp::agent
