// GP_SIM_SEED=N replays one seed; GP_SIM_SEEDS=N runs the seeds 1 to N.
#include "coordinator/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace gp::coordinator {
namespace {

constexpr int kChaosTurns = 800;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Simulation, EveryRunEndsAndNothingAcknowledgedIsLost) {
  const uint64_t only = FromEnvironment("GP_SIM_SEED", 0);
  const uint64_t last = only > 0 ? only : FromEnvironment("GP_SIM_SEEDS", 200);
  int kills = 0;
  int failures = 0;
  int quarantined = 0;
  int drains = 0;
  int stalls = 0;
  int promotions = 0;
  int regroups = 0;
  int joins = 0;
  for (uint64_t seed = only > 0 ? only : 1; seed <= last; ++seed) {
    SCOPED_TRACE("GP_SIM_SEED=" + std::to_string(seed));
    Simulation simulation(seed);
    simulation.Run(kChaosTurns);
    if (HasFailure()) return;
    kills += simulation.coordinator_kills();
    failures += simulation.failures();
    quarantined += simulation.quarantined();
    drains += simulation.drains();
    stalls += simulation.stalls();
    promotions += simulation.promotions();
    regroups += simulation.regroups();
    joins += simulation.joins();
  }
  EXPECT_GT(drains, 0);
  EXPECT_GT(stalls, 0);
  EXPECT_GT(promotions, 0);
  EXPECT_GT(regroups, 0);
  EXPECT_GT(joins, 0);
  RecordProperty("joins", joins);
  RecordProperty("coordinator_kills", kills);
  RecordProperty("failures", failures);
  EXPECT_GT(kills, 0);
  EXPECT_GT(failures, 0);
  EXPECT_GT(quarantined, 0);
}

TEST(Simulation, DrainsMoveRunsAndFailNone) {
  const uint64_t only = FromEnvironment("GP_SIM_SEED", 0);
  const uint64_t last = only > 0 ? only : FromEnvironment("GP_SIM_SEEDS", 50);
  int drains = 0;
  for (uint64_t seed = only > 0 ? only : 1; seed <= last; ++seed) {
    SCOPED_TRACE("GP_SIM_SEED=" + std::to_string(seed));
    Simulation simulation(seed);
    simulation.RunCalmly(kChaosTurns);
    if (HasFailure()) return;
    EXPECT_EQ(simulation.failures(), 0);
    drains += simulation.drains();
  }
  RecordProperty("drains", drains);
  EXPECT_GT(drains, 0);
}

}  // namespace
}  // namespace gp::coordinator
