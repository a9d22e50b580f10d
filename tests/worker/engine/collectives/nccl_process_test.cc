// Goal: if the process of a rank in a group of GPUs is killed or stops answering, the others detect
// it within bounded time, whatever they are doing. Method: as in nccl_communicator_test.cc, but
// with real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <thread>

#include "worker/engine/collectives/hosted_communicator.h"
#include "worker/engine/collectives/nccl_communicator.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr int kShards = 4;
// Far longer than anything here takes: a wait that reaches it failed to detect the loss.
constexpr milliseconds kNever{60000};
constexpr std::chrono::seconds kPrompt{20};

// Ranks 1 and up as processes; each runs `body` and exits with its result as the status.
class ForkedRanks {
 public:
  using Body = std::function<int(Communicator& group)>;

  ForkedRanks(int world_size, milliseconds timeout, const Body& body) {
    const std::string id = MakeNcclId();
    const auto connect = [&](int rank) {
      const GroupOptions options{
          .epoch = 5,
          .rank = rank,
          .logical_shards = kShards,
          .addresses = std::vector<std::string>(static_cast<size_t>(world_size)),
          .timeout = timeout};
      return std::make_unique<NcclCommunicator>(options, id, /*deterministic=*/true);
    };
    for (int rank = 1; rank < world_size; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        HostedCommunicator group(connect(rank));
        _exit(body(group));
      }
      children_.push_back(child);
    }
    group_ = std::make_unique<HostedCommunicator>(connect(0));
  }

  ~ForkedRanks() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

  Communicator& group() { return *group_; }
  pid_t pid(int rank) const { return children_[static_cast<size_t>(rank) - 1]; }

  // Waits for a rank's exit status.
  int StatusOf(int rank) {
    int status = 0;
    waitpid(pid(rank), &status, 0);
    children_.erase(children_.begin() + rank - 1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::vector<pid_t> children_;
  std::unique_ptr<Communicator> group_;
};

// All-reduces shards of ones; returns the error, or "" if the sum is right.
std::string ErrorOfAllReduce(Communicator& group, size_t count = 1 << 18) {
  std::vector<std::vector<float>> memory;
  for (const ShardRange& subtree :
       AlignedSubtrees(OwnedShards(kShards, group.rank(), group.size()))) {
    memory.emplace_back(count, static_cast<float>(subtree.count));
  }
  try {
    group.AllReduceTree(memory[0], {memory.begin(), memory.end()});
  } catch (const CollectiveError& error) {
    return error.what();
  }
  return memory[0] == std::vector<float>(count, kShards) ? "" : "a wrong sum";
}

// Continues as a rank normally does; true if it detects the dead one.
bool Notices(Communicator& group) {
  try {
    group.Barrier();
    return !ErrorOfAllReduce(group).empty();
  } catch (const CollectiveError&) {
    return true;
  }
}

int HangAround() {
  while (true) pause();
}

TEST(NcclProcess, ProcessesSumTogether) {
  for (const int world_size : {2, 3, 4}) {
    ForkedRanks ranks(world_size, kNever, [](Communicator& group) {
      const bool wrong = !ErrorOfAllReduce(group).empty();
      group.Barrier();
      return wrong ? 1 : 0;
    });
    EXPECT_EQ(ErrorOfAllReduce(ranks.group()), "");
    ranks.group().Barrier();
    for (int rank = world_size - 1; rank > 0; --rank) EXPECT_EQ(ranks.StatusOf(rank), 0);
  }
}

TEST(NcclProcess, ARankThatIsKilledInTheMiddleIsNoticedByAllAtOnce) {
  for (const int world_size : {2, 3}) {
    ForkedRanks ranks(world_size, kNever, [](Communicator& group) {
      if (group.rank() > 1) return Notices(group) ? 0 : 1;
      group.Barrier();
      return HangAround();  // by then, the other ranks are inside the all-reduce
    });
    ranks.group().Barrier();
    const auto start = std::chrono::steady_clock::now();
    std::jthread killer([pid = ranks.pid(1)] { kill(pid, SIGKILL); });
    EXPECT_THAT(ErrorOfAllReduce(ranks.group()),
                testing::AllOf(HasSubstr("all-reduce, rank 0 of epoch 5"), HasSubstr("remote")));
    if (world_size == 3) {
      EXPECT_EQ(ranks.StatusOf(2), 0);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, kPrompt);
  }
}

TEST(NcclProcess, ARankThatIsStoppedIsGivenUpAfterTheTimeout) {
  ForkedRanks ranks(2, kNever, [](Communicator& group) {
    group.Barrier();
    return HangAround();
  });
  ranks.group().Barrier();
  kill(ranks.pid(1), SIGSTOP);
  waitpid(ranks.pid(1), nullptr, WUNTRACED);
  ranks.group().SetTimeout(milliseconds(300));
  EXPECT_THAT(ErrorOfAllReduce(ranks.group()),
              testing::AllOf(HasSubstr("all-reduce"), HasSubstr("not complete after 300 ms")));
}

TEST(NcclProcess, ARankThatIsKilledBeforeItConnectsIsNotWaitedForForever) {
  const std::string id = MakeNcclId();
  const pid_t child = fork();
  if (child == 0) _exit(HangAround());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const GroupOptions options{.epoch = 5,
                             .rank = 0,
                             .logical_shards = kShards,
                             .addresses = {"", ""},
                             .connect_timeout = milliseconds(300)};
  EXPECT_THROW(NcclCommunicator(options, id, /*deterministic=*/true), CollectiveError);
}

}  // namespace
}  // namespace gp::engine
