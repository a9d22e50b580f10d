// Goal: every field of a stored event is read back. Add new fields here.
#include "coordinator/store/codec.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"
#include "coordinator/telemetry/run_log_codec.h"
#include "gp/store/v1/record.pb.h"
#include "gp/store/v1/run_log.pb.h"
#include "proto/every_field.h"

namespace gp::coordinator {
namespace {

namespace pb = ::gp::store::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

std::string DifferenceBetween(const Message& stored, const Message& again) {
  std::string difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  differencer.Compare(stored, again);
  return difference;
}

// A record with the event in the field `event`; every field has a different value.
pb::Record FullRecord(const FieldDescriptor* event) {
  pb::Record record;
  testing::SetEveryField(record);
  record.clear_event();
  testing::SetEveryField(*record.GetReflection()->MutableMessage(&record, event));
  // A device is stored by its name.
  if (record.has_run_submitted()) record.mutable_run_submitted()->set_device("gpu");
  if (record.has_leg_requested()) {
    record.mutable_leg_requested()->mutable_submission()->set_device("gpu");
  }
  if (record.has_sweep_submitted()) {
    for (pb::SweepTrial& trial : *record.mutable_sweep_submitted()->mutable_trials()) {
      trial.mutable_submission()->set_device("gpu");
    }
  }
  if (record.has_run_placed()) record.mutable_run_placed()->set_device("gpu");
  return record;
}

TEST(StoreCodec, EveryFieldOfEveryKindOfRecordIsReadAndWrittenBack) {
  const auto* events = pb::Record::descriptor()->FindOneofByName("event");
  for (int i = 0; i < events->field_count(); ++i) {
    SCOPED_TRACE(events->field(i)->name());
    const pb::Record record = FullRecord(events->field(i));
    const auto decoded = DecodeRecord(record.SerializeAsString());
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    pb::Record again;
    ASSERT_TRUE(again.ParseFromString(EncodeRecord(decoded->sequence, decoded->event)));
    EXPECT_EQ(DifferenceBetween(record, again), "");
  }
}

TEST(StoreCodec, ARecordOfAVersionWithoutLegsBelongsToTheFirst) {
  pb::Record placed, sealed;
  placed.mutable_run_placed()->set_epoch(1);
  sealed.mutable_checkpoint_sealed()->set_epoch(1);
  const auto first = DecodeRecord(placed.SerializeAsString());
  const auto second = DecodeRecord(sealed.SerializeAsString());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(std::get<RunPlaced>(first->event.body).leg, 1);
  EXPECT_EQ(std::get<CheckpointSealed>(second->event.body).leg, 1);
}

TEST(StoreCodec, EveryFieldOfAPointIsReadAndWrittenBack) {
  pb::StoredPoint stored, again;
  testing::SetEveryField(stored);
  const auto point = DecodePoint(stored.SerializeAsString());
  ASSERT_TRUE(point.has_value());
  ASSERT_TRUE(again.ParseFromString(EncodePoint(*point)));
  EXPECT_EQ(DifferenceBetween(stored, again), "");
}

TEST(StoreCodec, EveryFieldOfALineIsReadAndWrittenBack) {
  pb::StoredLine stored, again;
  testing::SetEveryField(stored);
  const auto line = DecodeLine(stored.SerializeAsString());
  ASSERT_TRUE(line.has_value());
  ASSERT_TRUE(again.ParseFromString(EncodeLine(*line)));
  EXPECT_EQ(DifferenceBetween(stored, again), "");
}

TEST(StoreCodec, EveryFieldOfASummaryIsReadAndWrittenBack) {
  pb::StoredSummary stored, again;
  testing::SetEveryField(stored);
  const auto summary = DecodeSummary(stored.SerializeAsString());
  ASSERT_TRUE(summary.has_value());
  ASSERT_TRUE(again.ParseFromString(EncodeSummary(*summary)));
  EXPECT_EQ(DifferenceBetween(stored, again), "");
}

template <typename... Members>
int Count(const Members&...) {
  return sizeof...(Members);
}

// If a struct and its stored message differ in the number of fields, some would not be stored.
// Fails to compile when a member is added: then store it and name it here.
TEST(StoreCodec, WhatIsStoredHasAFieldForEachMember) {
  const auto& [name, source, resolved, digest, request_id, workers, workers_max, priority, space,
               labels, steps, tokens, survivors, retries, backoff, backoff_max, kind, directory,
               keep_last, keep_best, keep_every, threads, shards, device, of_owner, seen, model,
               dataset, precision, parent, parent_leg, parent_step, parent_tokens, keeps_position,
               not_stored_record, not_stored_texts, not_stored_model] = SampleSubmission();
  EXPECT_EQ(
      Count(name, source, resolved, digest, workers, workers_max, priority, space, labels, steps,
            tokens, survivors, retries, backoff, backoff_max, kind, directory, keep_last, keep_best,
            keep_every, threads, shards, device, of_owner, seen, model, dataset, precision, parent,
            parent_leg, parent_step, parent_tokens, keeps_position),
      pb::RunSubmitted::descriptor()->field_count());
  const auto& [placed_epoch, placement, why, resume, placed_threads, isa, placed_on, placed_leg] =
      RunPlaced{};
  EXPECT_EQ(Count(placed_epoch, placement, why, resume, placed_threads, isa, placed_on, placed_leg),
            pb::RunPlaced::descriptor()->field_count());
  const auto& [rank, node, slot, process, joins] = Placement{};
  EXPECT_EQ(Count(rank, node, slot, process, joins), pb::Placement::descriptor()->field_count());
  const auto& [joins_epoch, joins_at, joins_why] = JoinerPlaced{};
  EXPECT_EQ(Count(joins_epoch, joins_at, joins_why), pb::JoinerPlaced::descriptor()->field_count());
  const auto& [resized_to] = RunResized{};
  EXPECT_EQ(Count(resized_to), pb::RunResized::descriptor()->field_count());
  const auto& [left_epoch, left_rank, left_cause, left_failed, left_why] = JoinerLeft{};
  EXPECT_EQ(Count(left_epoch, left_rank, left_cause, left_failed, left_why),
            pb::JoinerLeft::descriptor()->field_count());
  const auto& [ready_epoch, addresses, nonce, ready_isa, kernels, encrypted] = RunGroupReady{};
  EXPECT_EQ(Count(ready_epoch, addresses, nonce, ready_isa, kernels, encrypted),
            pb::RunGroupReady::descriptor()->field_count());
  const auto& [failed_epoch, failed_rank, cause, message, retry, retry_at, reader, passes_over,
               own_exit, failed_step] = RankFailed{};
  EXPECT_EQ(Count(failed_epoch, failed_rank, cause, message, retry, retry_at, reader, passes_over,
                  own_exit, failed_step),
            pb::RankFailed::descriptor()->field_count());
  const auto& [step, written_to, manifest, size, loss, final, end_reason] =
      contract::WrittenCheckpoint{};
  // The epoch and the leg come from the event, not from WrittenCheckpoint.
  EXPECT_EQ(2 + Count(step, written_to, manifest, size, loss, final, end_reason),
            pb::CheckpointSealed::descriptor()->field_count());
  const auto& [set_labels, removed_labels, note] = RunAnnotated{};
  EXPECT_EQ(Count(set_labels, removed_labels, note), pb::RunAnnotated::descriptor()->field_count());
  const auto& [end_state, ended_why, set_aside] = RunEnded{};
  EXPECT_EQ(Count(end_state, ended_why, set_aside), pb::RunEnded::descriptor()->field_count());
  const auto& [now, cancel_why] = CancelRequested{};
  EXPECT_EQ(Count(now, cancel_why), pb::CancelRequested::descriptor()->field_count());
  const auto& [requeued_epoch, requeued_why] = RunRequeued{};
  EXPECT_EQ(Count(requeued_epoch, requeued_why), pb::RunRequeued::descriptor()->field_count());
  const auto& [draining_epoch, drained_why] = RunDraining{};
  EXPECT_EQ(Count(draining_epoch, drained_why), pb::RunDraining::descriptor()->field_count());
  const auto& [next_epoch, members, member_addresses, next_nonce, next_why, next_failed] =
      RunReconfigured{};
  EXPECT_EQ(Count(next_epoch, members, member_addresses, next_nonce, next_why, next_failed),
            pb::RunReconfigured::descriptor()->field_count());
  const auto& [cordoned, node_name, drain, cordoned_why] = NodeCordoned{};
  EXPECT_EQ(Count(cordoned, node_name, drain, cordoned_why),
            pb::NodeCordoned::descriptor()->field_count());
  const auto& [uncordoned] = NodeUncordoned{};
  EXPECT_EQ(Count(uncordoned), pb::NodeUncordoned::descriptor()->field_count());
  const auto& [paused_why] = RunPaused{};
  EXPECT_EQ(Count(paused_why), pb::RunPaused::descriptor()->field_count());
  const auto& [leg_submission, first_step, leg_why] = LegRequested{};
  EXPECT_EQ(Count(leg_submission, first_step, leg_why),
            pb::LegRequested::descriptor()->field_count());
  const auto& [verified_step, text] = CheckpointVerified{};
  EXPECT_EQ(Count(verified_step, text), pb::CheckpointVerified::descriptor()->field_count());
  const auto& [damaged_step, damage, lost, damaged_epoch] = CheckpointDamaged{};
  EXPECT_EQ(Count(damaged_step, damage, lost, damaged_epoch),
            pb::CheckpointDamaged::descriptor()->field_count());
  const auto& [restored_step] = CheckpointRestored{};
  EXPECT_EQ(Count(restored_step), pb::CheckpointRestored::descriptor()->field_count());
}

TEST(StoreCodec, ASweepHasAFieldForEachMember) {
  const auto& [name, space, source, run_source, digest, parallel, early_stop, trials] = SweepSpec{};
  EXPECT_EQ(Count(name, space, source, run_source, digest, parallel, early_stop, trials),
            pb::SweepSubmitted::descriptor()->field_count());
  const auto& [kind, min_steps, eta, rungs] = early_stop;
  EXPECT_EQ(Count(kind, min_steps, eta, rungs), pb::EarlyStop::descriptor()->field_count());
  const auto& [run, keys, submission, rung_tokens] = SweepTrial{};
  // The request id is a member of the submission.
  EXPECT_EQ(1 + Count(run, keys, submission, rung_tokens),
            pb::SweepTrial::descriptor()->field_count());
}

TEST(StoreCodec, ASweepIsReadAsItWasWritten) {
  for (const Event& event : OneOfEachSweepKind()) {
    const auto decoded = DecodeRecord(EncodeRecord(7, event));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(Kind(decoded->event), Kind(event));
    EXPECT_EQ(EncodeRecord(7, decoded->event), EncodeRecord(7, event));
    const auto* submitted = std::get_if<SweepSubmitted>(&decoded->event.body);
    if (submitted == nullptr) continue;
    EXPECT_EQ(*submitted->spec, SampleSweep());
  }
}

TEST(StoreCodec, APointAndALineHaveAFieldForEachMember) {
  const auto& [step, tokens, loss, rate, norm, speed, mfu, seconds, validation, scores, epoch,
               skipped, phases, peak, source, waited, target, warning, at] =
      contract::TrainingPoint{};
  const auto& [wait, forward, backward, exposed, optimizer, other] = phases;
  EXPECT_EQ(Count(step, tokens, loss, rate, norm, speed, mfu, seconds, validation, scores, epoch,
                  skipped, peak, source, waited, target, warning, at) +
                Count(wait, forward, backward, exposed, optimizer, other),
            pb::StoredPoint::descriptor()->field_count());
  const auto& [sequence, line_at, rank, line_epoch, text, agent, agent_sequence] = Line{};
  EXPECT_EQ(Count(sequence, line_at, rank, line_epoch, text, agent, agent_sequence),
            pb::StoredLine::descriptor()->field_count());
}

TEST(StoreCodec, ASummaryHasAFieldForEachMember) {
  const auto& [points_bytes, lines_bytes, progress, last_line, sources] = RunSummary{};
  const auto& [newest, loss, step, best_loss, best_step, not_stored_best_known, warning, skipped,
               epochs, scores, steps, tokens, flops, pace] = progress;
  // The members of Progress are stored as fields of the summary itself.
  EXPECT_EQ(Count(points_bytes, lines_bytes, last_line, sources) +
                Count(newest, loss, step, best_loss, best_step, warning, skipped, epochs, scores,
                      steps, tokens, flops, pace),
            pb::StoredSummary::descriptor()->field_count());
  const auto& [taken, wall, step_seconds, trained, share, phases, waited, waited_of] = pace.sums();
  EXPECT_EQ(Count(taken, wall, step_seconds, trained, share, waited, waited_of) +
                Count(phases.data_wait, phases.forward, phases.backward, phases.allreduce_exposed,
                      phases.optimizer, phases.other),
            pb::StoredPace::descriptor()->field_count());
  const auto& [epoch, first_step, last_step, first_at, caught_up_at] = EpochStart{};
  EXPECT_EQ(Count(epoch, first_step, last_step, first_at, caught_up_at),
            pb::EpochStart::descriptor()->field_count());
}

// Each stored field sets the member of the same meaning, so records of older versions keep their
// meaning.
TEST(StoreCodec, ARecordOfAnOlderVersionIsReadByItsNames) {
  pb::Record record;
  record.set_sequence(4);
  record.set_run_id("r");
  pb::RunSubmitted& submitted = *record.mutable_run_submitted();
  submitted.set_target_steps(100);
  submitted.set_target_tokens(200);
  submitted.set_retry_backoff_us(300);
  submitted.set_retry_backoff_max_us(400);
  submitted.set_keep_last(5);
  submitted.set_retries_max(6);
  submitted.set_device("gpu");
  const auto decoded = DecodeRecord(record.SerializeAsString());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const Submission& submission = std::get<RunSubmitted>(decoded->event.body).submission;
  EXPECT_EQ(submission.target_steps, 100);
  EXPECT_EQ(submission.target_tokens, 200);
  EXPECT_EQ(submission.retry_backoff.count(), 300);
  EXPECT_EQ(submission.retry_backoff_max.count(), 400);
  EXPECT_EQ(submission.keep_last, 5);
  EXPECT_EQ(submission.retries_max, 6);
  EXPECT_EQ(submission.device, Device::kGpu);
}

}  // namespace
}  // namespace gp::coordinator
