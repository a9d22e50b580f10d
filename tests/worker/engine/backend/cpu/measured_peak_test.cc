#include "worker/engine/backend/cpu/measured_peak.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

TEST(MeasuredPeak, IsPositive) { EXPECT_GT(MeasurePeakFlops(Isa::kAuto, 1, 0.01), 1e8); }

}  // namespace
}  // namespace gp::engine
