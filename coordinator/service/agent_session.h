// AgentSession: one agent's stream. Converts the agent's messages into events and telemetry, and
// sends the node's assignment whenever it changes. Ends when the node opens a newer stream, or when
// its certificate expires or is revoked. Owns itself until gRPC is done with it; blocks no thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "coordinator/access/access_gate.h"
#include "coordinator/control/change_hub.h"
#include "coordinator/control/reconciler.h"
#include "coordinator/service/group_key.h"
#include "coordinator/telemetry/recorder.h"
#include "gp/v1/agent_service.pb.h"

namespace gp::coordinator {

struct AgentServiceOptions {
  GroupKey group_key;
  std::string version;
  std::string storage_root;
  std::string storage_probe;  // content of the probe file
  uint64_t generation = 0;
  std::chrono::nanoseconds report_interval = std::chrono::seconds(1);
  std::chrono::nanoseconds lease = std::chrono::seconds(10);
};

// Dependencies of every session; must outlive them all.
struct AgentServiceContext {
  AccessGate& gate;
  Reconciler& reconciler;
  Recorder& recorder;
  ChangeHub& hub;
  AgentServiceOptions options;
  std::atomic<uint64_t> sessions{0};
  std::atomic<uint64_t> open_sessions{0};

  // How many bytes of telemetry each agent may send ahead of the acknowledgements: 64 MiB divided
  // by the open sessions, at least 64 KiB and at most 1 MiB. The limit keeps all agents together
  // from filling the memory while the disk is slow.
  uint64_t TelemetryWindowBytes() const;
};

class AgentSession final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>,
                           public ChangeListener,
                           public std::enable_shared_from_this<AgentSession> {
 public:
  static AgentSession* Start(AgentServiceContext& context, std::shared_ptr<AdmittedCall> access);

  void OnChange() override { Advance(); }
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  AgentSession(AgentServiceContext& context, std::shared_ptr<AdmittedCall> access);

  // An error if the agent's certificate belongs to another node than the one that the hello names.
  Status CheckIdentity(const v1::AgentHello& hello) const;
  void HandleMessage(const v1::AgentMessage& message);
  void HandleHello(const v1::AgentHello& hello);
  void HandleReport(const v1::AgentReport& report);
  void HandleTelemetry(const v1::Telemetry& telemetry);
  void PostWarnings(const TelemetryBatch& batch) REQUIRES(mutex_);
  // Adds a warning to the run: its telemetry is lost from now on.
  void WarnOfLoss(const RunId& run, const std::string& why);
  void Acknowledge(uint64_t through_sequence, size_t size_bytes);

  // Starts the next write, or ends the stream, if one of them is due.
  void Advance();
  bool FillNext() REQUIRES(mutex_);
  bool FillDesired() REQUIRES(mutex_);
  void End(const Status& status) REQUIRES(mutex_);

  AgentServiceContext& context_;
  const std::shared_ptr<AdmittedCall> access_;
  const uint64_t session_;
  v1::AgentMessage incoming_;        // the message that is being read
  v1::CoordinatorMessage outgoing_;  // the message that is being written

  Mutex mutex_;
  bool greeted_ GUARDED_BY(mutex_) = false;
  NodeId node_ GUARDED_BY(mutex_);
  std::string node_name_ GUARDED_BY(mutex_);
  std::string incarnation_ GUARDED_BY(mutex_);
  std::optional<v1::CoordinatorMessage> greeting_ GUARDED_BY(mutex_);
  size_t unacknowledged_bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t acknowledged_ GUARDED_BY(mutex_) = 0;
  uint64_t acknowledgement_sent_ GUARDED_BY(mutex_) = 0;
  std::optional<std::string> desired_sent_ GUARDED_BY(mutex_);
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  std::optional<Status> ending_ GUARDED_BY(mutex_);  // applied once no write is in flight
  std::shared_ptr<AgentSession> self_;               // released by OnDone
};

}  // namespace gp::coordinator
