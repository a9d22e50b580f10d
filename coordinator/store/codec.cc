#include "coordinator/store/codec.h"

#include <algorithm>

#include "base/check.h"
#include "gp/store/v1/record.pb.h"
#include "rpc/message_fields.h"

namespace gp::coordinator {
namespace {

namespace pb = ::gp::store::v1;
using std::chrono::microseconds;

int64_t Micros(Timestamp time) { return time.time_since_epoch().count(); }
Timestamp FromMicros(int64_t micros) { return Timestamp(microseconds(micros)); }

void Write(const Submission& from, pb::RunSubmitted& to) {
  rpc::WriteFields(from, to);
  to.mutable_labels()->insert(from.labels.begin(), from.labels.end());
  to.set_retry_backoff_us(from.retry_backoff.count());
  to.set_retry_backoff_max_us(from.retry_backoff_max.count());
  to.set_device(std::string(Name(from.device)));
}

void Write(const EarlyStop& from, pb::EarlyStop& to) {
  to.set_kind(static_cast<int>(from.kind));
  to.set_min_steps(from.min_steps);
  to.set_eta(from.eta);
  to.mutable_rungs()->Assign(from.rungs.begin(), from.rungs.end());
}

void Write(const SweepSpec& from, pb::SweepSubmitted& to) {
  to.set_name(from.name);
  to.set_run_namespace(from.run_namespace);
  to.set_source(from.source);
  to.set_run_source(from.run_source);
  to.set_body_digest(from.body_digest);
  to.set_max_parallel(from.max_parallel);
  Write(from.early_stop, *to.mutable_early_stop());
  for (const SweepTrial& trial : from.trials) {
    pb::SweepTrial& added = *to.add_trials();
    added.set_run_id(trial.run.value());
    added.set_request_id(trial.submission.request_id);
    added.mutable_keys()->insert(trial.keys.begin(), trial.keys.end());
    Write(trial.submission, *added.mutable_submission());
    added.mutable_rung_tokens()->Assign(trial.rung_tokens.begin(), trial.rung_tokens.end());
  }
}

void Write(const Placement& from, pb::Placement& to) {
  to.set_rank(from.rank);
  to.set_node_id(from.node.value());
  to.set_slot_id(from.slot.value());
  to.set_incarnation(from.incarnation);
  to.set_joins(from.joins);
}

class Encoder {
 public:
  explicit Encoder(pb::Record& record) : record_(record) {}

