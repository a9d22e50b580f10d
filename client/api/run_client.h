// RunClient: the coordinator's RunService, SweepService, StorageService, NodeService and node
// revocation as a C++ object. Each call is retried while the coordinator is unreachable, until the
// call's deadline, so that a restart in between goes unnoticed: calls that change something carry
// request ids or are idempotent. Streams are reopened: logs, events and metrics resume after the
// last message seen; Watch begins with the current state. Owned by the caller; thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/api/call_credentials.h"
#include "client/api/interruption.h"
#include "gp/v1/enrollment_service.grpc.pb.h"
#include "gp/v1/node_service.grpc.pb.h"
#include "gp/v1/notification_service.grpc.pb.h"
#include "gp/v1/run_service.grpc.pb.h"
#include "gp/v1/storage_service.grpc.pb.h"
#include "gp/v1/sweep_service.grpc.pb.h"
#include "rpc/answer_header.h"
#include "rpc/tls.h"

namespace gp::client {

struct RunClientOptions {
  std::string address;  // HOST:PORT or unix:PATH
  CallCredentials credentials;
  std::optional<rpc::ChannelTls> tls;  // for HOST:PORT; absent: no encryption, and no token is sent
  // The limit for a unary call, all its retries included. RestoreCheckpoint: the limit for reaching
  // the coordinator; its answer may take 12 hours.
  std::chrono::milliseconds timeout = std::chrono::seconds(15);
  // A stream ends with Unavailable when it could not be reopened for this long.
  std::chrono::milliseconds outage_max = std::chrono::seconds(60);
  // Runs after each attempt that did not reach the coordinator. An error ends the call: gpctl looks
  // whether the local service was stopped.
  std::function<Status()> check_service;
  // Runs once per outage, a second after it began.
  std::function<void(const std::string& message)> on_waiting;
  // Runs after each successful answer, and after the first message of each opened stream, on the
  // caller's thread.
  std::function<void(const rpc::AnswerHeader&)> on_header;
};

class RunClient {
 public:
  // A stream continues while its consumer returns true.
  template <typename Message>
  using Consumer = std::function<bool(const Message&)>;

  // `interruption` ends every call with Cancelled; it must outlive this object.
  RunClient(RunClientOptions options, Interruption& interruption);
  ~RunClient();

  const std::string& address() const { return options_.address; }
  bool has_tls() const { return options_.tls.has_value(); }

  // Errors of all calls: Unavailable when the coordinator cannot be reached, DeadlineExceeded when
  // it does not answer in time, InvalidArgument for text that is not UTF-8, else the coordinator's
  // own. Answers are safe to show (safe_message.h).

  // Fills an empty request id.
  StatusOr<v1::SubmitResponse> Submit(v1::SubmitRequest request);
  StatusOr<v1::Run> Get(const std::string& run);
  StatusOr<v1::ListResponse> List(const v1::ListRequest& request);
  // `now`: end the run at once, without saving its last step.
  StatusOr<v1::Run> Cancel(const std::string& run, bool now = false);
  StatusOr<v1::Run> Pause(const std::string& run);
  StatusOr<v1::Run> Resume(const std::string& run);
  StatusOr<v1::Run> Resize(const std::string& run, int workers);
  // Fills an empty request id.
  StatusOr<v1::ContinueResponse> Continue(v1::ContinueRequest request);
  // Fills an empty request id.
  StatusOr<v1::Run> Annotate(v1::AnnotateRequest request);
  StatusOr<v1::CheckpointsResponse> Checkpoints(const std::string& run);
  // Waits until the coordinator has read the whole checkpoint, at most 12 hours.
  StatusOr<v1::Checkpoint> RestoreCheckpoint(const std::string& run, int64_t step);
  // Deletes an ended run. Fills an empty request id.
  StatusOr<v1::DeleteRunResponse> DeleteRun(v1::DeleteRunRequest request);
  StatusOr<v1::PruneCheckpointsResponse> PruneCheckpoints(v1::PruneCheckpointsRequest request);
  StatusOr<v1::Checkpoint> PinCheckpoint(const std::string& run, int64_t step, bool pinned);
  StatusOr<v1::DiskUsageResponse> DiskUsage(const v1::DiskUsageRequest& request);
  // These four: FailedPrecondition when the coordinator has no sweeps yet.
  // Fills an empty request id.
  StatusOr<v1::SubmitSweepResponse> SubmitSweep(v1::SubmitSweepRequest request);
  // `sweep`: "NAME" or "NAMESPACE/NAME".
  StatusOr<v1::Sweep> GetSweep(const std::string& sweep);
  StatusOr<v1::ListSweepsResponse> ListSweeps(const std::string& run_namespace);
  StatusOr<v1::Sweep> CancelSweep(const std::string& sweep);
  StatusOr<v1::NodesResponse> Nodes();
  StatusOr<v1::VersionResponse> Version();
  // Take a node, named by name or id, out of use and bring it back; they return the node as it is
  // then. Drain does not wait until nothing runs there.
  StatusOr<v1::Node> Cordon(const std::string& node, const std::string& reason);
  StatusOr<v1::Node> Drain(const std::string& node, const std::string& reason);
  StatusOr<v1::Node> Uncordon(const std::string& node);
  StatusOr<v1::ListNotificationTargetsResponse> NotificationTargets();
  // Waits until the receiver has answered, at most half a minute.
  StatusOr<v1::TestNotificationTargetResponse> TestNotificationTarget(const std::string& target);
  // Revokes the node's certificates. Unavailable also when the answer was lost: the call is not
  // repeated, because that would revoke a node that has joined again meanwhile.
  Status RevokeNode(const std::string& node_id);

