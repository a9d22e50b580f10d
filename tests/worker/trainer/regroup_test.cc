// Real gp-trainer processes that lose a peer or get another one, and go on in another group
// (stability.recovery: in_place), driven over their links as by an agent.
#include <gtest/gtest.h>

#include <cstdlib>

#include "worker/trainer/test_epoch.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

constexpr int kKilled = 128 + SIGKILL;

// So many steps that a run does not end before ranks have joined it.
constexpr int64_t kManySteps = 300;

std::string RunFile(const TemporaryDirectory& directory, int64_t steps) {
  const std::string text = directory.Write("text.txt", TinyText());
  return TinyRunFile(text, steps, 6) + "stability: {recovery: in_place}\n";
}

// The weights of the run on one rank without faults.
const std::string& UndisturbedWeights(int64_t steps) {
  static std::map<int64_t, std::string> weights;
  std::string& wanted = weights[steps];
  if (wanted.empty()) {
    const TemporaryDirectory directory;
    wanted = ModelBytes(TrainWhole(directory, 1, steps).back().directory);
  }
  return wanted;
}

// The steps in metrics.jsonl, in order.
std::vector<int64_t> RecordedSteps(const TemporaryDirectory& directory) {
  std::vector<int64_t> steps;
  const auto metrics = ReadFile(directory.File("run/metrics.jsonl"));
  EXPECT_TRUE(metrics.ok()) << metrics.status();
  const std::string key = "\"step\":";
  for (size_t at = metrics->find(key); at != std::string::npos; at = metrics->find(key, at + 1)) {
    steps.push_back(std::atoll(metrics->c_str() + at + key.size()));
  }
  return steps;
}

// The ranks of a run, of which some die.
class Group {
 public:
  // kNoGo: the ranks are not told to begin, and wait for that.
  enum class Begin { kGo, kNoGo };

  Group(const TemporaryDirectory& directory, int ranks,
        const std::vector<std::string>& variables = {}, Begin begin = Begin::kGo,
        int64_t steps = kTinySteps)
      : steps_(steps),
        directory_(directory),
        run_file_(RunFile(directory, steps)),
        epoch_(directory, ranks, kTinyEpoch, {}, variables) {
    epoch_.Form(run_file_);
    for (const link::Listening& offer : epoch_.offers) addresses_.push_back(offer.address);
    if (begin == Begin::kGo) epoch_.Go();
  }

  uint64_t epoch() const { return number_; }
  int64_t steps() const { return steps_; }
  TrainerProcess& rank(size_t rank) { return *epoch_.ranks[rank]; }

  // Waits for the end of `dead`, then brings the others together.
  void Lose(size_t dead) {
    Remove(dead);
    AwaitHeld();
    Configure();
  }

  void Remove(size_t dead) {
    EXPECT_EQ(rank(dead).Wait(), kKilled);
    epoch_.ranks.erase(epoch_.ranks.begin() + static_cast<std::ptrdiff_t>(dead));
    addresses_.erase(addresses_.begin() + static_cast<std::ptrdiff_t>(dead));
  }

  // Starts processes that join, each with its variable; returns when they are ready for it.
  void StartJoiners(const std::vector<std::string>& variables) {
    const auto loaded = runspec::LoadRunFile(run_file_, "run.yaml");
    ASSERT_TRUE(loaded.spec.has_value());
    for (const std::string& variable : variables) {
      auto process = std::make_unique<TrainerProcess>(std::vector<std::string>{"--link"}, true,
                                                      std::vector<std::string>{variable});
      const auto rank = static_cast<int>(epoch_.ranks.size());
      process->Send(link::Hello{.version = "test", .incarnation = fmt::format("j{}", rank)});
      process->Send(link::Start{.run_id = "run",
                                .run_name = "tiny",
                                .epoch = number_,
                                .rank = rank,
                                .world_size = rank + 1,
                                .resolved = runspec::ResolvedYaml(*loaded.spec),
                                .run_directory = directory_.File("run"),
                                .data_address = "127.0.0.1",
                                .logical_shards = 4,
                                .joins = true});
      addresses_.push_back(process->Await<link::Listening>().address);
      EXPECT_EQ(process->Await<link::Held>().epoch, number_);
      epoch_.ranks.push_back(std::move(process));
    }
  }

  // Pauses rank 0, and so the group, some steps from now. Forgets the messages before.
  void Pause() {
    for (int i = 0; i < 4; ++i) rank(0).Await<link::StepReport>();
    rank(0).Signal(SIGSTOP);
  }

  // Configures the next group while this one is paused.
  void ConfigurePaused() {
    Configure();
    rank(0).Signal(SIGCONT);
  }

  // The last ranks leave.
  void Shrink(size_t ranks) {
    for (size_t r = ranks; r < epoch_.ranks.size(); ++r) rank(r).Signal(SIGKILL);
    epoch_.ranks.resize(ranks);
    addresses_.resize(ranks);
  }

