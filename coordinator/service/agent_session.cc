#include "coordinator/service/agent_session.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>

#include "base/log.h"
#include "base/text/excerpt.h"
#include "coordinator/service/agent_limits.h"
#include "coordinator/service/agent_messages.h"
#include "coordinator/service/convert.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

constexpr uint64_t kWindowsBytes = uint64_t{64} << 20;  // the windows of all agents together
constexpr uint64_t kWindowBytesMin = 64 << 10;
constexpr uint64_t kWindowBytesMax = 1 << 20;
// Limit of one agent's telemetry that waits for an acknowledgement. Only older agents reach it:
// they ignore the window and send everything that they kept while they were disconnected.
constexpr size_t kUnacknowledgedBytesMax = 64 << 20;

}  // namespace

uint64_t AgentServiceContext::TelemetryWindowBytes() const {
  const uint64_t share = kWindowsBytes / std::max<uint64_t>(open_sessions, 1);
  return std::clamp(share, kWindowBytesMin, kWindowBytesMax);
}

AgentSession::AgentSession(AgentServiceContext& context, std::shared_ptr<AdmittedCall> access)
    : context_(context), access_(std::move(access)), session_(++context.sessions) {
  ++context_.open_sessions;
}

AgentSession* AgentSession::Start(AgentServiceContext& context,
                                  std::shared_ptr<AdmittedCall> access) {
  auto session = std::shared_ptr<AgentSession>(new AgentSession(context, std::move(access)));
  session->self_ = session;
  session->StartRead(&session->incoming_);
  return session.get();
}

void AgentSession::OnReadDone(bool ok) {
  const auto keep = shared_from_this();
  if (ok) {
    HandleMessage(incoming_);
    StartRead(&incoming_);
  } else {
    MutexLock lock(mutex_);
    End(OkStatus());
  }
  Advance();
}

void AgentSession::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) End(Unavailable("the stream broke"));
  }
  Advance();
}

void AgentSession::OnCancel() {
  {
    MutexLock lock(mutex_);
    End(Cancelled("the agent left"));
  }
  Advance();
}

void AgentSession::OnDone() {
  const std::shared_ptr<AgentSession> last = std::move(self_);
  --context_.open_sessions;
  NodeId node;
  {
    MutexLock lock(mutex_);
    node = node_;
  }
  if (node.empty()) return;
  LogInfo("agent disconnected", {{"node", node}, {"session", session_}});
  context_.reconciler.Post({.actor = "node", .body = NodeDisconnected{node, session_}});
}

void AgentSession::End(const Status& status) {
  if (!ending_) ending_ = status;
}

void AgentSession::HandleMessage(const v1::AgentMessage& message) {
  switch (message.message_case()) {
    case v1::AgentMessage::kHello:
      return HandleHello(message.hello());
    case v1::AgentMessage::kReport:
      return HandleReport(message.report());
    case v1::AgentMessage::kTelemetry:
      return HandleTelemetry(message.telemetry());
    case v1::AgentMessage::MESSAGE_NOT_SET:
      break;  // a kind of message that only a newer agent sends
  }
}

Status AgentSession::CheckIdentity(const v1::AgentHello& hello) const {
  access_->Describe("node " + hello.node_id());
  const Principal& principal = access_->principal();
  if (principal.kind != Principal::Kind::kNode || principal.name == hello.node_id()) {
    return OkStatus();
  }
  return access_->Deny(
      fmt::format("the certificate belongs to node {}, but the agent says that it is node {}; was "
                  "its state directory copied? Each node must join separately",
                  principal.name, Excerpt(hello.node_id())));
}

void AgentSession::HandleHello(const v1::AgentHello& hello) {
  MutexLock lock(mutex_);
  if (ending_) return;
  if (greeted_) return End(InvalidArgument("a stream begins with one hello"));
  greeted_ = true;
  const Status identity = CheckIdentity(hello);
  if (!identity.ok()) return End(identity);
  const Status welcome = CheckHello(hello, context_.options);
  greeting_.emplace();
  if (!welcome.ok()) {
    LogWarning("agent refused", {{"node", hello.node_id()}, {"reason", gp::Message(welcome)}});
    greeting_->mutable_refused()->set_reason(gp::Message(welcome));
    return;
  }
  *greeting_->mutable_welcome() = MakeWelcome(context_.options);
  greeting_->mutable_welcome()->set_telemetry_window_bytes(context_.TelemetryWindowBytes());
  context_.hub.Subscribe(NodeId(hello.node_id()), weak_from_this());
  NodeConnected connected = ToConnected(hello, session_, context_.options);
  if (!connected.storage_problem.empty()) {
    LogWarning("node cannot be used",
               {{"node", hello.name()}, {"reason", connected.storage_problem}});
  }
  if (!context_.reconciler.Post({.actor = "node " + hello.name(), .body = std::move(connected)})) {
    return End(Unavailable("the coordinator is too busy; try again"));
  }
  node_ = NodeId(hello.node_id());
  node_name_ = hello.name();
  incarnation_ = hello.incarnation();
  access_->Conclude(OkStatus(), [](const Status&) {});
  LogInfo("agent connected", {{"node", hello.name()},
                              {"slots", hello.slots_size()},
                              {"ranks", hello.ranks_size()},
                              {"session", session_}});
}

