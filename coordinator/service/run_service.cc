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

// Answers the call at once, on gRPC's thread.
grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, const Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(rpc::ToGrpc(status));
  return reactor;
}

// A stream that ends with an error at once.
grpc::ServerWriteReactor<grpc::ByteBuffer>* Refuse(const Status& status) {
  class Refusal final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
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

template <typename Request, typename Response, typename Fill>
grpc::ServerUnaryReactor* RunService::Query(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response, Fill fill) {
  using Call = PooledCall<Request, Response>;
  return Call::Start(
      context, request, response, kRequestBytesMax, lanes_.queries,
      [fill = std::move(fill)](Call& call) { call.Answer(fill(call.request(), call.response())); });
}

grpc::ServerUnaryReactor* RunService::Submit(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) {
  return SubmitCall::Start(context, request, response, kSubmitBytesMax, lanes_.submits,
                           [this](SubmitCall& call) { Prepare(call); });
}

void RunService::Prepare(SubmitCall& call) {
  if (AnswerRepeated(call.request(), call.response())) return call.Answer(OkStatus());
  const StatusOr<PreparedSubmit> prepared = PrepareSubmit(call.request(), resolver_, storage_);
  if (!prepared.ok()) return call.Answer(prepared.status());
  for (const std::string& warning : prepared->warnings) call.response().add_warnings(warning);
  if (call.request().dry_run()) return call.Answer(PlanOnly(prepared->event, call.response()));
  const Status room = CheckRoom(*context_.reconciler.snapshot());
  if (!room.ok()) return call.Answer(room);
  call.Then(lanes_.storage,
            [this, event = prepared->event](SubmitCall& self) { CheckStorage(self, event); });
}

void RunService::CheckStorage(SubmitCall& call, const Event& event) {
  const Status writable = storage_.CheckWritable();
  if (!writable.ok()) return call.Answer(writable);
  context_.reconciler.Request(
      event, [this, keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
        if (admission.ok()) {
          *keep->response().mutable_run() = Show(admission->run);
          keep->response().set_replayed(admission->replayed);
        }
        keep->Answer(admission.status());
      });
}

// A repeated request gets its run, even if its run file or the storage has a problem now.
bool RunService::AnswerRepeated(const v1::SubmitRequest& request,
                                v1::SubmitResponse& response) const {
  const auto cluster = context_.reconciler.snapshot();
  const AnsweredRequest* answered = cluster->requests.Find(request.request_id());
  if (answered == nullptr || answered->body_digest != BodyDigest(request)) return false;
  *response.mutable_run() = Show(answered->run);
  response.set_replayed(true);
  return true;
}

// Tries the submit on a copy of the cluster and tells what would happen.
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

grpc::ServerUnaryReactor* RunService::Get(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) {
  return Query<v1::GetRequest, v1::Run>(context, request, response,
                                        [this](const v1::GetRequest& get, v1::Run& shown) {
                                          ASSIGN_OR_RETURN(const auto run, Find(get.run()));
                                          shown = Show(run->id);
                                          shown.set_source(run->submission->source);
                                          shown.set_resolved(run->submission->resolved);
                                          return OkStatus();
                                        });
}

grpc::ServerUnaryReactor* RunService::List(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) {
  return Query<v1::ListRequest, v1::ListResponse>(
      context, request, response,
      [this](const auto& list, auto& listed) { return FillList(list, listed); });
}

Status RunService::FillList(const v1::ListRequest& request, v1::ListResponse& response) const {
  ASSIGN_OR_RETURN(const uint64_t before, ParsePageToken(request.page_token()));
  const auto cluster = context_.reconciler.snapshot();
  const auto runs = NewestRuns(*cluster, request.include_finished(), before);
  const int limit = request.limit() <= 0 ? kListDefault : std::min(request.limit(), kListMax);
  for (const auto& run : runs) {
    if (response.runs_size() == limit) break;
    *response.add_runs() = ToProto(*cluster, *run, context_.recorder.ProgressOf(run->id));
  }
  if (static_cast<int>(runs.size()) > limit) {
    response.set_next_page_token(
        std::to_string(runs[static_cast<size_t>(limit) - 1]->submitted_sequence));
  }
  return OkStatus();
}

grpc::ServerUnaryReactor* RunService::Cancel(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) {
  using Call = PooledCall<v1::CancelRequest, v1::Run>;
  return Call::Start(
      context, request, response, kRequestBytesMax, lanes_.queries, [this](Call& call) {
        const auto run = Find(call.request().run());
        if (!run.ok()) return call.Answer(run.status());
        context_.reconciler.Request(
            {.run = (*run)->id,
             .actor = "user",
             .request_id = call.request().request_id(),
             .body = CancelRequested{call.request().now()}},
            [this, keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
              if (admission.ok()) keep->response() = Show(admission->run);
              keep->Answer(admission.status());
            });
      });
}

grpc::ServerUnaryReactor* RunService::Checkpoints(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return Query<v1::CheckpointsRequest, v1::CheckpointsResponse>(
      context, request, response,
      [this](const auto& of, auto& checkpoints) { return FillCheckpoints(of, checkpoints); });
}

Status RunService::FillCheckpoints(const v1::CheckpointsRequest& request,
                                   v1::CheckpointsResponse& response) const {
  ASSIGN_OR_RETURN(const auto run, Find(request.run()));
  for (const SealedCheckpoint& checkpoint : run->checkpoints) {
    if (!checkpoint.retired) *response.add_checkpoints() = ToProto(*run, checkpoint);
  }
  for (const QuarantinedCheckpoint& held : run->quarantined) {
    *response.add_quarantined() = ToProto(*run, held);
  }
  return OkStatus();
}

// Takes no thread of a lane while it waits: the verifier reads on its own thread.
grpc::ServerUnaryReactor* RunService::RestoreCheckpoint(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  using Call = PooledCall<v1::RestoreCheckpointRequest, v1::Checkpoint>;
  return Call::Start(
      context, request, response, kRequestBytesMax, lanes_.queries, [this](Call& call) {
        const auto found = Find(call.request().run());
        if (!found.ok()) return call.Answer(found.status());
        const RunId id = (*found)->id;
        const int64_t step = call.request().step();
        verifier_.Restore(
            id, step, [this, keep = call.shared_from_this(), id, step](const Status& status) {
              const auto run = context_.reconciler.snapshot()->FindRun(id);
              const SealedCheckpoint* restored = status.ok() ? run->FindCheckpoint(step) : nullptr;
              if (restored != nullptr) keep->response() = ToProto(*run, *restored);
              keep->Answer(status);
            });
      });
}

grpc::ServerUnaryReactor* RunService::Nodes(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  return Query<v1::NodesRequest, v1::NodesResponse>(
      context, request, response, [this](const auto&, auto& nodes) { return FillNodes(nodes); });
}

Status RunService::FillNodes(v1::NodesResponse& response) const {
  const auto cluster = context_.reconciler.snapshot();
  for (const auto& [id, node] : cluster->nodes) {
    if (!node->name.empty()) *response.add_nodes() = ToProto(*cluster, *node);
  }
  return OkStatus();
}

grpc::ServerUnaryReactor* RunService::Version(grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  const Status length = CheckLength(*request, kRequestBytesMax);
  if (!length.ok()) return Finish(context, length);
  v1::VersionResponse version;
  version.set_version(options_.version);
  version.set_revision(options_.revision);
  version.set_protocol(kProtocol);
  version.set_coordinator_generation(context_.store.generation());
  version.set_storage_root(storage_.path());
  *response = Serialize(version);
  return Finish(context, OkStatus());
}

template <typename Request, typename Response, typename MakeSource>
grpc::ServerWriteReactor<grpc::ByteBuffer>* RunService::Stream(grpc::CallbackServerContext* context,
                                                               const grpc::ByteBuffer* request,
                                                               MakeSource make_source) {
  const Status length = CheckLength(*request, kRequestBytesMax);
  if (!length.ok()) return Refuse(length);
  StreamPlace place = streams_.Take();
  if (place == nullptr) {
    return Refuse(
        Unavailable("{} streams are open already; end some, then try again", streams_.max()));
  }
  auto open = [this, bytes = *request, make_source]() -> StatusOr<OpenedSource<Response>> {
    ASSIGN_OR_RETURN(const Request of, Parse<Request>(bytes));
    ASSIGN_OR_RETURN(const auto run, Find(of.run()));
    return OpenedSource<Response>{make_source(run->id, of), run->id};
  };
  return PullStream<Response>::Start(CallerOf(*context), std::move(open), std::move(place),
                                     {lanes_.streams, hub_});
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* RunService::Watch(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request) {
  return Stream<v1::WatchRequest, v1::WatchResponse>(
      context, request,
      [this](const RunId& run, const auto&) { return MakeWatchSource(context_, run); });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* RunService::Logs(grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* request) {
  return Stream<v1::LogsRequest, v1::LogLine>(
      context, request,
      [this](const RunId& run, const auto& of) { return MakeLogsSource(context_, run, of); });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* RunService::Events(grpc::CallbackServerContext* context,
                                                               const grpc::ByteBuffer* request) {
  return Stream<v1::EventsRequest, v1::RunEvent>(
      context, request,
      [this](const RunId& run, const auto& of) { return MakeEventsSource(context_, run, of); });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* RunService::Metrics(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return Stream<v1::MetricsRequest, v1::MetricPoint>(
      context, request,
      [this](const RunId& run, const auto& of) { return MakeMetricsSource(context_, run, of); });
}

}  // namespace gp::coordinator