  void AwaitHeld() {
    held_.clear();
    for (auto& rank : epoch_.ranks) held_.push_back(rank->Await<link::Held>());
  }

  void Configure() {
    ++number_;
    for (size_t r = 0; r < epoch_.ranks.size(); ++r) {
      epoch_.ranks[r]->Send(link::Configure{.epoch = number_,
                                            .rank = static_cast<int>(r),
                                            .addresses = addresses_,
                                            .secret = "another secret"});
    }
  }

  void AwaitReady() {
    for (auto& rank : epoch_.ranks) {
      EXPECT_EQ(rank->Await<link::Ready>().epoch, number_);
    }
  }

  std::vector<link::CheckpointReport> Finish() { return epoch_.Finish(); }
  const std::vector<link::Held>& held() const { return held_; }

 private:
  const int64_t steps_;
  const TemporaryDirectory& directory_;
  const std::string run_file_;
  TestEpoch epoch_;
  std::vector<std::string> addresses_;
  std::vector<link::Held> held_;
  uint64_t number_ = kTinyEpoch;
};

void ExpectTheUndisturbedRun(const TemporaryDirectory& directory, Group& group) {
  const auto written = group.Finish();
  ASSERT_FALSE(written.empty());
  EXPECT_TRUE(written.back().final);
  EXPECT_EQ(written.back().epoch, group.epoch());
  EXPECT_NE(written.back().directory.find(fmt::format("-e{}-", group.epoch())), std::string::npos);
  EXPECT_TRUE(ModelBytes(written.back().directory) == UndisturbedWeights(group.steps()));
  std::vector<int64_t> all;
  for (int64_t step = 1; step <= group.steps(); ++step) all.push_back(step);
  EXPECT_EQ(RecordedSteps(directory), all);
}

struct Death {
  std::string failpoint;
  size_t rank = 0;
  int ranks = 2;
};

void PrintTo(const Death& death, std::ostream* out) {
  *out << death.failpoint << " of rank " << death.rank << " of " << death.ranks;
}

class Regroup : public ::testing::TestWithParam<Death> {};

