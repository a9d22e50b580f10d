#include "client/api/run_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/duration.h"
#include "base/random_id.h"
#include "client/api/request_text.h"
#include "client/api/safe_message.h"
#include "rpc/channel.h"
#include "rpc/server_certificates.h"
#include "rpc/status.h"

namespace gp::client {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{500};
constexpr std::chrono::seconds kQuietOutage{1};
// RestoreCheckpoint's time limit: enough to read the largest checkpoint from the slowest storage.
constexpr std::chrono::hours kLongestReading{12};
// Longer than a notification that is being sent, and the test after it.
constexpr std::chrono::seconds kLongestTest{30};

// The cause in a gRPC error message. The message lists every address and layer first, so the cause
// is the text after the last ": ".
std::string Reason(const Status& status) {
  const std::string message = Message(status);
  const size_t at = message.rfind(": ");
  return at == std::string::npos ? message : message.substr(at + 2);
}

std::string Unreachable(const std::string& address, const Status& status) {
  return fmt::format("the coordinator at {} cannot be reached ({})", address, Reason(status));
}

void TellHeader(const RunClientOptions& options, const grpc::ClientContext& context) {
  if (options.on_header) options.on_header(rpc::ReadAnswerHeader(context));
}

}  // namespace

// The time in which a call has not reached the coordinator, beginning with its first attempt. Paces
// the attempts and ends them at the deadline.
class RunClient::Outage {
 public:
  Outage(const RunClientOptions& options, Interruption& interruption,
         std::chrono::nanoseconds longest)
      : options_(options),
        interruption_(interruption),
        begin_(steady_clock::now()),
        deadline_(begin_ + longest) {}

  steady_clock::time_point deadline() const { return deadline_; }

  // Sleeps before the next attempt. Returns an error if there must be no further attempt.
  Status Pause(const Status& last) {
    if (options_.check_service) RETURN_IF_ERROR(options_.check_service());
    RETURN_IF_ERROR(CheckCertificates());
    const auto now = steady_clock::now();
    if (now + pause_ >= deadline_) {
      return Unavailable("{} after trying for {}; {}", Unreachable(options_.address, last),
                         FormatDuration(now - begin_), WayOut());
    }
    if (!told_ && now - begin_ >= kQuietOutage && options_.on_waiting) {
      told_ = true;
      options_.on_waiting(Unreachable(options_.address, last) + "; trying again");
    }
    if (interruption_.WaitFor(pause_)) return Cancelled("interrupted");
    pause_ = std::min(pause_ * 2, kLongestPause);
    return OkStatus();
  }

 private:
  // Checks once for TLS problems, such as an expired certificate, that retrying cannot solve.
  Status CheckCertificates() {
    if (!options_.tls || std::exchange(checked_, true)) return OkStatus();
    return rpc::ExplainCertificates(options_.address, *options_.tls, SystemClock().WallNow(),
                                    kQuietOutage);
  }

  // What the user can do. Without TLS it mentions `gpctl login`, because a server that expects TLS
  // closes a plaintext connection without an error message.
  std::string WayOut() const {
    std::string text = "is it running? 'gpctl up' starts one here, --server names another";
    if (options_.address.starts_with("unix:") || options_.tls) return text;
    return text +
           fmt::format(
               "; this call did not use TLS, and only a coordinator with --insecure accepts that: "
               "'gpctl login {} --token-file FILE' sets it up",
               options_.address);
  }

  const RunClientOptions& options_;
  Interruption& interruption_;
  const steady_clock::time_point begin_;
  const steady_clock::time_point deadline_;
  std::chrono::milliseconds pause_ = kFirstPause;
  bool told_ = false;
  bool checked_ = false;
};

