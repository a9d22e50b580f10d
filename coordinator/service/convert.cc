#include "coordinator/service/convert.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/counted_noun.h"
#include "coordinator/service/agent_limits.h"
#include "coordinator/state/cordon.h"
#include "coordinator/state/run_reference.h"
#include "coordinator/state/start_description.h"
#include "rpc/message_fields.h"
#include "rpc/timestamp.h"

namespace gp::coordinator {
namespace {

// Each label is one more condition to check on every run of the list.
constexpr int kFilterLabelsMax = 64;
constexpr double kPaceUnknown = -1;  // v1::Progress::pace_seconds

static_assert(static_cast<int>(RunState::kCancelled) == v1::RUN_STATE_CANCELLED);
static_assert(static_cast<int>(RunState::kBackoff) == v1::RUN_STATE_BACKOFF);
static_assert(static_cast<int>(RankPhase::kExited) == v1::RANK_PHASE_EXITED);
static_assert(static_cast<int>(ExitCause::kStalled) == v1::EXIT_CAUSE_STALLED);

google::protobuf::Timestamp ToProto(Timestamp time) {
  return rpc::ToTimestamp(time.time_since_epoch().count());
}

// The newest point. Its validation loss and warning are the run's newest ones, also if an earlier
// point brought them; speed and phases are means over about the last ten minutes.
contract::TrainingPoint Summarised(const Progress& progress) {
  contract::TrainingPoint point = *progress.newest;
  point.validation_loss = progress.validation_loss;
  point.warning = progress.warning;
  point.scores.clear();
  if (!progress.pace.known()) return point;
  point.tokens_per_second = progress.pace.TokensPerSecond();
  point.mfu = progress.pace.Mfu();
  point.step_seconds = progress.pace.StepSeconds();
  point.phases = progress.pace.Phases();
  point.processor_wait = progress.pace.ProcessorWait();
  return point;
}

// Whether the newest point is of the run's newest leg.
bool IsOfNewestLeg(const Run& run, const Progress& progress) {
  return progress.newest && progress.newest->epoch >= run.leg.first_epoch;
}

void AddBest(const Run& run, const Progress& progress, v1::Progress& to) {
  if (!progress.best_known || !progress.best_validation_loss) return;
  to.set_best_validation_loss(*progress.best_validation_loss);
  to.set_best_validation_step(progress.best_validation_step);
  const auto [checkpoint, superseded] =
      FindEvaluated(run, progress.best_validation_step, *progress.best_validation_loss);
  if (checkpoint == nullptr) return;
  to.set_best_validation_checkpoint(checkpoint->directory);
  to.set_best_validation_superseded(superseded);
}

v1::Progress ToProto(const Run& run, const Progress& progress) {
  const Submission& submission = *run.submission;
  v1::Progress to;
  if (progress.newest) {
    rpc::WriteFields(Summarised(progress), to);
    to.set_skipped_steps(progress.skipped_steps);
    to.set_pace_seconds(progress.pace.forecasts() ? progress.pace.SecondsPerStep() : kPaceUnknown);
  }
  // A target from the trainer takes precedence: only the trainer can tell how many steps fit into a
  // wall time, and whether training ends early.
  if (to.target_steps() <= 0 || !IsOfNewestLeg(run, progress)) {
    to.set_target_steps(submission.target_steps);
  }
  to.set_target_tokens(submission.target_tokens);
  if (progress.validation_loss) to.set_validation_step(progress.validation_step);
  AddBest(run, progress, to);
  for (const auto& [name, score] : progress.scores) {
    v1::NewestScore& added = *to.add_scores();
    added.set_name(name);
    added.set_value(score.value);
    added.set_step(score.step);
  }
  return to;
}

void AddPlacement(const Cluster& cluster, const Run& run, v1::Run& to) {
  for (const Placement& placement : run.placement) {
    v1::RankPlacement& place = *to.add_placement();
    place.set_rank(placement.rank);
    place.set_node_id(placement.node.value());
    place.set_node_name(cluster.NodeName(placement.node));
    place.set_slot_id(placement.slot.value());
  }
}

v1::ResourceUse ToProto(const ResourceUse& use) {
  v1::ResourceUse to;
  to.set_cores(use.cores);
  to.set_memory_bytes(use.memory_bytes);
  return to;
}

// The sum of the run's ranks; nullopt while that of one of them is unknown.
std::optional<ResourceUse> UseOf(const Cluster& cluster, const Run& run) {
  if (!run.holds_slots || run.placement.empty()) return std::nullopt;
  ResourceUse sum;
  for (const Placement& placement : run.placement) {
    const auto node = cluster.FindNode(placement.node);
    if (node == nullptr) return std::nullopt;
    const auto use = node->slot_use.find(placement.slot);
    if (use == node->slot_use.end()) return std::nullopt;
    sum.cores += use->second.cores;
    sum.memory_bytes += use->second.memory_bytes;
  }
  return sum;
}

v1::EngineChoices ChoicesOf(const Run& run) {
  const Engine& engine = run.leg.engine;
  v1::EngineChoices to;
  to.set_threads_per_rank(engine.threads_per_rank);
  to.set_logical_shards(engine.logical_shards);
  to.set_isa(engine.isa);
  to.mutable_kernels()->insert(engine.kernels.begin(), engine.kernels.end());
  return to;
}

void AddParent(const Cluster& cluster, const Submission& submission, v1::Run& to) {
  v1::CheckpointOfRun& parent = *to.mutable_parent();
  parent.set_run_id(submission.parent_run);
  parent.set_leg(submission.parent_leg);
  parent.set_step(submission.parent_step);
  parent.set_tokens(submission.parent_tokens);
  const RunId id(submission.parent_run);
  if (const auto run = cluster.FindRun(id)) parent.set_run_name(run->submission->name);
  if (const auto deleted = cluster.FindDeleted(id)) {
    parent.set_run_name(deleted->name);
    parent.set_deleted(true);
  }
}

void AddLeg(const Leg& leg, const Submission& submission, v1::Run& to) {
  v1::Leg& added = *to.add_legs();
  added.set_number(leg.number);
  added.set_first_step(leg.first_step);
  added.set_why_begun(leg.why_begun);
  *added.mutable_begun_at() = ToProto(leg.begun_at);
  added.set_why_ended(leg.why_ended);
  if (leg.ended_at) *added.mutable_ended_at() = ToProto(*leg.ended_at);
  added.set_resolved(submission.resolved);
  added.set_target_steps(submission.target_steps);
}

contract::WrittenCheckpoint FromProto(const v1::WrittenCheckpoint& from) {
  auto to = rpc::ReadFields<contract::WrittenCheckpoint>(from);
  to.end_reason = CutText(to.end_reason);
  return to;
}

// "label team=a set, label old removed, note changed"
std::string DescribeAnnotation(const RunAnnotated& change) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : change.labels) {
    parts.push_back(fmt::format("label {}={} set", key, value));
  }
  for (const std::string& key : change.removed_labels) {
    parts.push_back(fmt::format("label {} removed", key));
  }
  if (change.note) parts.emplace_back(change.note->empty() ? "note removed" : "note changed");
  return fmt::format("{}", fmt::join(parts, ", "));
}

