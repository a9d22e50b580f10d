// Rank: the agent's state of one trainer process, and RankTable: all of them. Values owned by the
// agent's loop; not thread-safe. The table only records; Reconcile decides what to do next
// (worker/agent/reconcile.h).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "contract/messages.h"
#include "gp/v1/agent_service.pb.h"
#include "worker/agent/exit_report.h"
#include "worker/agent/progress_watch.h"
#include "worker/agent/save_times.h"

namespace gp::agent {

struct RankKey {
  std::string run_id;
  uint64_t epoch = 0;
  int rank = 0;

  friend auto operator<=>(const RankKey&, const RankKey&) = default;
};

RankKey KeyOf(const v1::Assignment& assignment);

// "7f3k2q9a0c epoch 3 rank 1", for messages and logs.
std::string Describe(const RankKey& key);

// STARTING -> LISTENING -> READY -> RUNNING -> FINISHED -> EXITED; every phase may end in EXITED.
// The trainer's messages move it (Observe); a declined assignment is EXITED from the start.
struct Rank {
  RankKey key;
  // The epoch that the process was started for, if it continues in a later one.
  std::optional<uint64_t> began_in;
  std::string slot_id;
  std::string incarnation;
  int pid = 0;

  v1::RankPhase phase = v1::RANK_PHASE_STARTING;
  MonotonicTime phase_since;
  std::string address;
  v1::EngineOffer offer;
  int64_t step = 0;                            // committed, or the one that it resumed from
  std::vector<v1::WrittenCheckpoint> written;  // neither sealed nor refused; kUnansweredMax newest
  SaveTimes save_times;

  // Messages and signals that the agent has sent to the trainer.
  bool configured = false;
  bool told_go = false;
  bool told_terminate = false;
  bool killed = false;
  std::optional<MonotonicTime> told_stop_at;
  std::optional<MonotonicTime> told_stop_now_at;  // when it was told to exit without saving
  std::string kill_reason;                        // why the agent ended it

  ProgressWatch progress;
  // The watch's answers in the agent's newest turn: why the trainer counts as hung (empty: it does
  // not), what the next report says, and whether the coordinator must compare the ranks.
  std::string hang;
  std::optional<v1::RankProgress> reported_progress;
  bool awaits_peer_too_long = false;
  bool killed_as_hung = false;

  std::optional<MonotonicTime> leaves_since;  // the agent is being stopped
  std::optional<MonotonicTime> link_lost_at;
  std::string waiting;                 // what the trainer waits for
  bool holds = false;                  // it lost a peer or joins, and waits for the next group
  std::optional<link::Failed> failed;  // this and stopped: its last message
  std::optional<link::Stopped> stopped;
  ExitReport exit;
  bool exit_reported = false;  // a report with the exit was written to the coordinator's stream

  bool exited() const { return phase == v1::RANK_PHASE_EXITED; }
  bool told_stop() const { return told_stop_at || told_stop_now_at; }
};

v1::RankStatus StatusOf(const Rank& rank);

// Whether the process sent a message of `epoch` as a rank of this or an earlier epoch.
bool BelongsTo(const Rank& rank, uint64_t epoch);

// The process of `rank` is `key` from now on, in a group that has not formed yet.
void ContinueAs(const RankKey& key, MonotonicTime now, Rank& rank);

class RankTable {
 public:
  // REQUIRES: no rank with this key.
  Rank& Add(Rank rank);
  void Remove(const RankKey& key) { ranks_.erase(key); }
  // ContinueAs for the rank `from`. REQUIRES: it exists, and none with the key `to`.
  Rank& Continue(const RankKey& from, const RankKey& to, MonotonicTime now);
  Rank* Find(const RankKey& key);
  const Rank* Find(const RankKey& key) const;
  const std::map<RankKey, Rank>& all() const { return ranks_; }
  std::map<RankKey, Rank>& all() { return ranks_; }

  // True while the slot has a process that was not reaped.
  bool SlotBusy(const std::string& slot_id) const;

 private:
  std::map<RankKey, Rank> ranks_;
};

// Records a message from the trainer of `rank`. True when the agent should report it at once.
// Ignores messages of epochs that the process is not of, and all after its exit.
bool Observe(Rank& rank, const link::Message& message, MonotonicTime now);

}  // namespace gp::agent
