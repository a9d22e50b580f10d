#include "coordinator/service/run_service.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "coordinator/access/named_run.h"
#include "coordinator/control/batch.h"
#include "coordinator/scheduler/liveness.h"
#include "coordinator/scheduler/queue.h"
#include "coordinator/service/continuation.h"
#include "coordinator/service/convert.h"
#include "coordinator/service/named_files.h"
#include "coordinator/service/requests/annotation_request.h"
#include "coordinator/service/run_list.h"
#include "coordinator/service/submission.h"
#include "coordinator/state/run_reference.h"
#include "coordinator/store/run_texts.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

using google::protobuf::util::TimeUtil;

constexpr int kListDefault = 100;
constexpr int kListMax = 1000;
constexpr int kClientProtocol = 1;  // of gp.v1 for clients (docs/formats/versions.md)

// The namespaces that the caller may see, restricted to the requested one; absent: all.
std::optional<std::set<std::string>> VisibleNamespaces(const AdmittedCall& access,
                                                       const std::string& wanted) {
  if (!wanted.empty()) {
    return access.RoleIn(wanted) ? std::set<std::string>{wanted} : std::set<std::string>();
  }
  std::set<std::string> names;
  for (const auto& [name, role] : access.principal().roles.by_namespace()) {
    if (name == kEveryNamespace) return std::nullopt;
    names.insert(name);
  }
  return names;
}

// Converts the submitter that a List request names to the form of Run::submitted_by.
std::string SubmitterNamed(const std::string& name, const Principal& caller) {
  if (name == "@me") return caller.Text();
  const bool is_whole =
      name.empty() || name == "owner" || name == "anyone" || name.starts_with("user ");
  return is_whole ? name : "user " + name;
}

void SetQueuePositions(const Cluster& cluster, const std::vector<v1::Run*>& runs) {
  std::map<std::string_view, v1::Run*> queued;
  for (v1::Run* run : runs) {
    if (IsInQueue(static_cast<RunState>(run->state()))) queued.emplace(run->run_id(), run);
  }
  if (queued.empty()) return;
  int position = 0;
  for (const Run* waiting : WaitingInOrder(cluster)) {
    ++position;
    const auto found = queued.find(waiting->id.value());
    if (found != queued.end()) found->second->set_queue_position(position);
  }
}

// Adds the data problems that runs had on the node, as long as these runs avoid the node because of
// them. Only of runs that the caller may see.
void AddDataProblems(const AdmittedCall& access, const Cluster& cluster, const Policy& policy,
                     const NodeId& node, v1::Node& to) {
  for (const auto& [sequence, id] : cluster.busy) {
    const auto run = cluster.FindRun(id);
    const auto lacking = run->lacking_nodes.find(node);
    if (lacking == run->lacking_nodes.end() || !access.RoleIn(NamespaceOf(*run))) continue;
    if (lacking->second.since < cluster.now - policy.data_recheck) continue;
    v1::DataProblem& problem = *to.add_data_problems();
    problem.set_run_id(id.value());
    problem.set_run_name(run->submission->name);
    problem.set_reason(lacking->second.reason);
  }
}

}  // namespace

RunService::RunService(const ServiceContext& service, StreamContext context,
                       CheckpointVerifier& verifier, const RunFileResolver& resolver,
                       const StorageRoot& storage, Clock& clock, RunServiceOptions options)
    : MethodService(service),
      context_(context),
      lanes_(service.lanes),
      verifier_(verifier),
      resolver_(resolver),
      storage_(storage),
      clock_(clock),
      options_(std::move(options)),
      quota_(options_.quota) {
  OnQueries();
  OnChanges();
  OnStreams();
}

void RunService::OnQueries() {
  OnQuery<v1::GetRequest, v1::Run>(
      "Get", [this](AdmittedCall& access, const auto& request, auto& response) {
        return FillRun(access, request, response);
      });
  OnQuery<v1::ListRequest, v1::ListResponse>(
      "List", [this](const AdmittedCall& access, const auto& request, auto& response) {
        return FillList(access, request, response);
      });
  OnQuery<v1::CheckpointsRequest, v1::CheckpointsResponse>(
      "Checkpoints", [this](AdmittedCall& access, const auto& request, auto& response) {
        return FillCheckpoints(access, request, response);
      });
  OnQuery<v1::NodesRequest, v1::NodesResponse>(
      "Nodes", [this](const AdmittedCall& access, const auto&, auto& response) {
        return FillNodes(access, response);
      });
  OnInstant<v1::VersionResponse>("Version", [this] { return FillVersion(); });
}