RunClient::RunClient(RunClientOptions options, Interruption& interruption)
    : options_(std::move(options)),
      interruption_(interruption),
      stub_(v1::RunService::NewStub(rpc::MakeChannel(options_.address, {.tls = options_.tls}))),
      enrollment_(v1::EnrollmentService::NewStub(
          rpc::MakeChannel(options_.address, {.tls = options_.tls}))),
      nodes_(v1::NodeService::NewStub(rpc::MakeChannel(options_.address, {.tls = options_.tls}))),
      storage_(
          v1::StorageService::NewStub(rpc::MakeChannel(options_.address, {.tls = options_.tls}))),
      notifications_(v1::NotificationService::NewStub(
          rpc::MakeChannel(options_.address, {.tls = options_.tls}))),
      sweeps_(
          v1::SweepService::NewStub(rpc::MakeChannel(options_.address, {.tls = options_.tls}))) {}

RunClient::~RunClient() = default;

template <typename Call>
Status RunClient::Retry(const std::string& method, const Call& call,
                        std::chrono::milliseconds timeout) {
  Outage outage(options_, interruption_, options_.timeout);
  const std::chrono::system_clock::time_point wall_deadline = SystemClock().WallNow() + timeout;
  while (true) {
    const Status status = Try(method, call, {wall_deadline, timeout});
    if (status.code() != StatusCode::kUnavailable) return status;
    RETURN_IF_ERROR(outage.Pause(status));
  }
}

template <typename Call>
Status RunClient::Try(const std::string& method, const Call& call, const Limit& limit) {
  RETURN_IF_ERROR(
      CheckTokenMayGo(options_.credentials, options_.address, options_.tls.has_value()));
  grpc::ClientContext context;
  Show(options_.credentials, context);
  context.set_deadline(limit.deadline);
  const auto scope = interruption_.OnRequest([&context] { context.TryCancel(); });
  const Status status = rpc::FromGrpc(call(context));
  if (status.ok()) TellHeader(options_, context);
  if (interruption_.requested()) return Cancelled("interrupted");
  if (status.code() != StatusCode::kDeadlineExceeded) return status;
  return DeadlineExceeded("the coordinator at {} did not answer {} within {}", options_.address,
                          method, FormatDuration(limit.timeout));
}

template <typename Message, typename Open>
Status RunClient::Stream(const std::string& method, const Open& open,
                         const Consumer<Message>& consumer) {
  RETURN_IF_ERROR(
      CheckTokenMayGo(options_.credentials, options_.address, options_.tls.has_value()));
  while (true) {
    Outage outage(options_, interruption_, options_.outage_max);
    Status status;
    bool received = false;
    do {  // attempts until a message arrives, which ends the outage
      grpc::ClientContext context;
      Show(options_.credentials, context);
      const auto scope = interruption_.OnRequest([&context] { context.TryCancel(); });
      auto reader = open(context);
      Message message;
      bool wanted = true;
      while (wanted && reader->Read(&message)) {
        if (!received) TellHeader(options_, context);
        received = true;
        MakeSafeToShow(message);
        wanted = consumer(message);
      }
      if (!wanted) context.TryCancel();
      status = rpc::FromGrpc(reader->Finish());
      if (!wanted) return OkStatus();
      if (interruption_.requested()) return Cancelled("interrupted");
      if (status.code() != StatusCode::kUnavailable) return WithContext(status, method);
      if (!received) RETURN_IF_ERROR(outage.Pause(status));
    } while (!received);
  }
}

template <typename Request, typename Response>
StatusOr<Response> RunClient::Ask(const std::string& method, Method<Request, Response> call,
                                  const Request& request) {
  RETURN_IF_ERROR(CheckTexts(request));
  Response response;
  RETURN_IF_ERROR(Retry(method, [&](grpc::ClientContext& context) {
    return (stub_.get()->*call)(&context, request, &response);
  }));
  MakeSafeToShow(response);
  return response;
}

StatusOr<v1::SubmitResponse> RunClient::Submit(v1::SubmitRequest request) {
  if (request.request_id().empty()) request.set_request_id(RandomId(20));
  return Ask("Submit", &v1::RunService::StubInterface::Submit, request);
}