struct Describer {
  std::string operator()(const RunSubmitted& event) const {
    return fmt::format("submitted as '{}', {}", event.submission.name,
                       CountedNoun(event.submission.workers, "rank"));
  }
  std::string operator()(const RunQueued& event) const { return event.reason; }
  std::string operator()(const RunPlaced& event) const { return event.reason; }
  std::string operator()(const RunGroupReady&) const { return "every rank listens"; }
  std::string operator()(const RunStarted&) const { return "every rank is ready"; }
  std::string operator()(const RankFailed& event) const { return event.message; }
  std::string operator()(const CancelRequested& event) const {
    if (!event.reason.empty()) return event.reason;
    return event.now ? "cancel requested, without saving" : "cancel requested";
  }
  std::string operator()(const CheckpointSealed& event) const {
    return fmt::format("checkpoint of step {} sealed{}", event.checkpoint.step,
                       event.checkpoint.final ? ", the final one" : "");
  }
  std::string operator()(const CheckpointRetired& event) const {
    return fmt::format("checkpoint of step {} retired", event.step);
  }
  std::string operator()(const CheckpointVerified& event) const { return event.text; }
  std::string operator()(const CheckpointDamaged& event) const {
    if (!event.lost) return event.reason;
    return fmt::format("checkpoint of step {} is lost: {}", event.step, event.reason);
  }
  std::string operator()(const CheckpointRestored& event) const {
    return fmt::format("checkpoint of step {} is intact and back in the catalogue", event.step);
  }
  std::string operator()(const RunFinishing&) const { return "the final checkpoint is sealed"; }
  std::string operator()(const RunEnded& event) const { return event.reason; }
  std::string operator()(const RunWarned& event) const {
    return fmt::format("step {}: {}", event.step, event.text);
  }
  std::string operator()(const RunRequeued& event) const { return event.reason; }
  std::string operator()(const RunDraining& event) const {
    return event.reason + "; the ranks save their last step and leave";
  }
  std::string operator()(const RunReconfigured& event) const { return event.reason; }
  std::string operator()(const JoinerPlaced& event) const { return event.reason; }
  std::string operator()(const JoinerLeft& event) const { return event.reason; }
  std::string operator()(const RunResized& event) const {
    return CountedNoun(event.workers, "rank") + " requested";
  }
  std::string operator()(const PauseRequested&) const { return "pause requested"; }
  std::string operator()(const RunPaused& event) const { return event.reason; }
  std::string operator()(const RunResumed&) const { return "resumed"; }
  std::string operator()(const LegRequested& event) const { return event.why; }
  std::string operator()(const LegBegun&) const { return "the next leg begins"; }
  std::string operator()(const RunDeleted& event) const {
    return event.keep_checkpoints ? "deleted, except its checkpoints" : "deleted";
  }
  std::string operator()(const CheckpointPinned& event) const {
    return fmt::format("checkpoint of step {} {}", event.step,
                       event.pinned ? "pinned" : "no longer pinned");
  }
  std::string operator()(const CheckpointsPruned& event) const {
    std::vector<int64_t> steps;
    for (const CheckpointKey& one : event.checkpoints) steps.push_back(one.step);
    constexpr size_t kShown = 10;
    const std::string more = steps.size() > kShown ? ", …" : "";
    if (steps.size() > kShown) steps.resize(kShown);
    return fmt::format("{} removed: {} {}{}",
                       CountedNoun(static_cast<int64_t>(event.checkpoints.size()), "checkpoint"),
                       steps.size() == 1 ? "step" : "steps", fmt::join(steps, ", "), more);
  }
  std::string operator()(const RunAnnotated& event) const { return DescribeAnnotation(event); }
  std::string operator()(const NodeCordoned& event) const { return event.reason; }
  template <typename Volatile>
  std::string operator()(const Volatile&) const {
    return "";
  }
};

}  // namespace