void RunService::OnChanges() {
  OnCall<v1::SubmitRequest, v1::SubmitResponse>("Submit",
                                                [this](SubmitCall& call) { Prepare(call); });
  OnCall<v1::CancelRequest, v1::Run>("Cancel", [this](CancelCall& call) {
    RequestOf(call, CancelRequested{call.request().now()});
  });
  OnCall<v1::PauseRequest, v1::Run>("Pause",
                                    [this](PauseCall& call) { RequestOf(call, PauseRequested{}); });
  OnCall<v1::ResumeRequest, v1::Run>("Resume",
                                     [this](ResumeCall& call) { RequestOf(call, RunResumed{}); });
  OnCall<v1::ResizeRequest, v1::Run>("Resize", [this](ResizeCall& call) {
    RequestOf(call, RunResized{call.request().workers()});
  });
  OnCall<v1::ContinueRequest, v1::ContinueResponse>(
      "Continue", [this](ContinueCall& call) { PrepareContinue(call); });
  OnCall<v1::AnnotateRequest, v1::Run>("Annotate", [this](AnnotateCall& call) {
    call.access().Describe("", call.request().request_id());
    StatusOr<RunAnnotated> change = AnnotationOf(call.request());
    if (!change.ok()) return call.Answer(change.status());
    RequestOf(call, *std::move(change));
  });
  OnCall<v1::RestoreCheckpointRequest, v1::Checkpoint>(
      "RestoreCheckpoint", [this](RestoreCall& call) { Restore(call); });
}

template <typename Request, typename Response, typename MakeSource>
void RunService::OnRunStream(const char* method, MakeSource make_source) {
  OnStream<Request, Response>(
      method, streams_,
      [this, make_source](AdmittedCall& access,
                          const Request& of) -> StatusOr<OpenedSource<Response>> {
        ASSIGN_OR_RETURN(const auto run, Find(access, of.run()));
        return OpenedSource<Response>{make_source(run->id, of), run->id};
      });
}

void RunService::OnStreams() {
  OnRunStream<v1::WatchRequest, v1::WatchResponse>(
      "Watch", [this](const RunId& run, const auto&) { return MakeWatchSource(context_, run); });
  OnRunStream<v1::LogsRequest, v1::LogLine>("Logs", [this](const RunId& run, const auto& of) {
    return MakeLogsSource(context_, run, of);
  });
  OnRunStream<v1::EventsRequest, v1::RunEvent>("Events", [this](const RunId& run, const auto& of) {
    return MakeEventsSource(context_, run, of);
  });
  OnRunStream<v1::MetricsRequest, v1::MetricPoint>(
      "Metrics",
      [this](const RunId& run, const auto& of) { return MakeMetricsSource(context_, run, of); });
  OnStream<v1::LineageRequest, v1::LineageResponse>(
      "Lineage", streams_,
      [this](AdmittedCall& access,
             const v1::LineageRequest& of) -> StatusOr<OpenedSource<v1::LineageResponse>> {
        ASSIGN_OR_RETURN(const auto run, Find(access, of.run()));
        const auto sees = [&](const Run& one) {
          return access.RoleIn(NamespaceOf(one)).has_value();
        };
        const auto fill = [this](const auto& one, v1::Run& to) { return FillWhole(one, to); };
        return OpenedSource<v1::LineageResponse>{MakeLineageSource(context_, run->id, sees, fill),
                                                 run->id};
      });
  OnStream<v1::CurvesRequest, v1::CurvePoints>(
      "Curves", curve_streams_,
      [this](AdmittedCall& access,
             const v1::CurvesRequest& of) -> StatusOr<OpenedSource<v1::CurvePoints>> {
        ASSIGN_OR_RETURN(const auto run, Find(access, of.run()));
        return OpenedSource<v1::CurvePoints>{MakeCurvesSource(context_, run->id, of), run->id};
      });
}

StatusOr<std::shared_ptr<const Run>> RunService::Find(AdmittedCall& access,
                                                      const std::string& reference) const {
  return FindNamedRun(access, *context_.reconciler.snapshot(), reference);
}

Status RunService::Show(const RunId& id, v1::Run& to) const {
  const auto cluster = context_.reconciler.snapshot();
  const auto run = cluster->FindRun(id);
  if (run == nullptr) {
    return rpc::WithReason(NotFound("run '{}' was deleted", id), rpc::kRunDeleted);
  }
  to = ToProto(*cluster, *run, context_.recorder.ProgressOf(id));
  return OkStatus();
}