  // Return OK when the server ended the stream or the consumer returned false.
  Status Watch(const std::string& run, const Consumer<v1::Run>& consumer);
  Status Logs(v1::LogsRequest request, const Consumer<v1::LogLine>& consumer);
  Status Events(v1::EventsRequest request, const Consumer<v1::RunEvent>& consumer);
  Status Metrics(v1::MetricsRequest request, const Consumer<v1::MetricPoint>& consumer);

  // The runs that are connected with this one by forks, the oldest first, with their run files.
  // FailedPrecondition when the coordinator does not have this method yet.
  StatusOr<std::vector<v1::Run>> Lineage(const std::string& run);

  // All points of each requested field, in the order of the fields. A field without points has an
  // empty message. FailedPrecondition when the coordinator does not have this method yet.
  StatusOr<std::vector<v1::CurvePoints>> Curves(const v1::CurvesRequest& request);

 private:
  class Outage;

  // FailedPrecondition: the coordinator does not have a method yet, and so cannot "send curves".
  Status IsOlder(const char* cannot) const;

  template <typename Call>
  Status Retry(const std::string& method, const Call& call) {
    return Retry(method, call, options_.timeout);
  }
  // `timeout` limits one answer. A coordinator that cannot be reached is tried for the options'
  // timeout.
  template <typename Call>
  Status Retry(const std::string& method, const Call& call, std::chrono::milliseconds timeout);
  struct Limit {
    std::chrono::system_clock::time_point deadline;
    std::chrono::milliseconds timeout;  // for the message
  };
  // Unavailable when the coordinator cannot be reached, or the answer was lost.
  template <typename Call>
  Status Try(const std::string& method, const Call& call, const Limit& limit);
  template <typename Request, typename Response>
  using Method = grpc::Status (v1::RunService::StubInterface::*)(grpc::ClientContext*,
                                                                 const Request&, Response*);
  // Calls a method of the RunService whose answer comes within the options' timeout.
  template <typename Request, typename Response>
  StatusOr<Response> Ask(const std::string& method, Method<Request, Response> call,
                         const Request& request);
  // Calls a method that an older coordinator may not have; `cannot` as in IsOlder.
  template <typename Response, typename Request, typename Call>
  StatusOr<Response> AskNewer(const char* cannot, const std::string& method, const Request& request,
                              const Call& call, std::chrono::milliseconds timeout);
  // Calls a method of the StorageService.
  template <typename Response, typename Request, typename Call>
  StatusOr<Response> AskStorage(const std::string& method, const Request& request,
                                const Call& call);
  // Calls a method of the SweepService.
  template <typename Response, typename Request, typename Call>
  StatusOr<Response> AskSweeps(const std::string& method, const Request& request, const Call& call);
  // Sends a change of a node (Cordon, Drain, Uncordon).
  template <typename Request, typename Call>
  StatusOr<v1::Node> Change(const std::string& method, Request request, const Call& call);
  template <typename Message, typename Open>
  Status Stream(const std::string& method, const Open& open, const Consumer<Message>& consumer);

  const RunClientOptions options_;
  Interruption& interruption_;
  std::unique_ptr<v1::RunService::Stub> stub_;
  std::unique_ptr<v1::EnrollmentService::Stub> enrollment_;
  std::unique_ptr<v1::NodeService::Stub> nodes_;
  std::unique_ptr<v1::StorageService::Stub> storage_;
  std::unique_ptr<v1::NotificationService::Stub> notifications_;
  std::unique_ptr<v1::SweepService::Stub> sweeps_;
};

// Whether the run has reached a state that it never leaves.
bool IsTerminal(v1::RunState state);

}  // namespace gp::client
