// Reconcile: compares the ranks on this node with the coordinator's desired state and returns the
// actions that make them equal. A pure function of values; the agent's loop calls it in every turn,
// at least every 100 ms. After its actions are done, another call returns nothing new until a value
// changes or a deadline passes. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "gp/v1/agent_service.pb.h"
#include "worker/agent/rank.h"
#include "worker/agent/slots.h"

namespace gp::agent {

// Start a trainer.
struct Spawn {
  v1::Assignment assignment;
};
// Record a rank that cannot or need not be started as EXITED.
struct Decline {
  v1::Assignment assignment;
  ExitReport exit;
};
// The process of `from` goes on as another rank, of a later epoch. Comes before other actions of
// `to`.
struct Continue {
  RankKey from;
  RankKey to;
};
struct SendConfigure {
  RankKey key;
  v1::Membership membership;
  v1::EngineChoices choices;
};
struct SendGo {
  RankKey key;
};
struct SendStop {
  RankKey key;
  std::string reason;
  std::optional<std::chrono::nanoseconds> save_within;  // absent: it exits at once
};
struct SendSealResult {
  RankKey key;
  int64_t step = 0;
  bool sealed = false;
  std::string reason;
};
// Send SIGTERM to a trainer that did not react to Stop.
struct Terminate {
  RankKey key;
};
// Send SIGKILL.
struct Kill {
  RankKey key;
  std::string reason;
  bool hung = false;
};
// Remove the rank from the table: its exit was reported and the coordinator no longer lists it.
struct Forget {
  RankKey key;
};
using Action = std::variant<Spawn, Decline, Continue, SendConfigure, SendGo, SendStop,
                            SendSealResult, Terminate, Kill, Forget>;

struct ReconcileOptions {
  // Runs and checkpoints lie below it; empty: not checked.
  std::string storage_root;
  // Limit from spawn to Listening. Includes loading libraries from a cold disk and tokenizing a
  // large text.
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(15);
  // Setting trainer.stop_grace. Limit after a Stop with time to save: for the step in flight, its
  // save and its seal. Then follows a Stop without time to save.
  std::chrono::nanoseconds save_grace = std::chrono::seconds(30);
  // How long an agent that is being stopped waits until the coordinator has taken away a rank whose
  // run goes on in place. Several times the coordinator's answer, and short compared with the time
  // that a machine gives before it is switched off.
  std::chrono::nanoseconds regroup_grace = std::chrono::seconds(3);
  // Time from a Stop without time to save to SIGTERM, and from SIGTERM to SIGKILL. Not
  // configurable, so that a run that is cancelled "now" frees its slots within 5 s.
  std::chrono::nanoseconds terminate_after = std::chrono::seconds(2);
  std::chrono::nanoseconds kill_after_terminate = std::chrono::seconds(1);
  // Limit from the loss of a trainer's link to its exit.
  std::chrono::nanoseconds exit_grace = std::chrono::seconds(10);
  // Limit from a trainer's last step, with every checkpoint answered, to its exit.
  std::chrono::nanoseconds finish_timeout = std::chrono::minutes(5);
};

// kLeaving: the agent was asked to stop; it stops every rank and starts none.
enum class AgentMode { kServing, kLeaving };

// `desired` is null until the coordinator has sent it. Until then no rank is started, and a rank is
// ended only if it passed a deadline, lost its GPU, or the agent leaves.
std::vector<Action> Reconcile(const v1::DesiredState* desired, const RankTable& ranks,
                              const SlotTable& slots, const ReconcileOptions& options,
                              MonotonicTime now, AgentMode mode = AgentMode::kServing);

// Holds the newest desired state. Accept declines a state that is older (by generation, then
// revision), or that has more assignments than a node can have.
class NewestDesiredState {
 public:
  bool Accept(const v1::DesiredState& desired);
  const v1::DesiredState* current() const { return known_ ? &current_ : nullptr; }

 private:
  bool known_ = false;
  v1::DesiredState current_;
};

}  // namespace gp::agent