v1::Run ToProto(const Cluster& cluster, const Run& run, const Progress& progress) {
  const Submission& submission = *run.submission;
  v1::Run to;
  to.set_run_id(run.id.value());
  to.set_name(submission.name);
  to.set_kind(static_cast<v1::RunKind>(submission.kind));
  to.set_namespace_(NamespaceOf(run));
  to.set_priority(submission.priority);
  to.mutable_labels()->insert(run.labels.begin(), run.labels.end());
  to.set_note(run.note);
  to.set_state(static_cast<v1::RunState>(run.state));
  to.set_reason(run.reason);
  to.set_epoch(run.epoch);
  to.set_failures(run.failures);
  *to.mutable_submitted_at() = ToProto(run.submitted_at);
  if (run.started_at) *to.mutable_started_at() = ToProto(*run.started_at);
  if (run.finished_at) *to.mutable_finished_at() = ToProto(*run.finished_at);
  AddPlacement(cluster, run, to);
  *to.mutable_progress() = ToProto(run, progress);
  const SealedCheckpoint* latest = run.LatestCheckpoint();
  to.set_latest_checkpoint_step(latest == nullptr ? -1 : latest->step);
  const SealedCheckpoint* best = run.BestCheckpoint();
  to.set_best_checkpoint_step(best == nullptr ? -1 : best->step);
  to.set_run_directory(submission.run_directory);
  to.set_request_id(submission.request_id);
  to.set_workers(WantedRanks(run));
  *to.mutable_choices() = ChoicesOf(run);
  if (run.group) to.set_gradients_encrypted(run.group->encrypted);
  const Device device = run.leg.engine.device;
  if (device != Device::kAuto) to.set_device(std::string(Name(device)));
  to.set_submitted_by(run.submitted_by);
  to.set_initial_model(InitialModelName(run, cluster));
  if (!submission.parent_run.empty()) AddParent(cluster, submission, to);
  to.set_leg(run.leg.number);
  if (run.holds_slots) to.set_leaving_for(RequestedLeave(run));
  if (const auto use = UseOf(cluster, run)) *to.mutable_use() = ToProto(*use);
  return to;
}

