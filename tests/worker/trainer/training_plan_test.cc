// Goal: a trainer allocates exactly what is planned, to the byte, for all switches and optimizers,
// whatever shards it owns.
#include "plan/training_plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "plan/memory_forecast.h"
#include "worker/trainer/tiny_run.h"

namespace gp::engine {
namespace {

void ExpectAllocatesThePlan(const runspec::RunSpec& spec, int shards, int rank, int workers) {
  auto group = MakeLocalGroup(workers, shards);
  const ShardRange owned = OwnedShards(shards, rank, workers);
  const runspec::TrainingOptions options =
      runspec::TrainingOptionsOf(spec, 2, owned.first, owned.count);
  runspec::BatchPlan plan = TinyPlan();
  plan.logical_shards = shards;
  const auto model = MakeLanguageModel(ModelOptionsOf(spec, 2));
  const TrainingStep training_step(spec, plan, *model, FillTiny, *group[static_cast<size_t>(rank)],
                                   SystemClock());
  EXPECT_EQ(model->backend().allocated_bytes(), runspec::TrainingBytes(spec.model, options))
      << shards << " shards, rank " << rank << " of " << workers;
}

runspec::RunSpec WithoutSnapshot() {
  runspec::RunSpec spec = TinySpec();
  spec.checkpoint.snapshot_memory = 0;
  return spec;
}

TEST(TrainingPlan, IsAllocatedWhateverTheShards) {
  const runspec::RunSpec spec = WithoutSnapshot();
  for (const int shards : {1, 2, 4, 8}) {
    for (int workers = 1; workers <= std::min(shards, 5); ++workers) {
      for (int rank = 0; rank < workers; ++rank) {
        ExpectAllocatesThePlan(spec, shards, rank, workers);
      }
    }
  }
}

TEST(TrainingPlan, IsAllocatedWhateverTheSwitches) {
  using Change = std::function<void(runspec::RunSpec&)>;
  const std::vector<Change> changes = {
      [](runspec::RunSpec& s) { s.engine.kind = runspec::EngineKind::kEager; },
      [](runspec::RunSpec& s) { s.precision = runspec::Precision::kBf16; },
      [](runspec::RunSpec& s) {
        s.precision = runspec::Precision::kBf16;
        s.engine.residual = runspec::ResidualType::kBf16;
      },
      [](runspec::RunSpec& s) { s.engine.recompute = runspec::Recompute::kGelu; },
      [](runspec::RunSpec& s) { s.engine.recompute = runspec::Recompute::kBlock; },
      [](runspec::RunSpec& s) { s.engine.chunked_head = 5; },
      [](runspec::RunSpec& s) { s.engine.attention = runspec::Attention::kMath; },
      [](runspec::RunSpec& s) { s.model.tied_head = false; },
      [](runspec::RunSpec& s) { s.optimizer.kind = runspec::OptimizerKind::kMuon; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    runspec::RunSpec spec = WithoutSnapshot();
    changes[i](spec);
    ExpectAllocatesThePlan(spec, 2, 0, 1);
  }
}

}  // namespace
}  // namespace gp::engine