  void operator()(const RunSubmitted& event) {
    Write(event.submission, *record_.mutable_run_submitted());
  }
  void operator()(const RunQueued& event) {
    record_.mutable_run_queued()->set_reason(event.reason);
  }
  void operator()(const RunPlaced& event) {
    pb::RunPlaced& to = *record_.mutable_run_placed();
    to.set_leg(event.leg);
    to.set_epoch(event.epoch);
    to.set_reason(event.reason);
    to.set_resume_step(event.resume_step);
    to.set_threads_per_rank(event.threads_per_rank);
    to.set_isa(event.isa);
    to.set_device(std::string(Name(event.device)));
    for (const Placement& placement : event.placement) Write(placement, *to.add_placement());
  }
  void operator()(const RunGroupReady& event) {
    pb::RunGroupReady& to = *record_.mutable_run_group_ready();
    to.set_epoch(event.epoch);
    to.set_nonce(event.nonce);
    for (const std::string& address : event.addresses) to.add_addresses(address);
    to.set_isa(event.isa);
    to.mutable_kernels()->insert(event.kernels.begin(), event.kernels.end());
    to.set_encrypted(event.encrypted);
  }
  void operator()(const RunStarted& event) {
    record_.mutable_run_started()->set_epoch(event.epoch);
  }
  void operator()(const RankFailed& event) {
    pb::RankFailed& to = *record_.mutable_rank_failed();
    to.set_epoch(event.epoch);
    to.set_rank(event.rank);
    to.set_cause(static_cast<int>(event.cause));
    to.set_message(event.message);
    to.set_retry(event.retry);
    to.set_retry_at_us(Micros(event.retry_at));
    to.set_next_reader(static_cast<int>(event.next_reader));
    to.set_passes_over(event.passes_over);
    to.set_own_exit(event.own_exit);
    if (event.step >= 0) to.set_step(event.step);
  }
  void operator()(const CancelRequested& event) {
    record_.mutable_cancel_requested()->set_now(event.now);
    record_.mutable_cancel_requested()->set_reason(event.reason);
  }
  void operator()(const CheckpointSealed& event) {
    pb::CheckpointSealed& to = *record_.mutable_checkpoint_sealed();
    to.set_leg(event.leg);
    to.set_epoch(event.epoch);
    rpc::WriteFields(event.checkpoint, to);
  }
  void operator()(const CheckpointRetired& event) {
    pb::CheckpointRetired& to = *record_.mutable_checkpoint_retired();
    to.set_step(event.step);
    to.set_directory(event.directory);
  }
  void operator()(const RunFinishing& event) {
    record_.mutable_run_finishing()->set_epoch(event.epoch);
  }
  void operator()(const RunEnded& event) {
    pb::RunEnded& to = *record_.mutable_run_ended();
    to.set_state(static_cast<int>(event.state));
    to.set_reason(event.reason);
    to.set_set_aside(event.set_aside);
  }
  void operator()(const RunWarned& event) {
    pb::RunWarned& to = *record_.mutable_run_warned();
    to.set_epoch(event.epoch);
    to.set_step(event.step);
    to.set_text(event.text);
  }
  void operator()(const CheckpointVerified& event) {
    record_.mutable_checkpoint_verified()->set_step(event.step);
    record_.mutable_checkpoint_verified()->set_text(event.text);
  }
  void operator()(const CheckpointDamaged& event) {
    record_.mutable_checkpoint_damaged()->set_step(event.step);
    record_.mutable_checkpoint_damaged()->set_reason(event.reason);
    record_.mutable_checkpoint_damaged()->set_lost(event.lost);
    record_.mutable_checkpoint_damaged()->set_epoch(event.epoch);
  }
  void operator()(const CheckpointRestored& event) {
    record_.mutable_checkpoint_restored()->set_step(event.step);
  }
  void operator()(const RunRequeued& event) {
    pb::RunRequeued& to = *record_.mutable_run_requeued();
    to.set_epoch(event.epoch);
    to.set_reason(event.reason);
  }
  void operator()(const RunDraining& event) {
    pb::RunDraining& to = *record_.mutable_run_draining();
    to.set_epoch(event.epoch);
    to.set_reason(event.reason);
  }
  void operator()(const RunReconfigured& event) {
    pb::RunReconfigured& to = *record_.mutable_run_reconfigured();
    to.set_epoch(event.epoch);
    for (const Placement& member : event.members) Write(member, *to.add_members());
    for (const std::string& address : event.addresses) to.add_addresses(address);
    to.set_nonce(event.nonce);
    to.set_reason(event.reason);
    to.set_failed_joins(event.failed_joins);
  }
  void operator()(const JoinerPlaced& event) {
    pb::JoinerPlaced& to = *record_.mutable_joiner_placed();
    to.set_epoch(event.epoch);
    Write(event.place, *to.mutable_place());
    to.set_reason(event.reason);
  }
  void operator()(const JoinerLeft& event) {
    pb::JoinerLeft& to = *record_.mutable_joiner_left();
    to.set_epoch(event.epoch);
    to.set_rank(event.rank);
    to.set_cause(static_cast<int>(event.cause));
    to.set_failed(event.failed);
    to.set_reason(event.reason);
  }
  void operator()(const RunResized& event) {
    record_.mutable_run_resized()->set_workers(event.workers);
  }
  void operator()(const PauseRequested&) { record_.mutable_pause_requested(); }
  void operator()(const RunPaused& event) {
    record_.mutable_run_paused()->set_reason(event.reason);
  }
  void operator()(const RunResumed&) { record_.mutable_run_resumed(); }
  void operator()(const LegRequested& event) {
    pb::LegRequested& to = *record_.mutable_leg_requested();
    Write(event.submission, *to.mutable_submission());
    if (event.first_step) to.set_first_step(*event.first_step);
    to.set_why(event.why);
  }
  void operator()(const LegBegun&) { record_.mutable_leg_begun(); }
  void operator()(const RunDeleted& event) {
    pb::RunDeleted& to = *record_.mutable_run_deleted();
    to.set_keep_checkpoints(event.keep_checkpoints);
    to.set_checkpoints(event.checkpoints);
    to.set_freed_bytes(event.freed_bytes);
  }
  void operator()(const CheckpointPinned& event) {
    pb::CheckpointPinned& to = *record_.mutable_checkpoint_pinned();
    to.set_step(event.step);
    to.set_epoch(event.epoch);
    to.set_pinned(event.pinned);
  }
  void operator()(const CheckpointsPruned& event) {
    pb::CheckpointsPruned& to = *record_.mutable_checkpoints_pruned();
    for (const CheckpointKey& pruned : event.checkpoints) {
      pb::PrunedCheckpoint& added = *to.add_checkpoints();
      added.set_step(pruned.step);
      added.set_epoch(pruned.epoch);
    }
  }
  void operator()(const RunAnnotated& event) {
    pb::RunAnnotated& to = *record_.mutable_run_annotated();
    to.mutable_labels()->insert(event.labels.begin(), event.labels.end());
    for (const std::string& key : event.removed_labels) to.add_removed_labels(key);
    if (event.note) to.set_note(*event.note);
  }
  void operator()(const NodeCordoned& event) {
    pb::NodeCordoned& to = *record_.mutable_node_cordoned();
    to.set_node_id(event.node.value());
    to.set_name(event.name);
    to.set_drain(event.drain);
    to.set_reason(event.reason);
  }
  void operator()(const NodeUncordoned& event) {
    record_.mutable_node_uncordoned()->set_node_id(event.node.value());
  }
  void operator()(const SweepSubmitted& event) {
    Write(*event.spec, *record_.mutable_sweep_submitted());
  }
  void operator()(const SweepCancelled& event) {
    record_.mutable_sweep_cancelled()->set_sweep(event.sweep.value());
  }
  void operator()(const SweepEnded& event) {
    pb::SweepEnded& to = *record_.mutable_sweep_ended();
    to.set_sweep(event.sweep.value());
    to.set_state(static_cast<int>(event.state));
    to.set_reason(event.reason);
  }
  template <typename Volatile>
  void operator()(const Volatile&) {
    GP_CHECK(false, "a volatile event must not be stored");
  }

