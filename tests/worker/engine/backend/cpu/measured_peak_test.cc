#include "worker/engine/backend/cpu/measured_peak.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

TEST(MeasuredPeak, IsPositive) { EXPECT_GT(MeasurePeakFlops(Isa::kAuto, 1, 0.01), 1e8); }

TEST(MeasuredPeak, OfTilesIsPositive) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  EXPECT_GT(MeasureTilePeakFlops(TwinTiles(), 2, 0.01), 1e8);
}

}  // namespace
}  // namespace gp::engine