StatusOr<v1::Run> RunClient::Get(const std::string& run) {
  v1::GetRequest request;
  request.set_run(run);
  return Ask("Get", &v1::RunService::StubInterface::Get, request);
}

StatusOr<v1::ListResponse> RunClient::List(const v1::ListRequest& request) {
  return Ask("List", &v1::RunService::StubInterface::List, request);
}

StatusOr<v1::Run> RunClient::Cancel(const std::string& run, bool now) {
  v1::CancelRequest request;
  request.set_run(run);
  request.set_now(now);
  request.set_request_id(RandomId(20));
  return Ask("Cancel", &v1::RunService::StubInterface::Cancel, request);
}

StatusOr<v1::Run> RunClient::Pause(const std::string& run) {
  v1::PauseRequest request;
  request.set_run(run);
  request.set_request_id(RandomId(20));
  return Ask("Pause", &v1::RunService::StubInterface::Pause, request);
}

StatusOr<v1::Run> RunClient::Resume(const std::string& run) {
  v1::ResumeRequest request;
  request.set_run(run);
  request.set_request_id(RandomId(20));
  return Ask("Resume", &v1::RunService::StubInterface::Resume, request);
}

StatusOr<v1::Run> RunClient::Resize(const std::string& run, int workers) {
  v1::ResizeRequest request;
  request.set_run(run);
  request.set_workers(workers);
  request.set_request_id(RandomId(20));
  return Ask("Resize", &v1::RunService::StubInterface::Resize, request);
}

StatusOr<v1::ContinueResponse> RunClient::Continue(v1::ContinueRequest request) {
  if (request.request_id().empty()) request.set_request_id(RandomId(20));
  return Ask("Continue", &v1::RunService::StubInterface::Continue, request);
}

StatusOr<v1::Run> RunClient::Annotate(v1::AnnotateRequest request) {
  if (request.request_id().empty()) request.set_request_id(RandomId(20));
  return Ask("Annotate", &v1::RunService::StubInterface::Annotate, request);
}

StatusOr<v1::CheckpointsResponse> RunClient::Checkpoints(const std::string& run) {
  v1::CheckpointsRequest request;
  request.set_run(run);
  return Ask("Checkpoints", &v1::RunService::StubInterface::Checkpoints, request);
}

StatusOr<v1::Checkpoint> RunClient::RestoreCheckpoint(const std::string& run, int64_t step) {
  v1::RestoreCheckpointRequest request;
  request.set_run(run);
  RETURN_IF_ERROR(CheckTexts(request));
  request.set_step(step);
  request.set_request_id(RandomId(20));
  v1::Checkpoint response;
  const auto call = [&](grpc::ClientContext& context) {
    return stub_->RestoreCheckpoint(&context, request, &response);
  };
  RETURN_IF_ERROR(Retry("RestoreCheckpoint", call, kLongestReading));
  MakeSafeToShow(response);
  return response;
}

template <typename Response, typename Request, typename Call>
StatusOr<Response> RunClient::AskNewer(const char* cannot, const std::string& method,
                                       const Request& request, const Call& call,
                                       std::chrono::milliseconds timeout) {
  RETURN_IF_ERROR(CheckTexts(request));
  Response response;
  const Status status = Retry(
      method, [&](grpc::ClientContext& context) { return call(context, response); }, timeout);
  if (status.code() == StatusCode::kUnimplemented) return IsOlder(cannot);
  RETURN_IF_ERROR(status);
  MakeSafeToShow(response);
  return response;
}

template <typename Response, typename Request, typename Call>
StatusOr<Response> RunClient::AskStorage(const std::string& method, const Request& request,
                                         const Call& call) {
  return AskNewer<Response>("free its storage", method, request, call, options_.timeout);
}

StatusOr<v1::DeleteRunResponse> RunClient::DeleteRun(v1::DeleteRunRequest request) {
  if (request.request_id().empty()) request.set_request_id(RandomId(20));
  return AskStorage<v1::DeleteRunResponse>(
      "DeleteRun", request, [&](grpc::ClientContext& context, v1::DeleteRunResponse& response) {
        return storage_->DeleteRun(&context, request, &response);
      });
}