 private:
  pb::Record& record_;
};

Submission Decode(const pb::RunSubmitted& from) {
  auto to = rpc::ReadFields<Submission>(from);
  to.labels = {from.labels().begin(), from.labels().end()};
  to.retry_backoff = microseconds(from.retry_backoff_us());
  to.retry_backoff_max = microseconds(from.retry_backoff_max_us());
  to.device = DeviceNamed(from.device()).value_or(Device::kCpu);
  return to;
}

LegRequested Decode(const pb::LegRequested& from) {
  LegRequested to{.submission = Decode(from.submission()), .why = from.why()};
  if (from.has_first_step()) to.first_step = from.first_step();
  return to;
}

// Records of older versions, which had no legs, have 0 here.
template <typename Message>
int LegOf(const Message& from) {
  return std::max(from.leg(), 1);
}

Placement Decode(const pb::Placement& from) {
  return {from.rank(), NodeId(from.node_id()), SlotId(from.slot_id()), from.incarnation(),
          from.joins()};
}

RunPlaced Decode(const pb::RunPlaced& from) {
  RunPlaced to{.epoch = from.epoch(),
               .reason = from.reason(),
               .resume_step = from.resume_step(),
               .threads_per_rank = from.threads_per_rank(),
               .isa = from.isa(),
               .device = DeviceNamed(from.device()).value_or(Device::kAuto),
               .leg = LegOf(from)};
  for (const pb::Placement& place : from.placement()) to.placement.push_back(Decode(place));
  return to;
}

RunReconfigured Decode(const pb::RunReconfigured& from) {
  RunReconfigured to{.epoch = from.epoch(),
                     .addresses = {from.addresses().begin(), from.addresses().end()},
                     .nonce = from.nonce(),
                     .reason = from.reason(),
                     .failed_joins = from.failed_joins()};
  for (const pb::Placement& member : from.members()) to.members.push_back(Decode(member));
  return to;
}

RunGroupReady Decode(const pb::RunGroupReady& from) {
  return {from.epoch(), {from.addresses().begin(), from.addresses().end()}, from.nonce(),
          from.isa(),   {from.kernels().begin(), from.kernels().end()},     from.encrypted()};
}

RankFailed Decode(const pb::RankFailed& from) {
  return {from.epoch(),
          from.rank(),
          static_cast<ExitCause>(from.cause()),
          from.message(),
          from.retry(),
          FromMicros(from.retry_at_us()),
          static_cast<NextReader>(from.next_reader()),
          from.passes_over(),
          from.own_exit(),
          from.has_step() ? from.step() : -1};
}

CheckpointSealed Decode(const pb::CheckpointSealed& from) {
  return {from.epoch(), rpc::ReadFields<contract::WrittenCheckpoint>(from), LegOf(from)};
}

CheckpointsPruned Decode(const pb::CheckpointsPruned& from) {
  CheckpointsPruned to;
  for (const pb::PrunedCheckpoint& pruned : from.checkpoints()) {
    to.checkpoints.push_back({pruned.step(), pruned.epoch()});
  }
  return to;
}

RunAnnotated Decode(const pb::RunAnnotated& from) {
  RunAnnotated to{{from.labels().begin(), from.labels().end()},
                  {from.removed_labels().begin(), from.removed_labels().end()},
                  std::nullopt};
  if (from.has_note()) to.note = from.note();
  return to;
}

NodeCordoned Decode(const pb::NodeCordoned& from) {
  return {NodeId(from.node_id()), from.name(), from.drain(), from.reason()};
}

SweepSubmitted Decode(const pb::SweepSubmitted& from) {
  SweepSpec to{.name = from.name(),
               .run_namespace = from.run_namespace(),
               .source = from.source(),
               .run_source = from.run_source(),
               .body_digest = from.body_digest(),
               .max_parallel = from.max_parallel(),
               .early_stop = {static_cast<EarlyStopKind>(from.early_stop().kind()),
                              from.early_stop().min_steps(),
                              from.early_stop().eta(),
                              {from.early_stop().rungs().begin(), from.early_stop().rungs().end()}},
               .trials = {}};
  for (const pb::SweepTrial& trial : from.trials()) {
    SweepTrial added{RunId(trial.run_id()),
                     {trial.keys().begin(), trial.keys().end()},
                     Decode(trial.submission()),
                     {trial.rung_tokens().begin(), trial.rung_tokens().end()}};
    added.submission.request_id = trial.request_id();
    to.trials.push_back(std::move(added));
  }
  return {std::make_shared<const SweepSpec>(std::move(to))};
}

StatusOr<EventBody> DecodeBody(const pb::Record& record) {
  switch (record.event_case()) {
    case pb::Record::kRunSubmitted:
      return RunSubmitted{Decode(record.run_submitted())};
    case pb::Record::kRunQueued:
      return RunQueued{record.run_queued().reason()};
    case pb::Record::kRunPlaced:
      return Decode(record.run_placed());
    case pb::Record::kRunGroupReady:
      return Decode(record.run_group_ready());
    case pb::Record::kRunStarted:
      return RunStarted{record.run_started().epoch()};
    case pb::Record::kRankFailed:
      return Decode(record.rank_failed());
    case pb::Record::kCancelRequested:
      return CancelRequested{record.cancel_requested().now(), record.cancel_requested().reason()};
    case pb::Record::kCheckpointSealed:
      return Decode(record.checkpoint_sealed());
    case pb::Record::kCheckpointRetired:
      return CheckpointRetired{record.checkpoint_retired().step(),
                               record.checkpoint_retired().directory()};
    case pb::Record::kRunFinishing:
      return RunFinishing{record.run_finishing().epoch()};
    case pb::Record::kRunEnded:
      return RunEnded{static_cast<RunState>(record.run_ended().state()),
                      record.run_ended().reason(), record.run_ended().set_aside()};
    case pb::Record::kRunWarned:
      return RunWarned{record.run_warned().epoch(), record.run_warned().step(),
                       record.run_warned().text()};
    case pb::Record::kCheckpointVerified:
      return CheckpointVerified{record.checkpoint_verified().step(),
                                record.checkpoint_verified().text()};
    case pb::Record::kCheckpointDamaged:
      return CheckpointDamaged{
          record.checkpoint_damaged().step(), record.checkpoint_damaged().reason(),
          record.checkpoint_damaged().lost(), record.checkpoint_damaged().epoch()};
    case pb::Record::kCheckpointRestored:
      return CheckpointRestored{record.checkpoint_restored().step()};
    case pb::Record::kRunRequeued:
      return RunRequeued{record.run_requeued().epoch(), record.run_requeued().reason()};
    case pb::Record::kRunReconfigured:
      return Decode(record.run_reconfigured());
    case pb::Record::kJoinerPlaced:
      return JoinerPlaced{record.joiner_placed().epoch(), Decode(record.joiner_placed().place()),
                          record.joiner_placed().reason()};
    case pb::Record::kJoinerLeft:
      return JoinerLeft{record.joiner_left().epoch(), record.joiner_left().rank(),
                        static_cast<ExitCause>(record.joiner_left().cause()),
                        record.joiner_left().failed(), record.joiner_left().reason()};
    case pb::Record::kRunResized:
      return RunResized{record.run_resized().workers()};
    case pb::Record::kRunDraining:
      return RunDraining{record.run_draining().epoch(), record.run_draining().reason()};
    case pb::Record::kNodeCordoned:
      return Decode(record.node_cordoned());
    case pb::Record::kNodeUncordoned:
      return NodeUncordoned{NodeId(record.node_uncordoned().node_id())};
    case pb::Record::kPauseRequested:
      return PauseRequested{};
    case pb::Record::kRunPaused:
      return RunPaused{record.run_paused().reason()};
    case pb::Record::kRunResumed:
      return RunResumed{};
    case pb::Record::kLegRequested:
      return Decode(record.leg_requested());
    case pb::Record::kLegBegun:
      return LegBegun{};
    case pb::Record::kRunDeleted:
      return RunDeleted{record.run_deleted().keep_checkpoints(), record.run_deleted().checkpoints(),
                        record.run_deleted().freed_bytes()};
    case pb::Record::kCheckpointPinned:
      return CheckpointPinned{record.checkpoint_pinned().step(), record.checkpoint_pinned().epoch(),
                              record.checkpoint_pinned().pinned()};
    case pb::Record::kCheckpointsPruned:
      return Decode(record.checkpoints_pruned());
    case pb::Record::kRunAnnotated:
      return Decode(record.run_annotated());
    case pb::Record::kSweepSubmitted:
      return Decode(record.sweep_submitted());
    case pb::Record::kSweepCancelled:
      return SweepCancelled{SweepId(record.sweep_cancelled().sweep())};
    case pb::Record::kSweepEnded:
      return SweepEnded{SweepId(record.sweep_ended().sweep()),
                        static_cast<SweepState>(record.sweep_ended().state()),
                        record.sweep_ended().reason()};
    case pb::Record::EVENT_NOT_SET:
      break;
  }
  return DataLoss("record {} has an event of a kind unknown to this version", record.sequence());
}

}  // namespace

std::string EncodeRecord(uint64_t sequence, const Event& event) {
  GP_CHECK(IsDurable(event), "'{}' is never stored", Kind(event));
  pb::Record record;
  record.set_sequence(sequence);
  record.set_at_us(Micros(event.at));
  record.set_run_id(event.run.value());
  record.set_actor(event.actor);
  record.set_request_id(event.request_id);
  std::visit(Encoder(record), event.body);
  return record.SerializeAsString();
}

StatusOr<StoredEvent> DecodeRecord(std::string_view bytes) {
  pb::Record record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return DataLoss("a record of {} bytes cannot be decoded; the store is damaged", bytes.size());
  }
  ASSIGN_OR_RETURN(EventBody body, DecodeBody(record));
  StoredEvent stored{record.sequence(),
                     {RunId(record.run_id()), FromMicros(record.at_us()), record.actor(),
                      record.request_id(), std::move(body)}};
  if (auto* submitted = std::get_if<RunSubmitted>(&stored.event.body)) {
    submitted->submission.request_id = record.request_id();
  }
  return stored;
}

}  // namespace gp::coordinator
