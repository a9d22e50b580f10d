// An agent's report on one rank, the trainer process in one slot. Value types.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/exit_cause.h"
#include "contract/written_checkpoint.h"
#include "coordinator/state/ids.h"
#include "coordinator/state/time.h"

namespace gp::coordinator {

// Numbers are those of gp.v1.RankPhase.
enum class RankPhase {
  kUnspecified = 0,
  kStarting = 1,
  kListening = 2,
  kReady = 3,
  kRunning = 4,
  kFinished = 5,
  kExited = 6,
};

using contract::ExitCause;

// The cause as text for a run's reason, such as "out of memory".
std::string_view Name(ExitCause cause);

// What a rank does now, as far as it concerns the rest of its group.
struct RankProgress {
  std::string phase;
  bool awaits_peer = false;
  bool awaits_agent = false;           // for its next message, such as another group
  int peer = -1;                       // the rank that it waits for; -1: unknown
  std::chrono::milliseconds still{0};  // since its last progress, as long as its agent was running
  std::chrono::milliseconds limit{0};  // a longer `still` is too long
};

struct RankReport {
  RunId run;
  Epoch epoch = 0;
  int rank = 0;
  SlotId slot;
  std::string incarnation;  // of the trainer process
  RankPhase phase = RankPhase::kUnspecified;
  std::string address;
  // The instruction set levels that the rank can compute with, the preferred one first.
  std::vector<std::string> isa_levels;
  std::map<std::string, std::string> kernels;  // the kernels tuned on that node, by level
  std::string nccl_id;  // from rank 0 of a GPU group: the id that the group connects with
  int64_t step = 0;     // the last committed one
  // This and the next two are set when phase is kExited.
  ExitCause cause = ExitCause::kUnspecified;
  int exit_code = 0;
  std::string message;
  // Checkpoints that the rank wrote and that are neither sealed nor refused yet.
  std::vector<contract::WrittenCheckpoint> written;
  std::string waiting;                   // what the rank waits for, in a sentence; empty: nothing
  std::optional<RankProgress> progress;  // absent: unknown
  bool holds = false;                    // it waits for the next group: it lost a peer, or joins
  // When the coordinator first heard that it exited, and that it holds; kept across reports.
  Instant exited_at{};
  Instant held_since{};

  bool alive() const { return phase != RankPhase::kExited; }
};

}  // namespace gp::coordinator
