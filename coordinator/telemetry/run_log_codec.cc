#include "coordinator/telemetry/run_log_codec.h"

#include <cmath>

#include "gp/store/v1/run_log.pb.h"
#include "rpc/message_fields.h"

namespace gp::coordinator {
namespace {

namespace pb = ::gp::store::v1;
using contract::TrainingPoint;

Timestamp FromMicros(int64_t micros) { return Timestamp(std::chrono::microseconds(micros)); }

template <typename Message>
bool Parse(std::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

pb::StoredScore ToStored(const std::string& name, const Score& score) {
  pb::StoredScore stored;
  stored.set_name(name);
  stored.set_value(score.value);
  stored.set_step(score.step);
  return stored;
}

EpochStart FromStored(const pb::EpochStart& stored) {
  EpochStart start;
  start.epoch = stored.epoch();
  start.first_step = stored.first_step();
  start.last_step = stored.last_step();
  start.first_at = FromMicros(stored.first_at_us());
  if (stored.has_caught_up_at_us()) start.caught_up_at = FromMicros(stored.caught_up_at_us());
  return start;
}

}  // namespace

std::string EncodePoint(const TrainingPoint& point) {
  pb::StoredPoint stored;
  rpc::WriteFields(point, stored);
  return stored.SerializeAsString();
}

std::optional<TrainingPoint> DecodePoint(std::string_view bytes) {
  pb::StoredPoint stored;
  if (!Parse(bytes, stored)) return std::nullopt;
  return rpc::ReadFields<TrainingPoint>(stored);
}

std::string EncodeLine(const Line& line) {
  pb::StoredLine stored;
  stored.set_sequence(line.sequence);
  stored.set_at_us(line.at.time_since_epoch().count());
  stored.set_rank(line.rank);
  stored.set_epoch(line.epoch);
  stored.set_text(line.text);
  stored.set_source(line.source);
  stored.set_source_sequence(line.source_sequence);
  return stored.SerializeAsString();
}

std::optional<Line> DecodeLine(std::string_view bytes) {
  pb::StoredLine stored;
  if (!Parse(bytes, stored)) return std::nullopt;
  return Line{
      stored.sequence(), FromMicros(stored.at_us()), stored.rank(), stored.epoch(), stored.text(),
      stored.source(),   stored.source_sequence()};
}

std::string EncodeSummary(const RunSummary& summary) {
  const Progress& progress = summary.progress;
  pb::StoredSummary stored;
  stored.set_points_bytes(summary.points_bytes);
  stored.set_lines_bytes(summary.lines_bytes);
  if (progress.newest) rpc::WriteFields(*progress.newest, *stored.mutable_newest());
  if (progress.validation_loss) stored.set_validation_loss(*progress.validation_loss);
  stored.set_validation_step(progress.validation_step);
  if (progress.best_known && progress.validation_loss) {
    stored.set_best_validation_loss(progress.best_validation_loss.value_or(std::nan("")));
    stored.set_best_validation_step(progress.best_validation_step);
  }
  stored.set_warning(progress.warning);
  stored.set_skipped_steps(progress.skipped_steps);
  stored.set_skipped_spikes(progress.skipped_spikes);
  for (const EpochStart& start : progress.epochs) {
    pb::EpochStart& to = *stored.add_epochs();
    to.set_epoch(start.epoch);
    to.set_first_step(start.first_step);
    to.set_last_step(start.last_step);
    to.set_first_at_us(start.first_at.time_since_epoch().count());
    if (start.caught_up_at) to.set_caught_up_at_us(start.caught_up_at->time_since_epoch().count());
  }
  for (const auto& [name, score] : progress.scores) *stored.add_scores() = ToStored(name, score);
  stored.set_steps_taken(progress.steps_taken);
  stored.set_tokens_taken(progress.tokens_taken);
  stored.set_flops_taken(progress.flops_taken);
  rpc::WriteFields(progress.pace.sums(), *stored.mutable_pace());
  stored.set_last_line(summary.last_line);
  for (const auto& [source, sequence] : summary.sources) {
    (*stored.mutable_source_sequences())[source] = sequence;
  }
  return stored.SerializeAsString();
}

std::optional<RunSummary> DecodeSummary(std::string_view bytes) {
  pb::StoredSummary stored;
  if (!Parse(bytes, stored)) return std::nullopt;
  RunSummary summary;
  summary.points_bytes = stored.points_bytes();
  summary.lines_bytes = stored.lines_bytes();
  Progress& progress = summary.progress;
  if (stored.has_newest()) progress.newest = rpc::ReadFields<TrainingPoint>(stored.newest());
  if (stored.has_validation_loss()) progress.validation_loss = stored.validation_loss();
  progress.validation_step = stored.validation_step();
  progress.best_known = stored.has_best_validation_loss() || !stored.has_validation_loss();
  if (stored.has_best_validation_loss() && !std::isnan(stored.best_validation_loss())) {
    progress.best_validation_loss = stored.best_validation_loss();
    progress.best_validation_step = stored.best_validation_step();
  }
  progress.warning = stored.warning();
  progress.skipped_steps = stored.skipped_steps();
  progress.skipped_spikes = stored.skipped_spikes();
  for (const pb::EpochStart& start : stored.epochs()) {
    progress.epochs.push_back(FromStored(start));
  }
  for (const pb::StoredScore& score : stored.scores()) {
    progress.scores[score.name()] = {score.value(), score.step()};
  }
  progress.steps_taken = stored.steps_taken();
  progress.tokens_taken = stored.tokens_taken();
  progress.flops_taken = stored.flops_taken();
  progress.pace = Pace(rpc::ReadFields<Pace::Sums>(stored.pace()));
  summary.last_line = stored.last_line();
  for (const auto& [source, sequence] : stored.source_sequences()) {
    summary.sources[source] = sequence;
  }
  return summary;
}

}  // namespace gp::coordinator