StatusOr<v1::PruneCheckpointsResponse> RunClient::PruneCheckpoints(
    v1::PruneCheckpointsRequest request) {
  if (request.request_id().empty()) request.set_request_id(RandomId(20));
  return AskStorage<v1::PruneCheckpointsResponse>(
      "PruneCheckpoints", request,
      [&](grpc::ClientContext& context, v1::PruneCheckpointsResponse& response) {
        return storage_->PruneCheckpoints(&context, request, &response);
      });
}

StatusOr<v1::Checkpoint> RunClient::PinCheckpoint(const std::string& run, int64_t step,
                                                  bool pinned) {
  v1::PinCheckpointRequest request;
  request.set_request_id(RandomId(20));
  request.set_run(run);
  request.set_step(step);
  request.set_pinned(pinned);
  return AskStorage<v1::Checkpoint>("PinCheckpoint", request,
                                    [&](grpc::ClientContext& context, v1::Checkpoint& response) {
                                      return storage_->PinCheckpoint(&context, request, &response);
                                    });
}

StatusOr<v1::DiskUsageResponse> RunClient::DiskUsage(const v1::DiskUsageRequest& request) {
  return AskStorage<v1::DiskUsageResponse>(
      "DiskUsage", request, [&](grpc::ClientContext& context, v1::DiskUsageResponse& response) {
        return storage_->DiskUsage(&context, request, &response);
      });
}

template <typename Response, typename Request, typename Call>
StatusOr<Response> RunClient::AskSweeps(const std::string& method, const Request& request,
                                        const Call& call) {
  return AskNewer<Response>("run sweeps", method, request, call, options_.timeout);
}

StatusOr<v1::ListNotificationTargetsResponse> RunClient::NotificationTargets() {
  return AskNewer<v1::ListNotificationTargetsResponse>(
      "send notifications", "ListNotificationTargets", v1::ListNotificationTargetsRequest(),
      [this](auto& context, auto& response) {
        return notifications_->ListNotificationTargets(&context, {}, &response);
      },
      options_.timeout);
}

StatusOr<v1::TestNotificationTargetResponse> RunClient::TestNotificationTarget(
    const std::string& target) {
  v1::TestNotificationTargetRequest request;
  request.set_request_id(RandomId(20));
  request.set_target(target);
  return AskNewer<v1::TestNotificationTargetResponse>(
      "send notifications", "TestNotificationTarget", request,
      [&](auto& context, auto& response) {
        return notifications_->TestNotificationTarget(&context, request, &response);
      },
      kLongestTest);
}

StatusOr<v1::SubmitSweepResponse> RunClient::SubmitSweep(v1::SubmitSweepRequest request) {
  if (request.request_id().empty()) request.set_request_id(RandomId(20));
  return AskSweeps<v1::SubmitSweepResponse>("SubmitSweep", request,
                                            [&](grpc::ClientContext& context, auto& response) {
                                              return sweeps_->Submit(&context, request, &response);
                                            });
}

StatusOr<v1::Sweep> RunClient::GetSweep(const std::string& sweep) {
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  return AskSweeps<v1::Sweep>("GetSweep", request,
                              [&](grpc::ClientContext& context, v1::Sweep& response) {
                                return sweeps_->Get(&context, request, &response);
                              });
}

StatusOr<v1::ListSweepsResponse> RunClient::ListSweeps(const std::string& run_namespace) {
  v1::ListSweepsRequest request;
  request.set_namespace_(run_namespace);
  return AskSweeps<v1::ListSweepsResponse>("ListSweeps", request,
                                           [&](grpc::ClientContext& context, auto& response) {
                                             return sweeps_->List(&context, request, &response);
                                           });
}

