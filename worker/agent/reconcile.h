// Reconcile: what to do so that what runs here becomes what the coordinator wants. A pure function
// of values, called by the agent's loop after every change; doing its actions and calling it again
// returns nothing new. Thread-safe.
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
  std::optional<std::chrono::nanoseconds> save_within;  // absent: it leaves at once
};
struct SendSealResult {
  RankKey key;
  int64_t step = 0;
  bool sealed = false;
  std::string reason;
};
// SIGTERM, to a trainer that did not heed Stop.
struct Terminate {
  RankKey key;
};
// SIGKILL.
struct Kill {
  RankKey key;
  std::string reason;
};
// The coordinator knows that it ended and wants no more of it.
struct Forget {
  RankKey key;
};
using Action = std::variant<Spawn, Decline, SendConfigure, SendGo, SendStop, SendSealResult,
                            Terminate, Kill, Forget>;

struct ReconcileOptions {
  // From spawn to Listening: loading LibTorch from a cold disk and tokenizing a large text
  // included.
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(15);
  // For the step in flight, saving it and its seal, after a Stop that leaves time to save.
  std::chrono::nanoseconds save_grace = std::chrono::seconds(30);
  // From a Stop that does not to SIGTERM, and from there to SIGKILL: a run that is cancelled "now"
  // frees its slots within 5 s.
  std::chrono::nanoseconds stop_grace = std::chrono::seconds(2);
  std::chrono::nanoseconds kill_grace = std::chrono::seconds(1);
  // From the loss of its link to its exit.
  std::chrono::nanoseconds exit_grace = std::chrono::seconds(10);
  // From its last step with every checkpoint answered to its exit.
  std::chrono::nanoseconds finish_timeout = std::chrono::minutes(5);
};

// How much of the agent is to go on.
enum class AgentWish { kGoOn, kLeave };

// `desired` is null until the coordinator has told its wish: then nothing is started or ended but
// what overran a deadline. An agent that is to leave stops every rank and starts none.
std::vector<Action> Reconcile(const v1::DesiredState* desired, const RankTable& ranks,
                              const SlotTable& slots, const ReconcileOptions& options,
                              MonotonicTime now, AgentWish wish = AgentWish::kGoOn);

// The newest desired state. A repeated or older one (by generation, then revision) is declined.
class DesiredBook {
 public:
  bool Accept(const v1::DesiredState& desired);
  const v1::DesiredState* current() const { return known_ ? &current_ : nullptr; }

 private:
  bool known_ = false;
  v1::DesiredState current_;
};

}  // namespace gp::agent
