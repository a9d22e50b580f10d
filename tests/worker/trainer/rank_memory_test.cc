// Goal: ranks that share memory either all fit or none starts; a run that can never fit fails
// permanently, and one that lacks memory only because others use it is retried.
#include "worker/trainer/rank_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "plan/memory_forecast.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/step/training_error.h"
#include "worker/trainer/tiny_run.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

int64_t NeedOf(int workers) {
  return runspec::ForecastMemory(TinySpec(), TinyPlan(), 1, workers).total_bytes();
}

MachineMemory Memory(int64_t free, int64_t limit) {
  return {{.bytes = free, .limit = "MemAvailable"}, {.bytes = limit, .limit = "MemTotal"}};
}

// The exit cause of each rank of a group; kCompleted means that it would continue.
std::vector<ExitCause> Causes(const std::vector<MachineMemory>& memories) {
  auto group = MakeLocalGroup(static_cast<int>(memories.size()), TinyPlan().logical_shards);
  std::vector<ExitCause> causes(memories.size(), ExitCause::kCompleted);
  OnEachRank(group, [&](size_t rank) {
    try {
      RefuseWhatDoesNotFit(TinySpec(), TinyPlan(), 1, memories[rank], *group[rank]);
    } catch (const TrainingError& error) {
      causes[rank] = error.cause();
    }
  });
  return causes;
}

std::vector<ExitCause> AllOf(size_t ranks, ExitCause cause) {
  return std::vector<ExitCause>(ranks, cause);
}

TEST(RankMemory, RanksThatFitOnTheMachineShareItsMemory) {
  const AvailableMemory machine{.bytes = 1 << 20, .limit = "MemAvailable"};
  const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(MemoryOfARank(machine, 1, 1).bytes, 1 << 20);
  EXPECT_EQ(MemoryOfARank(machine, processors, 1).bytes, (1 << 20) / processors);
  // If the ranks use more threads than this machine has processors, they must be on several
  // machines.
  EXPECT_EQ(MemoryOfARank(machine, 8, processors).bytes, 1 << 20);
  EXPECT_EQ(MemoryOfARank(machine, 8, 2 * processors).bytes, 1 << 20);
  EXPECT_EQ(MemoryOfARank(machine, 8, 0).limit, "MemAvailable");
}

TEST(RankMemory, WhatCouldNeverFitIsAMistakeOfTheRunFile) {
  const int64_t need = NeedOf(1);
  EXPECT_EQ(Causes({Memory(need - 1, need - 1)}), AllOf(1, ExitCause::kConfig));
}

TEST(RankMemory, WhatOthersHoldNowIsTriedAgain) {
  const int64_t need = NeedOf(1);
  EXPECT_EQ(Causes({Memory(need - 1, need)}), AllOf(1, ExitCause::kOutOfMemory));
  EXPECT_EQ(Causes({Memory(need, need)}), AllOf(1, ExitCause::kCompleted));
}

TEST(RankMemory, RanksOfOneMachineMustFitTogether) {
  const int64_t need = NeedOf(2);
  const auto both = [](const MachineMemory& memory) { return Causes({memory, memory}); };
  EXPECT_EQ(both(Memory(2 * need, 2 * need)), AllOf(2, ExitCause::kCompleted));
  EXPECT_EQ(both(Memory(2 * need - 2, 2 * need)), AllOf(2, ExitCause::kOutOfMemory));
  EXPECT_EQ(both(Memory(2 * need - 2, 2 * need - 2)), AllOf(2, ExitCause::kConfig));
}

// The check uses the current number of ranks, which may differ from the run file's.
TEST(RankMemory, TheGroupAsItIsCounts) {
  EXPECT_LT(NeedOf(4), NeedOf(1));
  EXPECT_EQ(Causes(std::vector<MachineMemory>(4, Memory(4 * NeedOf(4), 4 * NeedOf(4)))),
            AllOf(4, ExitCause::kCompleted));
}

TEST(RankMemory, LimitsOfTheirOwnAreNotSharedAndNobodyGoesOnAlone) {
  const int64_t need = NeedOf(2);
  MachineMemory other = Memory(need, need);
  other.limit.limit = "memory.max of /b";
  EXPECT_EQ(Causes({Memory(need, need), other}), AllOf(2, ExitCause::kCompleted));
  EXPECT_EQ(Causes({Memory(need - 1, need), other}),
            (std::vector<ExitCause>{ExitCause::kOutOfMemory, ExitCause::kCollective}));
}

TEST(RankMemory, TheMessageNamesTheLimit) {
  auto group = MakeLocalGroup(1, TinyPlan().logical_shards);
  try {
    RefuseWhatDoesNotFit(TinySpec(), TinyPlan(), 1, Memory(1, 2), *group[0]);
    FAIL() << "one byte was enough";
  } catch (const TrainingError& error) {
    EXPECT_NE(std::string(error.what()).find("(MemTotal)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace gp::engine
