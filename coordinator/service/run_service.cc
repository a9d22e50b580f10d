#include "coordinator/service/run_service.h"

#include <algorithm>
#include <charconv>

#include "coordinator/batch.h"
#include "coordinator/service/convert.h"
#include "coordinator/service/submission.h"
#include "coordinator/state/run_reference.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

constexpr int kListDefault = 100;
constexpr int kListMax = 1000;
constexpr int kProtocol = 1;

grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* call, const Status& status) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(rpc::ToGrpc(status));
  return reactor;
}

// A stream that ends with an error at once.
template <typename Response>
grpc::ServerWriteReactor<Response>* Refuse(const Status& status) {
  class Refusal final : public grpc::ServerWriteReactor<Response> {
   public:
    explicit Refusal(const Status& why) { this->Finish(rpc::ToGrpc(why)); }
    void OnDone() override { delete this; }
  };
  return new Refusal(status);
}

// Newest first, from below `before` on.
std::vector<std::shared_ptr<const Run>> NewestRuns(const Cluster& cluster, bool include_finished,
                                                   uint64_t before) {
  std::vector<std::shared_ptr<const Run>> runs;
  cluster.runs.ForEach([&](const RunId&, const std::shared_ptr<const Run>& run) {
    if (run->submitted_sequence >= before) return;
    if (include_finished || !IsTerminal(run->state)) runs.push_back(run);
  });
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return a->submitted_sequence > b->submitted_sequence;
  });
  return runs;
}

StatusOr<uint64_t> ParsePageToken(const std::string& token) {
  if (token.empty()) return UINT64_MAX;
  uint64_t before = 0;
  const auto parsed = std::from_chars(token.data(), token.data() + token.size(), before);
  if (parsed.ec == std::errc() && parsed.ptr == token.data() + token.size()) return before;
  return InvalidArgument("page_token '{}' is none that List returned", token);
}

}  // namespace

StatusOr<std::shared_ptr<const Run>> RunService::Find(const std::string& reference) const {
  return ResolveRun(*context_.reconciler.snapshot(), reference);
}

v1::Run RunService::Show(const RunId& id) const {
  const auto cluster = context_.reconciler.snapshot();
  return ToProto(*cluster, *cluster->FindRun(id), context_.recorder.ProgressOf(id));
}

grpc::ServerUnaryReactor* RunService::Submit(grpc::CallbackServerContext* call,
                                             const v1::SubmitRequest* request,
                                             v1::SubmitResponse* response) {
  if (AnswerRepeated(*request, *response)) return Finish(call, OkStatus());
  const StatusOr<PreparedSubmit> prepared = PrepareSubmit(*request, resolver_, storage_);
  if (!prepared.ok()) return Finish(call, prepared.status());
  for (const std::string& warning : prepared->warnings) response->add_warnings(warning);
  if (request->dry_run()) return Finish(call, PlanOnly(prepared->event, *response));
  const Status writable = storage_.CheckWritable();
  if (!writable.ok()) return Finish(call, writable);
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  context_.reconciler.Request(prepared->event,
                              [this, reactor, response](const StatusOr<Admission>& admission) {
                                if (admission.ok()) {
                                  *response->mutable_run() = Show(admission->run);
                                  response->set_replayed(admission->replayed);
                                }
                                reactor->Finish(rpc::ToGrpc(admission.status()));
                              });
  return reactor;
}

// A repeated request gets its run, whatever became of its file or the storage since.
bool RunService::AnswerRepeated(const v1::SubmitRequest& request,
                                v1::SubmitResponse& response) const {
  const auto cluster = context_.reconciler.snapshot();
  const AnsweredRequest* answered = cluster->requests.Find(request.request_id());
  if (answered == nullptr || answered->body_digest != BodyDigest(request)) return false;
  *response.mutable_run() = Show(answered->run);
  response.set_replayed(true);
  return true;
}

// What would happen now, tried on a copy.
Status RunService::PlanOnly(const Event& event, v1::SubmitResponse& response) const {
  const Now now{clock_.Now(), clock_.WallNow()};
  Batch batch(*context_.reconciler.snapshot(), now);
  Event trial = event;
  trial.request_id = "dry-run " + event.run.value();
  std::get<RunSubmitted>(trial.body).submission.request_id = trial.request_id;
  RETURN_IF_ERROR(batch.Take(trial).status());
  batch.Plan(options_.policy, [] { return std::string(); });
  const auto run = batch.after().FindRun(event.run);
  *response.mutable_run() = ToProto(batch.after(), *run, Progress());
  response.mutable_run()->set_source(run->submission->source);
  response.mutable_run()->set_resolved(run->submission->resolved);
  response.mutable_run()->clear_request_id();
  return OkStatus();
}

grpc::ServerUnaryReactor* RunService::Get(grpc::CallbackServerContext* call,
                                          const v1::GetRequest* request, v1::Run* response) {
  const auto run = Find(request->run());
  if (!run.ok()) return Finish(call, run.status());
  *response = Show((*run)->id);
  response->set_source((*run)->submission->source);
  response->set_resolved((*run)->submission->resolved);
  return Finish(call, OkStatus());
}