void AddLegs(const Run& run, v1::Run& to) {
  for (const EndedLeg& ended : run.ended_legs) AddLeg(ended.leg, *ended.submission, to);
  AddLeg(run.leg, *run.submission, to);
}

v1::Checkpoint ToProto(const Run& run, const SealedCheckpoint& checkpoint) {
  v1::Checkpoint to;
  to.set_run_id(run.id.value());
  rpc::WriteFields<contract::WrittenCheckpoint>(checkpoint, to);
  to.set_epoch(checkpoint.epoch);
  to.set_leg(checkpoint.leg);
  *to.mutable_sealed_at() = ToProto(checkpoint.sealed_at);
  to.set_latest(&checkpoint == run.LatestCheckpoint());
  to.set_best(&checkpoint == run.BestCheckpoint());
  to.set_pinned(checkpoint.pinned);
  return to;
}

v1::Checkpoint ToProto(const Run& run, const QuarantinedCheckpoint& held) {
  v1::Checkpoint to = ToProto(run, held.checkpoint);
  to.set_quarantine_reason(held.reason);
  *to.mutable_quarantined_at() = ToProto(held.at);
  return to;
}

v1::MetricPoint ToProto(const contract::TrainingPoint& point) {
  v1::MetricPoint to;
  rpc::WriteFields(point, to);
  return to;
}

contract::TrainingPoint FromProto(const v1::MetricPoint& from) {
  auto to = rpc::ReadFields<contract::TrainingPoint>(from);
  to.peak_source = CutText(to.peak_source);
  to.warning = CutText(to.warning);
  std::map<std::string, double> scores;
  for (const auto& [name, value] : to.scores) {
    if (scores.size() < kScoresMax) scores[CutText(name)] = value;
  }
  to.scores = std::move(scores);
  return to;
}

StatusOr<RunQuery> FromProto(const v1::ListRequest& request) {
  RunQuery query;
  if (request.labels_size() > kFilterLabelsMax) {
    return InvalidArgument("{} labels are given; a list is filtered by at most {}",
                           request.labels_size(), kFilterLabelsMax);
  }
  for (const int state : request.states()) {
    if (state == v1::RUN_STATE_UNSPECIFIED || !v1::RunState_IsValid(state)) {
      return InvalidArgument("states: {} is not a run state", state);
    }
    query.states.insert(static_cast<RunState>(state));
  }
  if (query.states.empty() && !request.include_finished()) {
    for (int state = v1::RunState_MIN + 1; state <= v1::RunState_MAX; ++state) {
      const auto live = static_cast<RunState>(state);
      if (v1::RunState_IsValid(state) && !IsTerminal(live)) query.states.insert(live);
    }
  }
  for (const auto& [key, value] : request.labels()) query.labels.insert(DivideLabel(key, value));
  if (request.has_submitted_since()) query.submitted_since = FromProto(request.submitted_since());
  query.search = request.search();
  return query;
}