void RunService::Prepare(SubmitCall& call) {
  call.access().Describe("", call.request().request_id());
  if (const auto run = FindRepeated(call.request())) return AnswerRepeated(call, *run);
  const bool of_owner = call.access().principal().kind == Principal::Kind::kOwner;
  StatusOr<PreparedSubmit> prepared =
      PrepareSubmit(call.request(), of_owner, resolver_, storage_, *context_.reconciler.snapshot(),
                    context_.store);
  if (!prepared.ok()) return call.Answer(prepared.status());
  const Submission& submission = std::get<RunSubmitted>(prepared->event.body).submission;
  call.access().Describe(submission.run_namespace + "/" + submission.name);
  const Status allowed = call.access().Authorize(submission.run_namespace);
  if (!allowed.ok()) return call.Answer(allowed);
  const Status files = CheckNamedFiles(prepared->files, submission, *context_.reconciler.snapshot(),
                                       storage_.path());
  if (!files.ok()) return call.Answer(files);
  prepared->event.actor = call.access().principal().Text();
  for (const std::string& warning : prepared->warnings) call.response().add_warnings(warning);
  const std::string warning = DataRootsWarning(prepared->files, submission,
                                               *context_.reconciler.snapshot(), storage_.path());
  if (!warning.empty()) call.response().add_warnings(warning);
  if (call.request().dry_run()) {
    return call.AnswerUnchanged(PlanOnly(prepared->event, call.response()));
  }
  const Status room = CheckRoom(*context_.reconciler.snapshot());
  if (!room.ok()) return call.Answer(room);
  std::shared_ptr<RunQuota::Place> place;
  if (call.access().principal().kind == Principal::Kind::kUser) {
    auto taken =
        quota_.Reserve([this] { return context_.reconciler.snapshot(); }, prepared->event.actor);
    if (!taken.ok()) return call.Answer(taken.status());
    place = *std::move(taken);
  }
  call.Then(lanes_.storage, [this, submit = *std::move(prepared), of_owner, place,
                             refused = !warning.empty()](SubmitCall& self) mutable {
    // Check files only for the owner: others must not find out which files exist. False for files
    // that every node refuses: retrying would not help.
    std::get<RunSubmitted>(submit.event.body).submission.data_seen =
        of_owner && !refused && SeesFiles(submit.files);
    CheckStorage(self, submit.event, place);
  });
}

void RunService::CheckStorage(SubmitCall& call, const Event& event,
                              const std::shared_ptr<RunQuota::Place>& place) {
  const Status writable = storage_.CheckWritable();
  if (!writable.ok()) return call.Answer(writable);
  context_.reconciler.Request(
      event, [this, place, name = std::get<RunSubmitted>(event.body).submission.name,
              keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
        if (place != nullptr) place->Release();  // the run is counted in the cluster now
        Status status = admission.status();
        if (status.ok()) status = Show(admission->run, *keep->response().mutable_run());
        if (status.ok()) {
          v1::SubmitResponse& response = keep->response();
          response.set_replayed(admission->replayed);
          if (response.run().name() != name && !admission->replayed) {
            response.add_warnings(
                fmt::format("another run has the name '{}', so this one is called '{}'", name,
                            response.run().name()));
          }
        }
        keep->Answer(status);
      });
}

// Called before the request is checked: a repeated request gets its run even if its run file or the
// storage has a problem now.
std::shared_ptr<const Run> RunService::FindRepeated(const v1::SubmitRequest& request) const {
  const auto cluster = context_.reconciler.snapshot();
  const AnsweredRequest* answered = cluster->requests.Find(request.request_id());
  if (answered == nullptr || answered->body_digest != BodyDigest(request)) return nullptr;
  return cluster->FindRun(answered->run);
}

void RunService::AnswerRepeated(SubmitCall& call, const Run& run) const {
  call.access().Describe(NamespaceOf(run) + "/" + run.id.value());
  Status status = call.access().Authorize(NamespaceOf(run));
  if (status.ok()) status = Show(run.id, *call.response().mutable_run());
  call.response().set_replayed(status.ok());
  call.AnswerUnchanged(status);
}

StatusOr<Cluster> RunService::ClusterAfter(const Event& event) const {
  Batch batch(*context_.reconciler.snapshot(), {clock_.Now(), clock_.WallNow()});
  RETURN_IF_ERROR(batch.AdmitEvent(event).status());
  batch.Plan(options_.policy, [] { return std::string(); });
  return batch.TakeAfter();
}

