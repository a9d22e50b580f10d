#include "coordinator/telemetry/run_log_codec.h"

#include "gp/store/v1/run_log.pb.h"

namespace gp::coordinator {
namespace {

namespace pb = ::gp::store::v1;

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

pb::StoredPoint ToStored(const Point& point) {
  pb::StoredPoint stored;
  stored.set_step(point.step);
  stored.set_epoch(point.epoch);
  stored.set_tokens(point.tokens);
  stored.set_loss(point.loss);
  stored.set_learning_rate(point.learning_rate);
  stored.set_gradient_norm(point.gradient_norm);
  stored.set_tokens_per_second(point.tokens_per_second);
  stored.set_mfu(point.mfu);
  stored.set_step_seconds(point.step_seconds);
  if (point.validation_loss) stored.set_validation_loss(*point.validation_loss);
  stored.set_at_us(point.at.time_since_epoch().count());
  stored.set_data_wait_seconds(point.data_wait_seconds);
  stored.set_forward_seconds(point.forward_seconds);
  stored.set_backward_seconds(point.backward_seconds);
  stored.set_allreduce_exposed_seconds(point.allreduce_exposed_seconds);
  stored.set_optimizer_seconds(point.optimizer_seconds);
  stored.set_other_seconds(point.other_seconds);
  stored.set_skipped(point.skipped);
  stored.set_target_steps(point.target_steps);
  stored.set_peak_flops(point.peak_flops);
  stored.set_peak_source(point.peak_source);
  stored.set_warning(point.warning);
  for (const auto& [name, value] : point.scores) (*stored.mutable_scores())[name] = value;
  return stored;
}

Point FromStored(const pb::StoredPoint& stored) {
  Point point;
  point.step = stored.step();
  point.epoch = stored.epoch();
  point.tokens = stored.tokens();
  point.loss = stored.loss();
  point.learning_rate = stored.learning_rate();
  point.gradient_norm = stored.gradient_norm();
  point.tokens_per_second = stored.tokens_per_second();
  point.mfu = stored.mfu();
  point.step_seconds = stored.step_seconds();
  if (stored.has_validation_loss()) point.validation_loss = stored.validation_loss();
  point.at = FromMicros(stored.at_us());
  point.data_wait_seconds = stored.data_wait_seconds();
  point.forward_seconds = stored.forward_seconds();
  point.backward_seconds = stored.backward_seconds();
  point.allreduce_exposed_seconds = stored.allreduce_exposed_seconds();
  point.optimizer_seconds = stored.optimizer_seconds();
  point.other_seconds = stored.other_seconds();
  point.skipped = stored.skipped();
  point.target_steps = stored.target_steps();
  point.peak_flops = stored.peak_flops();
  point.peak_source = stored.peak_source();
  point.warning = stored.warning();
  for (const auto& [name, value] : stored.scores()) point.scores[name] = value;
  return point;
}

pb::StoredPace ToStored(const Pace::Sums& sums) {
  pb::StoredPace stored;
  stored.set_steps(sums.steps);
  stored.set_wall_seconds(sums.wall_seconds);
  stored.set_step_seconds(sums.step_seconds);
  stored.set_tokens(sums.tokens);
  stored.set_flops_share(sums.flops_share);
  const auto [data_wait, forward, backward, allreduce, optimizer, other] = sums.phase_seconds;
  stored.set_data_wait_seconds(data_wait);
  stored.set_forward_seconds(forward);
  stored.set_backward_seconds(backward);
  stored.set_allreduce_exposed_seconds(allreduce);
  stored.set_optimizer_seconds(optimizer);
  stored.set_other_seconds(other);
  return stored;
}

Pace FromStored(const pb::StoredPace& stored) {
  return Pace({.steps = stored.steps(),
               .wall_seconds = stored.wall_seconds(),
               .step_seconds = stored.step_seconds(),
               .tokens = stored.tokens(),
               .flops_share = stored.flops_share(),
               .phase_seconds = {stored.data_wait_seconds(), stored.forward_seconds(),
                                 stored.backward_seconds(), stored.allreduce_exposed_seconds(),
                                 stored.optimizer_seconds(), stored.other_seconds()}});
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

std::string EncodePoint(const Point& point) { return ToStored(point).SerializeAsString(); }

std::optional<Point> DecodePoint(std::string_view bytes) {
  pb::StoredPoint stored;
  if (!Parse(bytes, stored)) return std::nullopt;
  return FromStored(stored);
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
  if (progress.newest) *stored.mutable_newest() = ToStored(*progress.newest);
  if (progress.validation_loss) stored.set_validation_loss(*progress.validation_loss);
  stored.set_validation_step(progress.validation_step);
  stored.set_warning(progress.warning);
  stored.set_skipped_steps(progress.skipped_steps);
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
  *stored.mutable_pace() = ToStored(progress.pace.sums());
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
  if (stored.has_newest()) progress.newest = FromStored(stored.newest());
  if (stored.has_validation_loss()) progress.validation_loss = stored.validation_loss();
  progress.validation_step = stored.validation_step();
  progress.warning = stored.warning();
  progress.skipped_steps = stored.skipped_steps();
  for (const pb::EpochStart& start : stored.epochs()) {
    progress.epochs.push_back(FromStored(start));
  }
  for (const pb::StoredScore& score : stored.scores()) {
    progress.scores[score.name()] = {score.value(), score.step()};
  }
  progress.steps_taken = stored.steps_taken();
  progress.tokens_taken = stored.tokens_taken();
  progress.flops_taken = stored.flops_taken();
  progress.pace = FromStored(stored.pace());
  summary.last_line = stored.last_line();
  for (const auto& [source, sequence] : stored.source_sequences()) {
    summary.sources[source] = sequence;
  }
  return summary;
}

}  // namespace gp::coordinator
