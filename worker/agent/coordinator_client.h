// CoordinatorClient: the agent's stream to the coordinator. Connects, says Hello, reconnects with
// backoff forever, and posts the coordinator's messages to the Inbox. While disconnected, the
// newest report and the telemetry wait here. Refuses a coordinator of an older generation than the
// newest that it has seen. It has two threads: one connects and reads, one writes. Made and stopped
// by the daemon; other methods from any thread.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/backoff.h"
#include "base/mutex.h"
#include "gp/v1/agent_service.grpc.pb.h"
#include "rpc/tls.h"
#include "worker/agent/coordinator_port.h"
#include "worker/agent/inbox.h"
#include "worker/agent/metrics.h"
#include "worker/agent/telemetry_queue.h"

namespace gp::agent {

struct CoordinatorClientOptions {
  std::string address;                 // HOST:PORT or unix:PATH
  std::optional<rpc::ChannelTls> tls;  // for HOST:PORT; absent: no encryption
  BackoffOptions backoff{.max = std::chrono::seconds(2)};
  // Limit from the start of a connection to the coordinator's Welcome.
  std::chrono::nanoseconds welcome_timeout = std::chrono::seconds(10);
  // After all queued telemetry was sent, the next message waits this long, so that it carries
  // several items. An urgent report does not wait: the queued telemetry is sent before it.
  std::chrono::nanoseconds telemetry_interval = std::chrono::milliseconds(100);
  // The agent's loop hangs when it has not turned for this long: far longer than a turn takes, and
  // shorter than a lease.
  std::chrono::nanoseconds turn_max = std::chrono::seconds(3);
  size_t telemetry_items_max = 65536;  // unsent points, and as many unsent lines
  v1::AgentHello hello;                // without probe, ranks and generation
};

class CoordinatorClient final : public CoordinatorPort {
 public:
  CoordinatorClient(CoordinatorClientOptions options, Inbox& inbox, AgentMetrics& metrics);
  ~CoordinatorClient() override;

  uint64_t Report(v1::AgentReport report, bool urgent) override EXCLUDES(mutex_);
  void NoteTurn() override EXCLUDES(mutex_);
  uint64_t ReportedThrough() const override EXCLUDES(mutex_);
  void Tell(v1::TelemetryItem item) override EXCLUDES(mutex_);

  // Waits up to `flush_timeout` for the newest report to be sent and the telemetry to be
  // acknowledged, then ends both threads. Does not wait while disconnected. Idempotent.
  void Stop(std::chrono::nanoseconds flush_timeout) EXCLUDES(mutex_);

 private:
  // The most bytes of unacknowledged telemetry, for a coordinator whose Welcome names no window.
  static constexpr size_t kTelemetryWindowBytes = 1 << 20;
  using Stream = grpc::ClientReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>;
  using SteadyTime = std::chrono::steady_clock::time_point;

  void ConnectLoop() EXCLUDES(mutex_);
  // One connection from Hello to its end. True when the coordinator welcomed us.
  bool Converse() EXCLUDES(mutex_);
  v1::AgentMessage MakeHello() EXCLUDES(mutex_);
  // Handles one message. False when the connection must end.
  bool Hear(const v1::CoordinatorMessage& message) EXCLUDES(mutex_);
  bool HearWelcome(const v1::Welcome& welcome) EXCLUDES(mutex_);
  void WriteLoop(Stream& stream) EXCLUDES(mutex_);
  // The next message to write and the number of the newest report; false when the connection has
  // ended.
  bool NextMessage(v1::AgentMessage& message, uint64_t& report_number) EXCLUDES(mutex_);
  void NoteReported(uint64_t report_number) EXCLUDES(mutex_);
  bool FillMessage(v1::AgentMessage& message, SteadyTime now) REQUIRES(mutex_);
  bool LoopTurns(SteadyTime now) const REQUIRES(mutex_);
  SteadyTime NextWake(SteadyTime now) const REQUIRES(mutex_);
  // True when telemetry is unsent and the coordinator's window has room.
  bool CanSendTelemetry() const REQUIRES(mutex_);
  // REQUIRES: CanSendTelemetry().
  v1::Telemetry TakeTelemetry() REQUIRES(mutex_);
  void SetWindow(uint64_t window_bytes) REQUIRES(mutex_);
  void ShowTelemetry() REQUIRES(mutex_);
  void EndConnection(bool cancel) EXCLUDES(mutex_);
  // Waits before the next attempt; returns at once when stopping.
  void Pause(int attempt) EXCLUDES(mutex_);
  std::string WhyAway(const grpc::Status& ended) const;
  void Complain(const grpc::Status& ended);

  const CoordinatorClientOptions options_;
  Inbox& inbox_;
  AgentMetrics& metrics_;
  std::string last_complaint_;  // this and refusal_: used by the connecting thread only
  std::string refusal_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool connected_ GUARDED_BY(mutex_) = false;  // the stream is open
  bool welcomed_ GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ GUARDED_BY(mutex_) = nullptr;
  SteadyTime welcome_deadline_ GUARDED_BY(mutex_);
  uint64_t generation_max_ GUARDED_BY(mutex_) = 0;
  std::chrono::nanoseconds report_interval_ GUARDED_BY(mutex_) = std::chrono::seconds(1);

  v1::AgentReport report_ GUARDED_BY(mutex_);
  uint64_t report_number_ GUARDED_BY(mutex_) = 0;
  uint64_t reported_through_ GUARDED_BY(mutex_) = 0;
  bool report_urgent_ GUARDED_BY(mutex_) = false;
  SteadyTime report_due_ GUARDED_BY(mutex_);
  std::optional<SteadyTime> turned_at_ GUARDED_BY(mutex_);
  // True when a batch of telemetry was sent ahead of a waiting urgent report, so that the
  // coordinator gets a trainer's output and measurements before its exit.
  bool telemetry_went_first_ GUARDED_BY(mutex_) = false;
  TelemetryQueue telemetry_ GUARDED_BY(mutex_);
  size_t window_bytes_ GUARDED_BY(mutex_) = kTelemetryWindowBytes;
  SteadyTime telemetry_due_ GUARDED_BY(mutex_);

  std::jthread connector_;
};

}  // namespace gp::agent