// Tries the submit on a copy of the cluster and returns the outcome.
Status RunService::PlanOnly(const Event& event, v1::SubmitResponse& response) const {
  Event trial = event;
  trial.request_id = "dry-run " + event.run.value();
  std::get<RunSubmitted>(trial.body).submission.request_id = trial.request_id;
  ASSIGN_OR_RETURN(const Cluster after, ClusterAfter(trial));
  const auto run = after.FindRun(event.run);
  *response.mutable_run() = ToProto(after, *run, Progress());
  const Submission& submission = std::get<RunSubmitted>(trial.body).submission;
  response.mutable_run()->set_source(submission.source);
  response.mutable_run()->set_resolved(submission.resolved);
  response.mutable_run()->clear_request_id();
  return OkStatus();
}

Status RunService::FillRun(AdmittedCall& access, const v1::GetRequest& request,
                           v1::Run& response) const {
  ASSIGN_OR_RETURN(const auto run, Find(access, request.run()));
  return FillWhole(run, response);
}

Status RunService::FillWhole(const std::shared_ptr<const Run>& known, v1::Run& to) const {
  ASSIGN_OR_RETURN(const auto run, WithTexts(context_.store, known));
  RETURN_IF_ERROR(Show(run->id, to));
  SetQueuePositions(*context_.reconciler.snapshot(), {&to});
  to.set_source(run->submission->source);
  to.set_resolved(run->submission->resolved);
  AddLegs(*run, to);
  return OkStatus();
}

Status RunService::FillList(const AdmittedCall& access, const v1::ListRequest& request,
                            v1::ListResponse& response) const {
  ASSIGN_OR_RETURN(RunQuery query, FromProto(request));
  query.namespaces = VisibleNamespaces(access, request.namespace_());
  query.submitted_by = SubmitterNamed(request.submitted_by(), access.principal());
  const int limit = request.limit() <= 0 ? kListDefault : std::min(request.limit(), kListMax);
  const auto cluster = context_.reconciler.snapshot();
  ASSIGN_OR_RETURN(const RunPage page, RunList(*cluster, context_.store, query)
                                           .Page(request.page_token(), static_cast<size_t>(limit)));
  for (const auto& run : page.runs) {
    *response.add_runs() = ToProto(*cluster, *run, context_.recorder.ProgressOf(run->id));
  }
  SetQueuePositions(
      *cluster, {response.mutable_runs()->pointer_begin(), response.mutable_runs()->pointer_end()});
  response.set_next_page_token(page.next_page_token);
  if (page.total) response.set_total(*page.total);
  AddStateCounts(cluster->counts, query.namespaces, response);
  return OkStatus();
}

template <typename Call>
void RunService::RequestOf(Call& call, EventBody body) {
  call.access().Describe("", call.request().request_id());
  const auto run = Find(call.access(), call.request().run());
  if (!run.ok()) return call.Answer(run.status());
  context_.reconciler.Request(
      {.run = (*run)->id,
       .actor = call.access().principal().Text(),
       .request_id = call.request().request_id(),
       .body = std::move(body)},
      [this, keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
        Status status = admission.status();
        if (status.ok()) status = Show(admission->run, keep->response());
        keep->Answer(status);
      });
}

void RunService::PrepareContinue(ContinueCall& call) {
  call.access().Describe("", call.request().request_id());
  auto run = Find(call.access(), call.request().run());
  if (run.ok()) run = WithTexts(context_.store, *run);
  if (!run.ok()) return call.Answer(run.status());
  if (HasLegOf(**run, call.request().request_id())) {
    call.response().set_replayed(true);
    return call.AnswerUnchanged(Show((*run)->id, *call.response().mutable_run()));
  }
  StatusOr<PreparedLeg> prepared =
      PrepareLeg(call.request(), **run, context_.recorder.ProgressOf((*run)->id), resolver_);
  if (!prepared.ok()) return call.Answer(prepared.status());
  for (const std::string& warning : prepared->warnings) call.response().add_warnings(warning);
  prepared->event.actor = call.access().principal().Text();
  auto place = PlaceFor(**run);
  if (!place.ok()) return call.Answer(place.status());
  if (call.request().dry_run()) {
    return call.AnswerUnchanged(PlanOnly(prepared->event, **run, call.response()));
  }
  context_.reconciler.Request(
      prepared->event,
      [this, place = *place, keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
        if (place != nullptr) place->Release();
        Status status = admission.status();
        if (status.ok()) status = Show(admission->run, *keep->response().mutable_run());
        if (status.ok()) keep->response().set_replayed(admission->replayed);
        keep->Answer(status);
      });
}

