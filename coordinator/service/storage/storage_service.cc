#include "coordinator/service/storage/storage_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file.h"
#include "coordinator/access/named_run.h"
#include "coordinator/checkpoints/disk_usage.h"
#include "coordinator/scheduler/retention.h"
#include "coordinator/service/convert.h"
#include "coordinator/service/submission.h"
#include "coordinator/state/run_reference.h"

namespace gp::coordinator {
namespace {

constexpr int kKeepLastMax = 1'000'000;

bool IsKept(const Run& run, const CheckpointKey& pruned) {
  const SealedCheckpoint* sealed = FindSealed(run, pruned);
  return sealed != nullptr && !sealed->retired;
}

void Fill(const DeletedRun& run, v1::DeleteRunResponse& response) {
  response.set_run_id(run.id.value());
  response.set_run_name(run.name);
  response.set_checkpoints(run.checkpoints);
  response.set_freed_bytes(run.freed_bytes);
}

void AddChildren(const Cluster& cluster, const RunId& id, v1::DeleteRunResponse& response) {
  for (const RunId& child : cluster.ChildrenOf(id)) {
    (*response.mutable_children())[child.value()] = cluster.FindRun(child)->submission->name;
  }
}

void Fill(const RunSize& size, v1::RunDiskUsage& to) {
  to.set_checkpoint_bytes(size.checkpoint_bytes);
  to.set_other_bytes(size.other_bytes);
  to.set_checkpoints(size.checkpoints);
  to.set_pinned(size.pinned);
}

uint64_t TotalOf(const v1::RunDiskUsage& usage) {
  return usage.checkpoint_bytes() + usage.other_bytes();
}

}  // namespace

StorageService::StorageService(const ServiceContext& context, Reconciler& reconciler,
                               const Recorder& recorder, const Storage& files,
                               const StorageRoot& root)
    : MethodService(context),
      reconciler_(reconciler),
      recorder_(recorder),
      files_(files),
      root_(root),
      lanes_(context.lanes) {
  OnCall<v1::DeleteRunRequest, v1::DeleteRunResponse>("DeleteRun",
                                                      [this](DeleteCall& call) { Delete(call); });
  OnCall<v1::PruneCheckpointsRequest, v1::PruneCheckpointsResponse>(
      "PruneCheckpoints", [this](PruneCall& call) { Prune(call); });
  OnCall<v1::PinCheckpointRequest, v1::Checkpoint>("PinCheckpoint",
                                                   [this](PinCall& call) { Pin(call); });
  OnCall<v1::DiskUsageRequest, v1::DiskUsageResponse>("DiskUsage",
                                                      [this](UsageCall& call) { Measure(call); });
}

bool StorageService::AnswerRepeated(DeleteCall& call) {
  const auto cluster = reconciler_.snapshot();
  const AnsweredRequest* answered = cluster->requests.Find(call.request().request_id());
  if (answered == nullptr || answered->body_digest != kDeletionDigest) return false;
  const auto deleted = cluster->FindDeleted(answered->run);
  if (deleted == nullptr || deleted->request_id != call.request().request_id()) return false;
  call.access().Describe(deleted->run_namespace + "/" + deleted->id.value());
  const Status allowed = call.access().Authorize(deleted->run_namespace);
  if (allowed.ok()) Fill(*deleted, call.response());
  call.AnswerUnchanged(allowed);
  return true;
}

void StorageService::Delete(DeleteCall& call) {
  const v1::DeleteRunRequest& request = call.request();
  call.access().Describe("", request.request_id());
  const Status valid = CheckRequestId(request.request_id(), "deletion");
  if (!valid.ok()) return call.Answer(valid);
  if (AnswerRepeated(call)) return;
  const auto cluster = reconciler_.snapshot();
  const auto run = FindNamedRun(call.access(), *cluster, request.run());
  const auto deleted = run.status().code() == StatusCode::kNotFound
                           ? FindNamedDeletedRun(call.access(), *cluster, request.run())
                           : nullptr;
  if (!run.ok() && deleted == nullptr) return call.Answer(run.status());
  if (deleted != nullptr) {
    call.access().Describe(deleted->run_namespace + "/" + deleted->id.value());
    const Status allowed = call.access().Authorize(deleted->run_namespace);
    if (!allowed.ok()) return call.Answer(allowed);
  }
  Event event{.run = deleted != nullptr ? deleted->id : (*run)->id,
              .actor = call.access().principal().Text(),
              .request_id = request.request_id(),
              .body = RunDeleted{.keep_checkpoints = request.keep_checkpoints(),
                                 .is_trial = request.dry_run()}};
  const Status admitted = Admit(*cluster, event).status();
  if (!admitted.ok()) return call.Answer(admitted);
  call.Then(lanes_.usage, [this, event = std::move(event)](DeleteCall& self) mutable {
    MeasureAndDelete(self, std::move(event));
  });
}

void StorageService::MeasureAndDelete(DeleteCall& call, Event event) {
  const auto cluster = reconciler_.snapshot();
  auto& deletion = std::get<RunDeleted>(event.body);
  const auto run = cluster->FindRun(event.run);
  const auto deleted = cluster->FindDeleted(event.run);
  RunSize size;
  if (run != nullptr) size = SizeOf(files_, *run);
  if (deleted != nullptr) size = SizeOf(files_, *deleted);
  deletion.checkpoints = size.checkpoints;
  deletion.freed_bytes = size.other_bytes + BytesAt(files_, recorder_.DirectoryOf(event.run));
  if (!deletion.keep_checkpoints) deletion.freed_bytes += size.checkpoint_bytes;
  v1::DeleteRunResponse& response = call.response();
  response.set_run_id(event.run.value());
  if (run != nullptr) response.set_run_name(run->submission->name);
  if (deleted != nullptr) response.set_run_name(deleted->name);
  response.set_checkpoints(deletion.checkpoints);
  response.set_freed_bytes(deletion.freed_bytes);
  AddChildren(*cluster, event.run, response);
  if (call.request().dry_run()) {
    // Again, because measuring may have taken long.
    return call.AnswerUnchanged(Admit(*reconciler_.snapshot(), event).status());
  }
  reconciler_.Request(std::move(event),
                      [keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
                        keep->Answer(admission.status());
                      });
}

void StorageService::Prune(PruneCall& call) {
  const v1::PruneCheckpointsRequest& request = call.request();
  call.access().Describe("", request.request_id());
  if (request.keep_last() < 0 || request.keep_last() > kKeepLastMax) {
    return call.Answer(InvalidArgument("keep_last: {} is not a number from 0 to {}",
                                       request.keep_last(), kKeepLastMax));
  }
  const auto run = FindNamedRun(call.access(), *reconciler_.snapshot(), request.run());
  if (!run.ok()) return call.Answer(run.status());
  const Event event{.run = (*run)->id,
                    .actor = call.access().principal().Text(),
                    .request_id = request.request_id(),
                    .body = CheckpointsPruned{.keep_last = std::max(1, request.keep_last())}};
  call.Then(lanes_.usage,
            [this, event, run = *run](PruneCall& self) { MeasureAndPrune(self, event, *run); });
}

void StorageService::MeasureAndPrune(PruneCall& call, const Event& event, const Run& run) {
  struct Measured {
    CheckpointKey pruned;
    v1::Checkpoint shown;
    uint64_t bytes = 0;
  };
  const auto cluster = reconciler_.snapshot();
  const int keep_last = std::get<CheckpointsPruned>(event.body).keep_last;
  std::vector<Measured> measured;
  for (const CheckpointKey& pruned : PrunableCheckpoints(*cluster, run, keep_last)) {
    const SealedCheckpoint* checkpoint = FindSealed(run, pruned);
    measured.push_back({pruned, ToProto(run, *checkpoint), BytesAt(files_, checkpoint->directory)});
  }
  const auto fill = [measured = std::move(measured)](const Run* now,
                                                     v1::PruneCheckpointsResponse& response) {
    uint64_t freed = 0;
    for (const Measured& one : measured) {
      if (now != nullptr && IsKept(*now, one.pruned)) continue;
      *response.add_removed() = one.shown;
      freed += one.bytes;
    }
    response.set_freed_bytes(freed);
  };
  if (call.request().dry_run()) {
    fill(nullptr, call.response());
    return call.AnswerUnchanged(OkStatus());
  }
  reconciler_.Request(
      event, [this, fill, keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
        if (admission.ok()) {
          fill(reconciler_.snapshot()->FindRun(admission->run).get(), keep->response());
        }
        keep->Answer(admission.status());
      });
}

void StorageService::Pin(PinCall& call) {
  const v1::PinCheckpointRequest& request = call.request();
  call.access().Describe("", request.request_id());
  const auto run = FindNamedRun(call.access(), *reconciler_.snapshot(), request.run());
  if (!run.ok()) return call.Answer(run.status());
  const SealedCheckpoint* checkpoint = FindOfStep(**run, request.step());
  if (checkpoint == nullptr) {
    return call.Answer(NotFound("run '{}' has no sealed checkpoint of step {}",
                                (*run)->submission->name, request.step()));
  }
  const CheckpointKey which{checkpoint->step, checkpoint->epoch};
  reconciler_.Request(
      {.run = (*run)->id,
       .actor = call.access().principal().Text(),
       .request_id = request.request_id(),
       .body = CheckpointPinned{which.step, which.epoch, request.pinned()}},
      [this, which, keep = call.shared_from_this()](const StatusOr<Admission>& admission) {
        const auto now = admission.ok() ? reconciler_.snapshot()->FindRun(admission->run) : nullptr;
        const SealedCheckpoint* pinned = now == nullptr ? nullptr : FindSealed(*now, which);
        if (pinned != nullptr) keep->response() = ToProto(*now, *pinned);
        keep->Answer(admission.status());
      });
}

void StorageService::Measure(UsageCall& call) {
  call.Then(lanes_.usage,
            [this](UsageCall& self) { self.Answer(FillUsage(self, self.response())); });
}

void StorageService::AddUsage(const Run& run, Usages& to) const {
  v1::RunDiskUsage& usage = to[run.id];
  usage.set_run_id(run.id.value());
  usage.set_run_name(run.submission->name);
  usage.set_state(static_cast<v1::RunState>(run.state));
  Fill(SizeOf(files_, run), usage);
}

void StorageService::AddUsage(const DeletedRun& run, Usages& to) const {
  v1::RunDiskUsage& usage = to[run.id];
  usage.set_run_id(run.id.value());
  usage.set_run_name(run.name);
  Fill(SizeOf(files_, run), usage);
}

void StorageService::AddAll(UsageCall& call, const Cluster& cluster, Usages& to) const {
  const std::string& wanted = call.request().namespace_();
  const auto sees = [&](const std::string& name) {
    return (wanted.empty() || wanted == name) && call.access().RoleIn(name).has_value();
  };
  cluster.runs.ForEach([&](const RunId&, const std::shared_ptr<const Run>& run) {
    if (sees(NamespaceOf(*run))) AddUsage(*run, to);
  });
  cluster.deleted.ForEach([&](const RunId&, const std::shared_ptr<const DeletedRun>& run) {
    if (!run->kept_checkpoints.empty() && sees(run->run_namespace)) AddUsage(*run, to);
  });
}

Status StorageService::AddNamed(UsageCall& call, const Cluster& cluster, Usages& to) const {
  for (const std::string& reference : call.request().runs()) {
    const auto run = FindNamedRun(call.access(), cluster, reference);
    if (run.ok()) {
      AddUsage(**run, to);
      continue;
    }
    const auto deleted = run.status().code() == StatusCode::kNotFound
                             ? FindNamedDeletedRun(call.access(), cluster, reference)
                             : nullptr;
    if (deleted == nullptr || deleted->kept_checkpoints.empty()) return run.status();
    AddUsage(*deleted, to);
  }
  return OkStatus();
}

Status StorageService::FillUsage(UsageCall& call, v1::DiskUsageResponse& response) const {
  const auto cluster = reconciler_.snapshot();
  Usages by_id;
  if (call.request().runs().empty()) {
    AddAll(call, *cluster, by_id);
  } else {
    RETURN_IF_ERROR(AddNamed(call, *cluster, by_id));
  }
  std::vector<v1::RunDiskUsage> usages;
  for (auto& [id, usage] : by_id) usages.push_back(std::move(usage));
  std::ranges::sort(usages, [](const v1::RunDiskUsage& a, const v1::RunDiskUsage& b) {
    return std::pair(TotalOf(b), a.run_id()) < std::pair(TotalOf(a), b.run_id());
  });
  for (v1::RunDiskUsage& usage : usages) *response.add_runs() = std::move(usage);
  ASSIGN_OR_RETURN(const FileSystemSpace space, SpaceAt(root_.path()));
  response.set_storage_bytes(space.total_bytes);
  response.set_free_storage_bytes(space.free_bytes);
  return OkStatus();
}

}  // namespace gp::coordinator
