#include "plan/training_plan.h"

#include <algorithm>
#include <bit>
#include <string>

namespace gp::runspec {
namespace {

// The number of maximal aligned subtrees that cover the shards [first, first + count).
int Subtrees(int first, int count) {
  int subtrees = 0;
  while (count > 0) {
    const auto fits = static_cast<int>(std::bit_floor(static_cast<unsigned>(count)));
    const int size = first == 0 ? fits : std::min(first & -first, fits);
    first += size;
    count -= size;
    ++subtrees;
  }
  return subtrees;
}

// A device computes one matrix at a time, a CPU one on each thread.
void AddMuonScratch(const ModelShape& shape, const ArenaOptions& arena, ArenaPlan& plan) {
  const int64_t lanes = arena.on_gpu ? 1 : arena.threads;
  plan.Append("muon.scratch", "fp32", {lanes, MuonLaneCount(shape)});
}

// Adds the buffers that the optimizer needs besides its two moments.
void AddOptimizerScratch(const TrainingOptions& options, const ModelShape& shape, ArenaPlan& plan) {
  switch (options.optimizer) {
    case OptimizerKind::kAdamW:
      return;
    case OptimizerKind::kMuon:
      return AddMuonScratch(shape, options.arena, plan);
  }
}

// Whole cache lines.
int64_t AlignFloats(int64_t count) { return (count + 15) / 16 * 16; }

// Elements of the last rank's part. It is the largest part, because the boundaries between parts
// are rounded down to whole cache lines.
int64_t MomentCount(int64_t parameters, int parts) {
  constexpr int64_t kLine = 16;
  return parameters - parameters * (parts - 1) / parts / kLine * kLine;
}

}  // namespace

int GradientBuffers(int first, int count) {
  int most = 1;
  for (int done = 1; done < count; ++done) most = std::max(most, Subtrees(first, done) + 1);
  return std::max(most, Subtrees(first, count));
}

int64_t StepScalarBytes(int owned_shards) {
  const int64_t bytes = (owned_shards + 2) * static_cast<int64_t>(sizeof(double));
  return (bytes + 63) / 64 * 64;
}

int64_t MuonMatrixCount(const ModelShape& shape) {
  return AlignFloats(4 * shape.channels * shape.channels);
}
int64_t MuonSquareCount(const ModelShape& shape) {
  return AlignFloats(shape.channels * shape.channels);
}
int64_t MuonLaneCount(const ModelShape& shape) {
  return 2 * MuonMatrixCount(shape) + 5 * MuonSquareCount(shape);
}

ArenaPlan MakeTrainingPlan(const ModelShape& shape, const TrainingOptions& options) {
  ArenaPlan plan = MakeArenaPlan(shape, options.arena);
  const int64_t parameters = MakeParameterLayout(shape).total_count;
  const int gradients = GradientBuffers(options.first_shard, options.owned_shards);
  for (int i = 0; i < gradients; ++i) {
    plan.Append("gradients." + std::to_string(i), "fp32", {parameters});
  }
  const int64_t moments = MomentCount(parameters, options.moment_parts);
  plan.Append("first_moment", "fp32", {moments});
  plan.Append("second_moment", "fp32", {moments});
  AddOptimizerScratch(options, shape, plan);
  plan.Append("step_scalars", "bytes", {StepScalarBytes(options.owned_shards)});
  if (options.arena.on_gpu) return plan;
  plan.Append("step_scalars.read", "bytes", {StepScalarBytes(options.owned_shards)});
  plan.Append("batch.tokens", "int32", {options.arena.micro_batch, options.arena.sequence});
  plan.Append("batch.targets", "int32", {options.arena.micro_batch, options.arena.sequence});
  // A snapshot never needs more than the state itself.
  const int64_t state_bytes = 3 * parameters * static_cast<int64_t>(sizeof(float));
  const int64_t snapshot_bytes = std::min(options.snapshot_bytes, state_bytes);
  if (snapshot_bytes > 0) plan.Append("snapshot", "bytes", {snapshot_bytes});
  return plan;
}

int64_t TrainingBytes(const ModelShape& shape, const TrainingOptions& options) {
  return MakeTrainingPlan(shape, options).total_bytes;
}

}  // namespace gp::runspec