// An ended run counts again for the user who submitted it. Null: nothing to count.
StatusOr<std::shared_ptr<RunQuota::Place>> RunService::PlaceFor(const Run& run) {
  if (!IsTerminal(run.state)) return std::shared_ptr<RunQuota::Place>();
  RETURN_IF_ERROR(CheckRoom(*context_.reconciler.snapshot()));
  if (!run.submitted_by.starts_with("user ")) return std::shared_ptr<RunQuota::Place>();
  return quota_.Reserve([this] { return context_.reconciler.snapshot(); }, run.submitted_by);
}

// Tries the leg on a copy of the cluster and returns the run as it would be. `now` has the run
// files of its legs: the copy's events are not in the store, so nothing is read from there.
Status RunService::PlanOnly(const Event& event, const Run& now,
                            v1::ContinueResponse& response) const {
  ASSIGN_OR_RETURN(const Cluster after, ClusterAfter(event));
  const auto run = after.FindRun(event.run);
  const Submission& next = std::get<LegRequested>(event.body).submission;
  v1::Run& shown = *response.mutable_run();
  shown = ToProto(after, *run, context_.recorder.ProgressOf(event.run));
  shown.set_resolved(next.resolved);
  AddLegs(*run, shown);
  for (v1::Leg& leg : *shown.mutable_legs()) {
    const bool is_next = leg.number() > now.leg.number;
    leg.set_resolved(is_next ? next.resolved : SubmissionOfLeg(now, leg.number()).resolved);
  }
  shown.mutable_progress()->set_target_steps(next.target_steps);
  return OkStatus();
}

Status RunService::FillCheckpoints(AdmittedCall& access, const v1::CheckpointsRequest& request,
                                   v1::CheckpointsResponse& response) const {
  ASSIGN_OR_RETURN(const auto run, Find(access, request.run()));
  for (const SealedCheckpoint& checkpoint : run->checkpoints) {
    if (!checkpoint.retired) *response.add_checkpoints() = ToProto(*run, checkpoint);
  }
  for (const SealedCheckpoint& checkpoint : run->superseded) {
    if (checkpoint.retired) continue;
    v1::Checkpoint& added = *response.add_superseded();
    added = ToProto(*run, checkpoint);
    added.set_superseded(true);
  }
  for (const QuarantinedCheckpoint& held : run->quarantined) {
    *response.add_quarantined() = ToProto(*run, held);
  }
  return OkStatus();
}

void RunService::Restore(RestoreCall& call) {
  call.access().Describe("", call.request().request_id());
  const auto found = Find(call.access(), call.request().run());
  if (!found.ok()) return call.Answer(found.status());
  const RunId id = (*found)->id;
  const int64_t step = call.request().step();
  verifier_.Restore(id, step, {call.access().principal().Text(), call.request().request_id()},
                    [this, keep = call.shared_from_this(), id, step](const Status& status) {
                      const auto run = context_.reconciler.snapshot()->FindRun(id);
                      const SealedCheckpoint* restored =
                          status.ok() && run != nullptr ? FindOfStep(*run, step) : nullptr;
                      if (restored != nullptr) keep->response() = ToProto(*run, *restored);
                      keep->Answer(status);
                    });
}

Status RunService::FillNodes(const AdmittedCall& access, v1::NodesResponse& response) const {
  const auto cluster = context_.reconciler.snapshot();
  const Instant now = clock_.Now();
  for (const auto& [id, node] : cluster->nodes) {
    if (node->name.empty()) continue;
    v1::Node& added = *response.add_nodes();
    added = ToProto(*cluster, *node);
    added.set_lost(IsLostAt(now, *cluster, id, options_.policy));
    AddDataProblems(access, *cluster, options_.policy, id, added);
  }
  *response.mutable_lease() = TimeUtil::NanosecondsToDuration(options_.policy.lease.count());
  return OkStatus();
}

v1::VersionResponse RunService::FillVersion() const {
  v1::VersionResponse version;
  version.set_version(options_.version);
  version.set_protocol(kClientProtocol);
  version.set_coordinator_generation(context_.store.generation());
  version.set_storage_root(storage_.path());
  version.set_insecure(options_.insecure);
  version.set_gradients_encrypted(options_.policy.encrypt_gradients);
  return version;
}

}  // namespace gp::coordinator