StatusOr<v1::Sweep> RunClient::CancelSweep(const std::string& sweep) {
  v1::CancelSweepRequest request;
  request.set_request_id(RandomId(20));
  request.set_sweep(sweep);
  return AskSweeps<v1::Sweep>("CancelSweep", request,
                              [&](grpc::ClientContext& context, v1::Sweep& response) {
                                return sweeps_->Cancel(&context, request, &response);
                              });
}

StatusOr<v1::NodesResponse> RunClient::Nodes() {
  v1::NodesResponse response;
  RETURN_IF_ERROR(Retry("Nodes", [&](grpc::ClientContext& context) {
    return stub_->Nodes(&context, v1::NodesRequest(), &response);
  }));
  MakeSafeToShow(response);
  return response;
}

StatusOr<v1::VersionResponse> RunClient::Version() {
  v1::VersionRequest request;
  request.set_protocol(1);
  v1::VersionResponse response;
  RETURN_IF_ERROR(Retry("Version", [&](grpc::ClientContext& context) {
    return stub_->Version(&context, request, &response);
  }));
  MakeSafeToShow(response);
  return response;
}

template <typename Request, typename Call>
StatusOr<v1::Node> RunClient::Change(const std::string& method, Request request, const Call& call) {
  RETURN_IF_ERROR(CheckTexts(request));
  request.set_request_id(RandomId(20));
  v1::Node response;
  const Status status =
      Retry(method, [&](grpc::ClientContext& context) { return call(context, request, response); });
  if (status.code() == StatusCode::kUnimplemented) {
    return FailedPrecondition(
        "the coordinator at {} is older than this gpctl and does not support cordons",
        options_.address);
  }
  RETURN_IF_ERROR(status);
  MakeSafeToShow(response);
  return response;
}

StatusOr<v1::Node> RunClient::Cordon(const std::string& node, const std::string& reason) {
  v1::CordonRequest request;
  request.set_node(node);
  request.set_reason(reason);
  return Change("Cordon", request, [this](auto& context, const auto& wanted, auto& response) {
    return nodes_->Cordon(&context, wanted, &response);
  });
}

StatusOr<v1::Node> RunClient::Drain(const std::string& node, const std::string& reason) {
  v1::DrainRequest request;
  request.set_node(node);
  request.set_reason(reason);
  return Change("Drain", request, [this](auto& context, const auto& wanted, auto& response) {
    return nodes_->Drain(&context, wanted, &response);
  });
}

StatusOr<v1::Node> RunClient::Uncordon(const std::string& node) {
  v1::UncordonRequest request;
  request.set_node(node);
  return Change("Uncordon", request, [this](auto& context, const auto& wanted, auto& response) {
    return nodes_->Uncordon(&context, wanted, &response);
  });
}

Status RunClient::RevokeNode(const std::string& node_id) {
  v1::RevokeNodeRequest request;
  request.set_request_id(RandomId(20));
  request.set_node_id(node_id);
  RETURN_IF_ERROR(CheckTexts(request));
  const auto call = [&](grpc::ClientContext& context) {
    context.set_wait_for_ready(true);  // waits while the coordinator restarts
    v1::RevokeNodeResponse response;
    return enrollment_->RevokeNode(&context, request, &response);
  };
  const std::chrono::milliseconds timeout = options_.timeout;
  const Status status = Try("RevokeNode", call, {SystemClock().WallNow() + timeout, timeout});
  if (status.code() != StatusCode::kUnavailable) return status;
  return Unavailable(
      "the coordinator at {} did not say whether it revoked node {} ({}); if the node has not "
      "joined again since, revoke it again",
      options_.address, node_id, Reason(status));
}

Status RunClient::Watch(const std::string& run, const Consumer<v1::Run>& consumer) {
  v1::WatchRequest request;
  request.set_run(run);
  RETURN_IF_ERROR(CheckTexts(request));
  bool terminal = false;
  return Stream<v1::WatchResponse>(
      "Watch", [&](grpc::ClientContext& context) { return stub_->Watch(&context, request); },
      [&](const v1::WatchResponse& response) {
        if (terminal) return false;
        terminal = IsTerminal(response.run().state());
        return consumer(response.run());
      });
}