TEST_P(Regroup, GoesOnInTheSameStepWithTheSameBits) {
  const auto& [failpoint, dead, ranks] = GetParam();
  const TemporaryDirectory directory;
  std::vector<std::string> variables(static_cast<size_t>(ranks), "GP_UNUSED=1");
  variables[dead] = "GP_FAILPOINT=" + failpoint;
  Group group(directory, ranks, variables);
  group.Lose(dead);
  for (const link::Held& held : group.held()) {
    EXPECT_EQ(held.epoch, kTinyEpoch);
    EXPECT_GT(held.committed, 0);
    EXPECT_NE(held.reason, "");
  }
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

INSTANTIATE_TEST_SUITE_P(
    Places, Regroup,
    ::testing::Values(Death{"step.forward:kill@30", 1, 2}, Death{"step.backward:kill@30", 0, 2},
                      Death{"step.all_reduce:kill@7", 1, 3}, Death{"step.all_reduce:kill@7", 0, 3},
                      Death{"step.optimizer:kill@7", 2, 4}, Death{"step.optimizer:kill@7", 0, 4},
                      Death{"trainer.evaluation:kill@1", 1, 3},
                      Death{"trainer.evaluation:kill@1", 0, 3},
                      Death{"trainer.save:kill@1", 0, 4}));

TEST(Regroup, AGroupThatLosesRanksOneAfterTheOtherGoesOnWithTheLast) {
  const TemporaryDirectory directory;
  Group group(directory, 4,
              {"GP_FAILPOINT=step.optimizer:kill@4", "GP_FAILPOINT=step.backward:kill@30",
               "GP_FAILPOINT=step.all_reduce:kill@8"});
  group.Lose(0);
  group.AwaitReady();
  group.Lose(1);
  group.AwaitReady();
  group.Lose(0);
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

TEST(Regroup, ARankThatDiesWhileTheNextGroupFormsIsLeftOutOfTheOneAfterIt) {
  const TemporaryDirectory directory;
  Group group(directory, 3, {"GP_FAILPOINT=step.all_reduce:kill@5"});
  group.Remove(0);
  group.AwaitHeld();
  group.rank(0).Signal(SIGSTOP);
  group.Configure();
  group.rank(0).Signal(SIGKILL);
  group.Remove(0);
  group.Configure();
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

TEST(Regroup, ARankThatAwaitsGoWhenAnotherDiesEntersTheNextGroup) {
  const TemporaryDirectory directory;
  Group group(directory, 3, {}, Group::Begin::kNoGo);
  group.rank(1).Send(link::Go{.epoch = kTinyEpoch});
  group.rank(2).Signal(SIGKILL);
  group.Remove(2);
  group.Configure();
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

TEST(Regroup, ARankThatHoldsLeavesWhenItIsStopped) {
  const TemporaryDirectory directory;
  Group group(directory, 2, {"GP_UNUSED=1", "GP_FAILPOINT=step.all_reduce:kill@5"});
  EXPECT_EQ(group.rank(1).Wait(), kKilled);
  EXPECT_EQ(group.rank(0).Await<link::Held>().committed, 4);
  group.rank(0).Send(link::Stop{.reason = "cancelled"});
  EXPECT_EQ(group.rank(0).Await<link::Stopped>().step, 4);
  EXPECT_EQ(group.rank(0).Wait(), 0);
}

TEST(Joining, ARankTakesThePlaceOfADeadOne) {
  const TemporaryDirectory directory;
  Group group(directory, 3, {"GP_UNUSED=1", "GP_FAILPOINT=step.all_reduce:kill@7"});
  group.Remove(1);
  group.AwaitHeld();
  group.StartJoiners({"GP_UNUSED=1"});
  group.Configure();
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

TEST(Joining, ARunGrowsFromOneRankToFourAndShrinksToTwo) {
  const TemporaryDirectory directory;
  Group group(directory, 1, {}, Group::Begin::kGo, kManySteps);
  group.Pause();
  group.StartJoiners({"GP_UNUSED=1", "GP_UNUSED=2", "GP_UNUSED=3"});
  group.ConfigurePaused();
  group.AwaitReady();
  group.Pause();
  group.Shrink(2);
  group.ConfigurePaused();
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

TEST(Joining, ARankThatJoinedLeadsWhenAllOthersHaveDied) {
  const TemporaryDirectory directory;
  Group group(directory, 2, {}, Group::Begin::kGo, kManySteps);
  group.Pause();
  group.StartJoiners({"GP_UNUSED=1"});
  group.ConfigurePaused();
  group.AwaitReady();
  group.Pause();
  for (int i = 0; i < 2; ++i) group.rank(static_cast<size_t>(i)).Signal(SIGKILL);
  group.Remove(0);
  group.Remove(0);
  group.AwaitHeld();
  group.Configure();
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

TEST(Joining, ARankThatJoinedGivesItsStateToTheNextOne) {
  const TemporaryDirectory directory;
  Group group(directory, 1, {}, Group::Begin::kGo, kManySteps);
  group.Pause();
  group.StartJoiners({"GP_UNUSED=1"});
  group.ConfigurePaused();
  group.AwaitReady();
  group.Pause();
  group.rank(0).Signal(SIGKILL);
  group.Remove(0);
  group.AwaitHeld();
  group.StartJoiners({"GP_UNUSED=1"});
  group.Configure();
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

TEST(Joining, WhenTheDonorDiesAnotherOneGivesTheState) {
  const TemporaryDirectory directory;
  Group group(directory, 3, {"GP_FAILPOINT=trainer.give_state:kill@2"}, Group::Begin::kGo,
              kManySteps);
  group.Pause();
  group.StartJoiners({"GP_UNUSED=1"});
  group.ConfigurePaused();
  group.Lose(0);
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

TEST(Joining, WhenTheJoinerDiesTheOthersGoOnWithoutIt) {
  const TemporaryDirectory directory;
  Group group(directory, 2, {}, Group::Begin::kGo, kManySteps);
  group.Pause();
  group.StartJoiners({"GP_FAILPOINT=trainer.take_state:kill@3"});
  group.ConfigurePaused();
  group.Lose(2);
  group.AwaitReady();
  ExpectTheUndisturbedRun(directory, group);
}

TEST(Joining, ARankWithoutTheStateCannotGoOnAlone) {
  const TemporaryDirectory directory;
  Group group(directory, 1, {"GP_FAILPOINT=trainer.give_state:kill@2"}, Group::Begin::kGo,
              kManySteps);
  group.Pause();
  group.StartJoiners({"GP_UNUSED=1"});
  group.ConfigurePaused();
  group.Lose(0);
  const auto failed = group.rank(0).Await<link::Failed>();
  EXPECT_EQ(failed.cause, contract::ExitCause::kCollective) << failed.message;
  EXPECT_NE(group.rank(0).Wait(), 0);
}

TEST(Joining, ARankThatIsReadyToJoinLeavesWhenItIsStopped) {
  const TemporaryDirectory directory;
  Group group(directory, 1, {}, Group::Begin::kNoGo);
  group.StartJoiners({"GP_UNUSED=1"});
  group.rank(1).Send(link::Stop{.reason = "cancelled", .save_within_ms = 1000});
  EXPECT_EQ(group.rank(1).Await<link::Stopped>().step, 0);
  EXPECT_EQ(group.rank(1).Wait(), 0);
}

}  // namespace
}  // namespace gp::engine