grpc::ServerUnaryReactor* RunService::List(grpc::CallbackServerContext* call,
                                           const v1::ListRequest* request,
                                           v1::ListResponse* response) {
  const auto before = ParsePageToken(request->page_token());
  if (!before.ok()) return Finish(call, before.status());
  const auto cluster = context_.reconciler.snapshot();
  const auto runs = NewestRuns(*cluster, request->include_finished(), *before);
  const int limit = request->limit() <= 0 ? kListDefault : std::min(request->limit(), kListMax);
  for (const auto& run : runs) {
    if (response->runs_size() == limit) break;
    *response->add_runs() = ToProto(*cluster, *run, context_.recorder.ProgressOf(run->id));
  }
  if (static_cast<int>(runs.size()) > limit) {
    response->set_next_page_token(
        std::to_string(runs[static_cast<size_t>(limit) - 1]->submitted_sequence));
  }
  return Finish(call, OkStatus());
}

grpc::ServerUnaryReactor* RunService::Cancel(grpc::CallbackServerContext* call,
                                             const v1::CancelRequest* request, v1::Run* response) {
  const auto run = Find(request->run());
  if (!run.ok()) return Finish(call, run.status());
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  Event event{.run = (*run)->id,
              .actor = "user",
              .request_id = request->request_id(),
              .body = CancelRequested{}};
  context_.reconciler.Request(std::move(event),
                              [this, reactor, response](const StatusOr<Admission>& admission) {
                                if (admission.ok()) *response = Show(admission->run);
                                reactor->Finish(rpc::ToGrpc(admission.status()));
                              });
  return reactor;
}

grpc::ServerUnaryReactor* RunService::Checkpoints(grpc::CallbackServerContext* call,
                                                  const v1::CheckpointsRequest* request,
                                                  v1::CheckpointsResponse* response) {
  const auto run = Find(request->run());
  if (!run.ok()) return Finish(call, run.status());
  for (const SealedCheckpoint& checkpoint : (*run)->checkpoints) {
    if (!checkpoint.retired) *response->add_checkpoints() = ToProto(**run, checkpoint);
  }
  return Finish(call, OkStatus());
}

grpc::ServerUnaryReactor* RunService::Nodes(grpc::CallbackServerContext* call,
                                            const v1::NodesRequest* /*request*/,
                                            v1::NodesResponse* response) {
  const auto cluster = context_.reconciler.snapshot();
  for (const auto& [id, node] : cluster->nodes) {
    if (!node->name.empty()) *response->add_nodes() = ToProto(*cluster, *node);
  }
  return Finish(call, OkStatus());
}

grpc::ServerUnaryReactor* RunService::Version(grpc::CallbackServerContext* call,
                                              const v1::VersionRequest* /*request*/,
                                              v1::VersionResponse* response) {
  response->set_version(options_.version);
  response->set_revision(options_.revision);
  response->set_protocol(kProtocol);
  response->set_coordinator_generation(context_.store.generation());
  response->set_storage_root(storage_.path());
  return Finish(call, OkStatus());
}

grpc::ServerWriteReactor<v1::WatchResponse>* RunService::Watch(
    grpc::CallbackServerContext* /*call*/, const v1::WatchRequest* request) {
  const auto run = Find(request->run());
  if (!run.ok()) return Refuse<v1::WatchResponse>(run.status());
  return PullStream<v1::WatchResponse>::Start(MakeWatchSource(context_, (*run)->id), (*run)->id,
                                              hub_);
}

grpc::ServerWriteReactor<v1::LogLine>* RunService::Logs(grpc::CallbackServerContext* /*call*/,
                                                        const v1::LogsRequest* request) {
  const auto run = Find(request->run());
  if (!run.ok()) return Refuse<v1::LogLine>(run.status());
  return PullStream<v1::LogLine>::Start(MakeLogsSource(context_, (*run)->id, *request), (*run)->id,
                                        hub_);
}

grpc::ServerWriteReactor<v1::RunEvent>* RunService::Events(grpc::CallbackServerContext* /*call*/,
                                                           const v1::EventsRequest* request) {
  const auto run = Find(request->run());
  if (!run.ok()) return Refuse<v1::RunEvent>(run.status());
  return PullStream<v1::RunEvent>::Start(MakeEventsSource(context_, (*run)->id, *request),
                                         (*run)->id, hub_);
}

grpc::ServerWriteReactor<v1::MetricPoint>* RunService::Metrics(
    grpc::CallbackServerContext* /*call*/, const v1::MetricsRequest* request) {
  const auto run = Find(request->run());
  if (!run.ok()) return Refuse<v1::MetricPoint>(run.status());
  return PullStream<v1::MetricPoint>::Start(MakeMetricsSource(context_, (*run)->id, *request),
                                            (*run)->id, hub_);
}

}  // namespace gp::coordinator