void AddStateCounts(const RunCounts& counts, const std::optional<std::set<std::string>>& namespaces,
                    v1::ListResponse& response) {
  for (const auto& [state, count] : counts.In(namespaces)) {
    v1::StateCount& added = *response.add_state_counts();
    added.set_state(static_cast<v1::RunState>(state));
    added.set_runs(count);
  }
}

Timestamp FromProto(const google::protobuf::Timestamp& time) {
  return Timestamp(std::chrono::microseconds(rpc::MicrosecondsOf(time)));
}

v1::LogLine ToProto(const Line& line) {
  v1::LogLine to;
  to.set_sequence(line.sequence);
  *to.mutable_at() = ToProto(line.at);
  to.set_rank(line.rank);
  to.set_epoch(line.epoch);
  to.set_text(line.text);
  return to;
}

v1::Cordon ToProto(const Cordon& cordon) {
  v1::Cordon to;
  to.set_drain(cordon.drain);
  to.set_reason(cordon.reason);
  to.set_actor(cordon.actor);
  *to.mutable_since() = ToProto(cordon.since);
  return to;
}

v1::Node ToProto(const Cluster& cluster, const Node& node) {
  v1::Node to;
  to.set_node_id(node.id.value());
  to.set_name(node.name);
  to.set_connected(node.connected);
  to.set_version(node.version);
  *to.mutable_last_heard_at() = ToProto(node.last_heard_at);
  to.set_gpu_driver(node.gpu_driver);
  to.set_gpu_problem(node.gpu_problem);
  to.set_storage_problem(node.storage_problem);
  if (node.cordon) *to.mutable_cordon() = ToProto(*node.cordon);
  to.set_busy_slots(BusySlots(cluster, node));
  if (node.load) {
    v1::MachineLoad& load = *to.mutable_load();
    load.set_runnable_threads(node.load->runnable_threads);
    load.set_cores(node.load->cores);
    load.set_swap_bytes_per_second(node.load->swap_bytes_per_second);
    load.set_busy_cores(node.load->busy_cores);
    load.set_memory_bytes(node.load->memory_bytes);
    load.set_available_memory_bytes(node.load->available_memory_bytes);
    load.set_storage_bytes(node.load->storage_bytes);
    load.set_free_storage_bytes(node.load->free_storage_bytes);
  }
  for (const Slot& slot : node.slots) {
    v1::Slot& slot_to = *to.add_slots();
    slot_to.set_slot_id(slot.id.value());
    slot_to.set_device(slot.device);
    for (const int core : slot.cores) slot_to.add_cores(core);
    slot_to.set_memory_bytes(slot.memory_bytes);
    slot_to.set_device_name(slot.device_name);
    slot_to.set_compute_capability(slot.compute_capability);
    slot_to.set_problem(slot.problem);
    const auto use = node.slot_use.find(slot.id);
    if (use != node.slot_use.end()) *slot_to.mutable_use() = ToProto(use->second);
  }
  for (const Assignment& assignment : AssignmentsOf(cluster, node.id)) {
    for (v1::Slot& slot_to : *to.mutable_slots()) {
      if (slot_to.slot_id() == assignment.slot.value()) {
        slot_to.set_run_id(assignment.run->id.value());
      }
    }
  }
  return to;
}

