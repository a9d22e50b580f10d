#include "worker/agent/convert.h"

namespace gp::agent {
namespace {

void Fill(v1::PhaseSeconds& out, const link::Phases& phases) {
  out.set_data_wait(phases.data_wait);
  out.set_forward(phases.forward);
  out.set_backward(phases.backward);
  out.set_allreduce_exposed(phases.allreduce_exposed);
  out.set_optimizer(phases.optimizer);
  out.set_other(phases.other);
}

}  // namespace

v1::WrittenCheckpoint ToProto(const link::WrittenCheckpoint& written) {
  v1::WrittenCheckpoint out;
  out.set_step(written.step);
  out.set_directory(written.directory);
  out.set_manifest_digest(written.manifest_digest);
  out.set_size_bytes(written.size_bytes);
  if (written.validation_loss) out.set_validation_loss(*written.validation_loss);
  out.set_final(written.final);
  out.set_end_reason(written.end_reason.value_or(""));
  return out;
}

v1::EngineOffer ToProto(const link::Listening& listening) {
  v1::EngineOffer out;
  for (const std::string& level : listening.isa_levels.value_or(std::vector<std::string>())) {
    out.add_isa_levels(level);
  }
  if (listening.kernels) {
    out.mutable_kernels()->insert(listening.kernels->begin(), listening.kernels->end());
  }
  out.set_nccl_id(listening.nccl_id.value_or(""));
  return out;
}

v1::MetricPoint ToProto(const link::StepReport& report) {
  v1::MetricPoint point;
  point.set_step(report.step);
  point.set_epoch(report.epoch);
  point.set_tokens(report.tokens);
  point.set_loss(report.loss);
  point.set_learning_rate(report.learning_rate);
  point.set_gradient_norm(report.gradient_norm);
  point.set_tokens_per_second(report.tokens_per_second);
  point.set_mfu(report.mfu);
  point.set_step_seconds(report.step_seconds);
  if (report.validation_loss) point.set_validation_loss(*report.validation_loss);
  point.mutable_at()->set_seconds(report.at_us / 1'000'000);
  point.mutable_at()->set_nanos(static_cast<int32_t>(report.at_us % 1'000'000 * 1000));
  Fill(*point.mutable_phases(), report.phases);
  point.set_skipped(report.skipped);
  point.set_target_steps(report.target_steps.value_or(0));
  point.set_peak_flops(report.peak_flops.value_or(0));
  point.set_peak_source(report.peak_source.value_or(""));
  point.set_warning(report.warning.value_or(""));
  for (const auto& [name, value] : report.scores.value_or(std::map<std::string, double>())) {
    v1::Score& score = *point.add_scores();
    score.set_name(name);
    score.set_value(value);
  }
  return point;
}

link::Start ToStart(const v1::Assignment& assignment, const std::string& data_address, int cores) {
  link::Start start;
  start.run_id = assignment.run_id();
  start.run_name = assignment.run_name();
  start.epoch = assignment.epoch();
  start.rank = assignment.rank();
  start.world_size = assignment.world_size();
  start.resolved = assignment.resolved();
  start.run_directory = assignment.run_directory();
  start.data_address = data_address;
  if (assignment.has_resume()) {
    start.resume = link::ResumePoint{assignment.resume().step(), assignment.resume().directory(),
                                     assignment.resume().manifest_digest()};
  }
  const v1::EngineChoices& choices = assignment.choices();
  start.threads = choices.threads_per_rank() > 0 ? choices.threads_per_rank() : cores;
  start.logical_shards = choices.logical_shards();
  start.begun = assignment.begun();
  start.isa = choices.isa();
  start.kernels = {choices.kernels().begin(), choices.kernels().end()};
  return start;
}

link::Configure ToConfigure(const v1::Membership& membership, const v1::EngineChoices& choices,
                            uint64_t epoch, int rank) {
  link::Configure configure;
  configure.epoch = epoch;
  configure.rank = rank;
  configure.addresses = {membership.addresses().begin(), membership.addresses().end()};
  configure.secret = membership.secret();
  if (membership.encrypted()) configure.encrypted = true;
  if (!choices.isa().empty()) {
    configure.isa = choices.isa();
    configure.kernels.emplace(choices.kernels().begin(), choices.kernels().end());
  }
  if (membership.needs_nccl_id()) configure.nccl_id = membership.nccl_id();
  return configure;
}

}  // namespace gp::agent