void AgentSession::HandleReport(const v1::AgentReport& report) {
  MutexLock lock(mutex_);
  if (ending_) return;
  if (node_.empty()) return End(FailedPrecondition("a stream begins with a hello"));
  const Status limits = CheckLimits(report);
  if (!limits.ok()) {
    LogWarning("agent's report refused", {{"node", node_name_}, {"reason", gp::Message(limits)}});
    return End(limits);
  }
  context_.reconciler.Post(
      {.actor = "node " + node_name_, .body = ToReported(report, node_, session_)});
}

void AgentSession::HandleTelemetry(const v1::Telemetry& telemetry) {
  MutexLock lock(mutex_);
  // After one refused batch no later batch may be recorded. Otherwise the refused batch would count
  // as a repetition when the agent sends it again.
  if (ending_) return;
  if (node_.empty()) return End(FailedPrecondition("a stream begins with a hello"));
  const auto cluster = context_.reconciler.snapshot();
  TelemetryBatch batch = ToBatch(telemetry, incarnation_, node_, *cluster);
  const uint64_t through =
      telemetry.first_sequence() + static_cast<uint64_t>(telemetry.items_size()) - 1;
  const size_t size_bytes = telemetry.SpaceUsedLong();
  batch.size_bytes = size_bytes;
  batch.on_durable = [weak = weak_from_this(), through, size_bytes] {
    if (const auto session = weak.lock()) session->Acknowledge(through, size_bytes);
  };
  batch.on_lost = [weak = weak_from_this()](const RunId& run, const std::string& why) {
    if (const auto session = weak.lock()) session->WarnOfLoss(run, why);
  };
  PostWarnings(batch);
  unacknowledged_bytes_ += size_bytes;
  if (unacknowledged_bytes_ > kUnacknowledgedBytesMax) {
    return End(
        ResourceExhausted("this agent sent {} bytes of telemetry without waiting for an "
                          "acknowledgement; the limit is {}",
                          unacknowledged_bytes_, kUnacknowledgedBytesMax));
  }
  // Unacknowledged telemetry is sent again on the next stream.
  if (!context_.recorder.Post(std::move(batch))) End(ResourceExhausted("logs cannot be written"));
}

// Posts the warnings of points as events. The points contain them too, but events are kept even if
// the log of points is full. If the store's disk is full, the event is dropped.
void AgentSession::PostWarnings(const TelemetryBatch& batch) {
  for (const auto& [run, points] : batch.points) {
    for (const contract::TrainingPoint& point : points) {
      if (point.warning.empty()) continue;
      context_.reconciler.Post({.run = run,
                                .actor = "node " + node_name_,
                                .body = RunWarned{point.epoch, point.step, point.warning}});
    }
  }
}

// A run accepts one warning per step, so this warning gets the step after the newest one.
void AgentSession::WarnOfLoss(const RunId& id, const std::string& why) {
  const auto run = context_.reconciler.snapshot()->FindRun(id);
  if (run == nullptr) return;
  const auto newest = context_.recorder.ProgressOf(id).newest;
  auto at = std::max(run->warned_at, std::pair(run->epoch, newest ? newest->step : 0));
  ++at.second;
  context_.reconciler.Post(
      {.run = id,
       .actor = "coordinator",
       .body = RunWarned{
           at.first, at.second,
           "metric points and log lines of this run are lost until its log can be written: " +
               why}});
}

void AgentSession::Acknowledge(uint64_t through_sequence, size_t size_bytes) {
  {
    MutexLock lock(mutex_);
    unacknowledged_bytes_ -= size_bytes;
    acknowledged_ = std::max(acknowledged_, through_sequence);
  }
  Advance();
}

void AgentSession::Advance() {
  const auto keep = shared_from_this();
  bool write = false;
  Status end;
  {
    MutexLock lock(mutex_);
    if (writing_ || finished_) return;
    write = !ending_ && FillNext();
    if (!write && !ending_) return;
    if (!write) end = *ending_;
    (write ? writing_ : finished_) = true;
  }
  if (write) {
    StartWrite(&outgoing_);
  } else {
    Finish(rpc::ToGrpc(end));
  }
}

bool AgentSession::FillNext() {
  if (const Status access = access_->Check(); !access.ok()) {
    End(access);
    return false;
  }
  if (greeting_) {
    outgoing_ = std::move(*greeting_);
    greeting_.reset();
    return true;
  }
  if (greeted_ && node_.empty()) {
    End(FailedPrecondition("refused"));
    return false;
  }
  if (acknowledged_ > acknowledgement_sent_) {
    acknowledgement_sent_ = acknowledged_;
    outgoing_.mutable_telemetry_ack()->set_through_sequence(acknowledged_);
    outgoing_.mutable_telemetry_ack()->set_window_bytes(context_.TelemetryWindowBytes());
    return true;
  }
  return FillDesired();
}

bool AgentSession::FillDesired() {
  const auto cluster = context_.reconciler.snapshot();
  const auto node = cluster->FindNode(node_);
  if (node == nullptr || node->session < session_) return false;  // our hello is not applied yet
  if (node->session > session_) {
    End(Aborted("this node opened a newer stream"));
    return false;
  }
  v1::DesiredState desired = ToDesired(*cluster, *node, context_.options);
  std::string bytes = desired.SerializeAsString();
  if (desired_sent_ == bytes) return false;
  desired_sent_ = std::move(bytes);
  *outgoing_.mutable_desired() = std::move(desired);
  return true;
}

}  // namespace gp::coordinator