v1::Assignment ToProto(const Assignment& from, const GroupKey& key) {
  const Run& run = *from.run;
  const Submission& submission = *run.submission;
  v1::Assignment to;
  to.set_run_id(run.id.value());
  to.set_run_name(submission.name);
  to.set_epoch(from.epoch);
  to.set_rank(from.rank);
  to.set_world_size(from.joins ? from.rank + 1 : static_cast<int>(run.placement.size()));
  to.set_joins(from.joins);
  to.set_regroups(from.regroups);
  to.set_slot_id(from.slot.value());
  to.set_incarnation(from.incarnation);
  to.set_kind(static_cast<v1::RunKind>(submission.kind));
  to.set_resolved(submission.resolved);
  to.set_run_directory(submission.run_directory);
  to.set_of_owner(submission.of_owner);
  to.set_begun(run.started_at.has_value());
  to.set_begins_leg(run.leg.number > 1 && run.resume_step == run.leg.first_step);
  if (from.resume)
    rpc::WriteFields<contract::WrittenCheckpoint>(*from.resume, *to.mutable_resume());
  if (run.group && !from.joins) {
    for (const std::string& address : run.group->addresses) {
      to.mutable_membership()->add_addresses(address);
    }
    to.mutable_membership()->set_secret(key.SecretOf(run.id, run.epoch, run.group->nonce));
    to.mutable_membership()->set_needs_nccl_id(SumsOnGpus(run));
    to.mutable_membership()->set_nccl_id(from.nccl_id);
    to.mutable_membership()->set_encrypted(run.group->encrypted);
  }
  to.set_go(run.go && !from.joins);
  to.set_stop(from.stop);
  to.set_stop_now(from.stop_now);
  to.set_stop_reason(from.stop_reason);
  for (const int64_t step : from.sealed_steps) to.add_sealed_steps(step);
  for (const RefusedSeal& refused : from.refused_seals) {
    v1::RefusedSeal& seal = *to.add_refused_seals();
    seal.set_step(refused.step);
    seal.set_reason(refused.reason);
  }
  *to.mutable_choices() = ChoicesOf(run);
  return to;
}

v1::RunEvent ToProto(const StoredEvent& stored, RunState state, Epoch epoch) {
  v1::RunEvent to;
  to.set_sequence(stored.sequence);
  *to.mutable_at() = ToProto(stored.event.at);
  to.set_state(static_cast<v1::RunState>(state));
  to.set_kind(std::string(Kind(stored.event)));
  to.set_actor(stored.event.actor);
  to.set_reason(Describe(stored.event));
  to.set_epoch(epoch);
  to.set_request_id(stored.event.request_id);
  return to;
}

RankProgress FromProto(const v1::RankProgress& from) {
  return {.phase = CutText(from.phase()),
          .awaits_peer = from.waits_for() == "peer",
          .awaits_agent = from.waits_for() == "agent",
          .peer = from.peer(),
          .still = std::chrono::milliseconds(from.still_ms()),
          .limit = std::chrono::milliseconds(from.limit_ms())};
}

RankReport FromProto(const v1::RankStatus& from) {
  RankReport to;
  to.run = RunId(from.run_id());
  to.epoch = from.epoch();
  to.rank = from.rank();
  to.slot = SlotId(from.slot_id());
  to.incarnation = from.incarnation();
  to.phase = static_cast<RankPhase>(from.phase());
  to.address = from.address();
  to.isa_levels = {from.offer().isa_levels().begin(), from.offer().isa_levels().end()};
  to.kernels = {from.offer().kernels().begin(), from.offer().kernels().end()};
  to.nccl_id = from.offer().nccl_id();
  to.step = from.step();
  to.cause = static_cast<ExitCause>(from.exit_cause());
  to.exit_code = from.exit_code();
  to.message = CutText(from.message());
  to.waiting = CutText(from.waiting());
  to.holds = from.holds();
  if (from.has_progress()) to.progress = FromProto(from.progress());
  for (int i = std::max(0, from.written_size() - kWrittenMax); i < from.written_size(); ++i) {
    to.written.push_back(FromProto(from.written(i)));
  }
  return to;
}

std::vector<RankReport> FromProto(
    const google::protobuf::RepeatedPtrField<v1::RankStatus>& statuses) {
  std::vector<RankReport> ranks;
  for (const v1::RankStatus& status : statuses) ranks.push_back(FromProto(status));
  return ranks;
}

Slot FromProto(const v1::Slot& from) {
  return {SlotId(from.slot_id()), from.device(),      {from.cores().begin(), from.cores().end()},
          from.memory_bytes(),    from.device_name(), from.compute_capability(),
          CutText(from.problem())};
}

std::string Describe(const Event& event) { return std::visit(Describer(), event.body); }

}  // namespace gp::coordinator