Status RunClient::Logs(v1::LogsRequest request, const Consumer<v1::LogLine>& consumer) {
  RETURN_IF_ERROR(CheckTexts(request));
  return Stream<v1::LogLine>(
      "Logs", [&](grpc::ClientContext& context) { return stub_->Logs(&context, request); },
      [&](const v1::LogLine& line) {
        request.set_after_sequence(line.sequence());
        request.set_tail(0);
        return consumer(line);
      });
}

Status RunClient::Events(v1::EventsRequest request, const Consumer<v1::RunEvent>& consumer) {
  RETURN_IF_ERROR(CheckTexts(request));
  return Stream<v1::RunEvent>(
      "Events", [&](grpc::ClientContext& context) { return stub_->Events(&context, request); },
      [&](const v1::RunEvent& event) {
        request.set_after_sequence(event.sequence());
        return consumer(event);
      });
}

Status RunClient::Metrics(v1::MetricsRequest request, const Consumer<v1::MetricPoint>& consumer) {
  RETURN_IF_ERROR(CheckTexts(request));
  // (epoch, step) of the newest point received, used to skip points that were received before an
  // outage; the pairs increase along the stream. A reopened stream repeats the same request instead
  // of asking for later steps, because the run may have restarted from an earlier step meanwhile.
  std::optional<std::pair<uint64_t, int64_t>> newest;
  return Stream<v1::MetricPoint>(
      "Metrics", [&](grpc::ClientContext& context) { return stub_->Metrics(&context, request); },
      [&](const v1::MetricPoint& point) {
        const std::pair place(point.epoch(), point.step());
        if (newest && place <= *newest) return true;
        newest = place;
        return consumer(point);
      });
}

StatusOr<std::vector<v1::Run>> RunClient::Lineage(const std::string& run) {
  v1::LineageRequest request;
  request.set_run(run);
  RETURN_IF_ERROR(CheckTexts(request));
  std::vector<v1::Run> runs;
  // The stream is not followed, so a reopened one begins anew.
  const auto open = [&](grpc::ClientContext& context) {
    runs.clear();
    return stub_->Lineage(&context, request);
  };
  const Status status =
      Stream<v1::LineageResponse>("Lineage", open, [&](const v1::LineageResponse& response) {
        runs.push_back(response.run());
        return true;
      });
  if (status.code() == StatusCode::kUnimplemented) return IsOlder("send a lineage");
  RETURN_IF_ERROR(status);
  return runs;
}

Status RunClient::IsOlder(const char* cannot) const {
  return FailedPrecondition("the coordinator at {} is older than this gpctl and cannot {}",
                            options_.address, cannot);
}

StatusOr<std::vector<v1::CurvePoints>> RunClient::Curves(const v1::CurvesRequest& request) {
  RETURN_IF_ERROR(CheckTexts(request));
  std::vector<v1::CurvePoints> curves;
  // The stream is not followed, so a reopened one starts from the beginning.
  const auto open = [&](grpc::ClientContext& context) {
    curves.assign(request.fields_size(), {});
    for (int i = 0; i < request.fields_size(); ++i) curves[i].set_field(request.fields(i));
    return stub_->Curves(&context, request);
  };
  const Status status = Stream<v1::CurvePoints>("Curves", open, [&](const v1::CurvePoints& points) {
    for (v1::CurvePoints& curve : curves) {
      if (curve.field() == points.field()) curve.MergeFrom(points);
    }
    return true;
  });
  if (status.code() == StatusCode::kUnimplemented) return IsOlder("send curves");
  RETURN_IF_ERROR(status);
  return curves;
}

bool IsTerminal(v1::RunState state) {
  return state == v1::RUN_STATE_SUCCEEDED || state == v1::RUN_STATE_FAILED ||
         state == v1::RUN_STATE_CANCELLED;
}

}  // namespace gp::client
