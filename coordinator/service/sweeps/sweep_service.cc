#include "coordinator/service/sweeps/sweep_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/excerpt.h"
#include "coordinator/access/role.h"
#include "coordinator/service/named_files.h"
#include "coordinator/service/submission.h"
#include "coordinator/service/sweeps/sweep_view.h"

namespace gp::coordinator {
namespace {

constexpr size_t kSweepsListedMax = 100;
constexpr int kShownWarningsMax = 20;  // that an answer has

}  // namespace

SweepService::SweepService(const ServiceContext& service, Reconciler& reconciler,
                           const Recorder& recorder, const SubmissionContext& submission,
                           const RunQuotaOptions& quota)
    : MethodService(service),
      reconciler_(reconciler),
      recorder_(recorder),
      submission_(submission),
      quota_(quota),
      lanes_(service.lanes) {
  OnCall<v1::SubmitSweepRequest, v1::SubmitSweepResponse>(
      "Submit", [this](SubmitCall& call) { Prepare(call); });
  OnCall<v1::CancelSweepRequest, v1::Sweep>("Cancel",
                                            [this](CancelCall& call) { CancelSweep(call); });
  OnQuery<v1::GetSweepRequest, v1::Sweep>(
      "Get", [this](AdmittedCall& access, const auto& request, auto& response) -> Status {
        ASSIGN_OR_RETURN(const auto sweep, Find(access, request.sweep()));
        return Show(sweep->spec->id(), response);
      });
  OnQuery<v1::ListSweepsRequest, v1::ListSweepsResponse>(
      "List", [this](const AdmittedCall& access, const auto& request, auto& response) {
        return FillList(access, request, response);
      });
}

void SweepService::Prepare(SubmitCall& call) {
  const v1::SubmitSweepRequest& request = call.request();
  call.access().Describe("", request.request_id());
  if (const auto sweep = FindRepeated(request)) return AnswerRepeated(call, *sweep);
  const Principal& caller = call.access().principal();
  const bool of_owner = caller.kind == Principal::Kind::kOwner;
  const auto cluster = reconciler_.snapshot();
  StatusOr<PreparedSweep> prepared = PrepareSweep(request, of_owner, *cluster, submission_);
  if (!prepared.ok()) return call.Answer(prepared.status());
  SweepSpec& spec = prepared->spec;
  call.access().Describe("sweep " + spec.id().value());
  const Status allowed = call.access().Authorize(spec.run_namespace);
  if (!allowed.ok()) return call.Answer(allowed);
  const std::string root = submission_.storage.path();
  const Submission& first = spec.trials.front().submission;
  const Status files = CheckNamedFiles(prepared->files, first, *cluster, root);
  if (!files.ok()) return call.Answer(files);
  const std::string refused = DataRootsWarning(prepared->files, first, *cluster, root);
  if (!refused.empty()) call.response().add_warnings(refused);
  for (const std::string& warning : prepared->warnings) {
    if (call.response().warnings_size() >= kShownWarningsMax) break;
    call.response().add_warnings(warning);
  }
  const Status room = CheckRoom(*cluster);
  if (!room.ok()) return call.Answer(room);
  std::shared_ptr<SweepQuota::Place> place;
  if (caller.kind == Principal::Kind::kUser) {
    auto taken = quota_.Reserve([this] { return reconciler_.snapshot(); }, caller.Text(), spec);
    if (!taken.ok()) return call.Answer(taken.status());
    place = *std::move(taken);
  }
  call.Then(lanes_.storage, [this, sweep = *std::move(prepared), of_owner, place,
                             readable = refused.empty()](SubmitCall& self) mutable {
    const Status known =
        CheckUnknownRuns(sweep.files, *reconciler_.snapshot(), submission_.storage.path());
    if (!known.ok()) return self.Answer(known);
    // As in RunService: others must not find out which files exist.
    const bool seen = of_owner && readable && SeesFiles(sweep.files);
    for (SweepTrial& trial : sweep.spec.trials) trial.submission.data_seen = seen;
    CheckStorage(self, std::move(sweep.spec), place);
  });
}

void SweepService::CheckStorage(SubmitCall& call, SweepSpec spec,
                                const std::shared_ptr<SweepQuota::Place>& place) {
  const Status writable = submission_.storage.CheckWritable();
  if (!writable.ok()) return call.Answer(writable);
  const SweepId id = spec.id();
  reconciler_.Request(
      {.actor = call.access().principal().Text(),
       .request_id = call.request().request_id(),
       .body = SweepSubmitted{std::make_shared<const SweepSpec>(std::move(spec))}},
      [this, id, place, keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
        if (place != nullptr) place->Release();  // the sweep is counted in the cluster now
        Status status = admission.status();
        if (status.ok()) status = Show(id, *keep->response().mutable_sweep());
        if (status.ok()) keep->response().set_replayed(admission->replayed);
        keep->Answer(status);
      });
}

std::shared_ptr<const Sweep> SweepService::FindRepeated(
    const v1::SubmitSweepRequest& request) const {
  const auto cluster = reconciler_.snapshot();
  const SweepId* answered = cluster->sweep_requests.Find(request.request_id());
  if (answered == nullptr) return nullptr;
  auto sweep = cluster->FindSweep(*answered);
  return sweep->spec->body_digest == BodyDigest(request) ? sweep : nullptr;
}

void SweepService::AnswerRepeated(SubmitCall& call, const Sweep& sweep) const {
  call.access().Describe("sweep " + sweep.spec->id().value());
  Status status = call.access().Authorize(sweep.spec->run_namespace);
  if (status.ok()) status = Show(sweep.spec->id(), *call.response().mutable_sweep());
  call.response().set_replayed(status.ok());
  call.AnswerUnchanged(status);
}

void SweepService::CancelSweep(CancelCall& call) {
  call.access().Describe("", call.request().request_id());
  const auto sweep = Find(call.access(), call.request().sweep());
  if (!sweep.ok()) return call.Answer(sweep.status());
  const SweepId id = (*sweep)->spec->id();
  reconciler_.Request(
      {.actor = call.access().principal().Text(),
       .request_id = call.request().request_id(),
       .body = SweepCancelled{id}},
      [this, id, keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
        Status status = admission.status();
        if (status.ok()) status = Show(id, keep->response());
        keep->Answer(status);
      });
}

StatusOr<std::shared_ptr<const Sweep>> SweepService::Find(AdmittedCall& access,
                                                          const std::string& reference) const {
  access.Describe("sweep " + Excerpt(reference));
  const bool whole = reference.find('/') != std::string::npos;
  const SweepId id(whole ? reference : fmt::format("{}/{}", kDefaultNamespace, reference));
  const auto sweep = reconciler_.snapshot()->FindSweep(id);
  if (sweep == nullptr || !access.RoleIn(sweep->spec->run_namespace)) {
    return NotFound(
        "there is no sweep '{}'; gpctl sweep list shows them, and gpctl list --all --label "
        "sweep=NAME the trials of one that ended long ago",
        Excerpt(reference));
  }
  RETURN_IF_ERROR(access.Authorize(sweep->spec->run_namespace));
  return sweep;
}

Status SweepService::Show(const SweepId& id, v1::Sweep& to) const {
  const auto cluster = reconciler_.snapshot();
  const auto sweep = cluster->FindSweep(id);
  if (sweep == nullptr) return NotFound("there is no sweep '{}'", id);
  to = ToProto(*cluster, *sweep);
  AddTrials(
      *cluster, *sweep, [this](const RunId& run) { return recorder_.ProgressOf(run); }, to);
  return OkStatus();
}

Status SweepService::FillList(const AdmittedCall& access, const v1::ListSweepsRequest& request,
                              v1::ListSweepsResponse& response) const {
  const auto cluster = reconciler_.snapshot();
  std::vector<std::shared_ptr<const Sweep>> sweeps;
  cluster->sweeps.ForEach([&](const SweepId&, const std::shared_ptr<const Sweep>& sweep) {
    const std::string& of = sweep->spec->run_namespace;
    const bool wanted = request.namespace_().empty() || request.namespace_() == of;
    if (wanted && access.RoleIn(of)) sweeps.push_back(sweep);
  });
  std::ranges::sort(sweeps, std::ranges::greater(),
                    [](const auto& sweep) { return sweep->submitted_sequence; });
  if (sweeps.size() > kSweepsListedMax) sweeps.resize(kSweepsListedMax);
  for (const auto& sweep : sweeps) *response.add_sweeps() = ToProto(*cluster, *sweep);
  return OkStatus();
}

}  // namespace gp::coordinator
