#include "worker/bench/step_bench.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gp::engine {
namespace {

TEST(StepBench, TrainsOnItsBatch) {
  runspec::ModelShape shape{.layers = 1, .heads = 2, .channels = 16, .context = 8};
  shape.vocabulary = shape.vocabulary_padded = 32;
  StepBench bench({.shape = shape, .micro_batch = 2, .sequence = 8});
  bench.Step();
  const double first = bench.loss();
  EXPECT_NEAR(first, std::log(32), 0.1);
  for (int i = 0; i < 20; ++i) EXPECT_GT(bench.Step().total_ms(), 0);
  EXPECT_LT(bench.loss(), first);
}

}  // namespace
}  // namespace gp::engine
