// Goal: a run that trains parts of its model never changes the other parts, includes their
// gradients neither in the norm nor in the all-reduce, and gives the same bits for every number of
// ranks and after a resume.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "worker/engine/fakes/overlapping_communicator.h"
#include "worker/trainer/tiny_run.h"

namespace gp::engine {
namespace {

constexpr int64_t kFrozenSteps = 6;

using Names = std::vector<std::string>;

// The top; the bottom; both ends; a block between frozen ones; only ln_f.
std::vector<Names> SomeParts() {
  return {{"last 1 block", "ln_f"}, {"wte", "wpe"}, {"wpe", "ln_f"}, {"block 1"}, {"ln_f"}};
}

runspec::RunSpec SpecThatTrains(const Names& train) {
  runspec::RunSpec spec = TinySpec();
  spec.model.layers = 3;
  spec.train = train;
  return spec;
}

bool EqualBits(const std::vector<float>& left, const std::vector<float>& right) {
  return left.size() == right.size() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

TEST(FrozenTraining, GivesTheSameBitsForAnyNumberOfRanks) {
  for (const Names& train : SomeParts()) {
    const std::vector<float> alone = TrainTinyGroup(1, kFrozenSteps, SpecThatTrains(train))[0];
    for (const int world_size : {2, 3, 4}) {
      for (const auto& parameters :
           TrainTinyGroup(world_size, kFrozenSteps, SpecThatTrains(train))) {
        EXPECT_TRUE(EqualBits(parameters, alone)) << train[0] << ", world size " << world_size;
      }
    }
  }
}

TEST(FrozenTraining, GivesTheSameBitsWhenPiecesAreReducedWhileBackwardRuns) {
  for (const Names& train : SomeParts()) {
    const std::vector<float> expected = TrainTinyGroup(1, kFrozenSteps, SpecThatTrains(train))[0];
    for (const size_t elements : {1, 700}) {
      auto group = MakeLocalGroup(2, TinyPlan().logical_shards);
      OnEachRank(group, [&](size_t rank) {
        OverlappingCommunicator overlapping(*group[rank], elements);
        TinyRank member(overlapping, SpecThatTrains(train));
        member.RunSteps(kFrozenSteps);
        EXPECT_TRUE(EqualBits(member.Parameters(), expected)) << train[0];
      });
    }
  }
}

TEST(FrozenTraining, ChangesNoBitOfWhatIsFrozenAndKeepsItsMomentsZero) {
  for (const Names& train : SomeParts()) {
    auto group = MakeLocalGroup(1, TinyPlan().logical_shards);
    TinyRank rank(*group[0], SpecThatTrains(train));
    const std::vector<float> before = rank.Parameters();
    rank.RunSteps(kFrozenSteps);
    const std::vector<float> after = rank.Parameters();
    Optimizer& optimizer = rank.training_step().optimizer();
    for (const runspec::ParameterInfo& tensor : rank.model().layout().tensors) {
      bool changed = false, moved = false;
      for (auto i = static_cast<size_t>(tensor.offset);
           i < static_cast<size_t>(tensor.offset + tensor.count); ++i) {
        changed |= before[i] != after[i];
        moved |= optimizer.first_moment()[i] != 0 || optimizer.second_moment()[i] != 0;
      }
      EXPECT_EQ(changed, tensor.trained) << train[0] << ": " << tensor.name;
      EXPECT_EQ(moved, tensor.trained) << train[0] << ": " << tensor.name;
    }
  }
}

// The first steps of two runs that train complementary parts: together, their gradients are the
// gradient of a run that trains everything.
TEST(FrozenTraining, MeasuresTheNormOfTheTrainedPartsAlone) {
  const auto norm = [](const Names& train) {
    auto group = MakeLocalGroup(1, TinyPlan().logical_shards);
    TinyRank rank(*group[0], SpecThatTrains(train));
    return rank.RunSteps(1)[0].gradient_norm;
  };
  const double top = norm({"last 2 blocks", "ln_f"});
  const double rest = norm({"wte", "wpe", "block 0"});
  // The sums are in double, and the fp32 products round in the same way.
  EXPECT_NEAR(std::hypot(top, rest) / norm({}), 1, 1e-12);
}

TEST(FrozenTraining, GoesOnFromACopyOfTheStateAsIfItHadNotStopped) {
  runspec::RunSpec spec = SpecThatTrains({"block 1", "ln_f"});
  spec.precision = runspec::Precision::kBf16;
  spec.engine.stochastic_rounding = true;
  auto group = MakeLocalGroup(1, TinyPlan().logical_shards);
  TinyRank whole(*group[0], spec), resumed(*group[0], spec);
  whole.RunSteps(3);
  const auto copy = [](std::span<float> from, std::span<float> to) {
    std::copy(from.begin(), from.end(), to.begin());
  };
  Optimizer& from = whole.training_step().optimizer();
  Optimizer& to = resumed.training_step().optimizer();
  copy(whole.model().parameters(), resumed.model().parameters());
  copy(from.first_moment(), to.first_moment());
  copy(from.second_moment(), to.second_moment());
  to.set_updates(from.updates());
  resumed.model().ParametersChanged();
  to.RefreshWorkingCopy(resumed.model());
  resumed.training_step().ResumeAfter(3);
  whole.RunSteps(3);
  resumed.RunSteps(3);
  EXPECT_TRUE(EqualBits(whole.Parameters(), resumed.Parameters()));
}

TEST(FrozenTraining, WithMuonGivesTheSameBitsForAnyNumberOfRanks) {
  runspec::RunSpec spec = SpecThatTrains({"block 1", "wpe"});
  spec.optimizer.kind = runspec::OptimizerKind::kMuon;
  const std::vector<float> alone = TrainTinyGroup(1, kFrozenSteps, spec)[0];
  EXPECT_TRUE(EqualBits(TrainTinyGroup(3, kFrozenSteps, spec)[1], alone));
}

}  // namespace
}  // namespace gp::engine
