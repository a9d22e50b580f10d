// Goal: what becomes of a group when one of its processes is killed or stops answering: the others
// hear of it, by name and in time, and the dead one leaves no memory behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "worker/engine/collectives/tcp_communicator.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;

// Far longer than any of this takes: who waits for so long has not noticed.
constexpr milliseconds kNever{60000};
constexpr std::chrono::seconds kPrompt{20};

// Ranks 1 and up, as processes that do `body` and leave with its answer as their status.
class ForkedRanks {
 public:
  using Body = std::function<int(Communicator& group)>;

  // `machines[rank]` names each rank's machine.
  ForkedRanks(const std::vector<std::string>& machines, milliseconds timeout, const Body& body) {
    std::vector<TcpListener> listeners;
    std::vector<std::string> addresses;
    for (size_t rank = 0; rank < machines.size(); ++rank) {
      listeners.emplace_back("127.0.0.1");
      addresses.push_back(listeners.back().address());
    }
    const auto connect = [&](size_t rank) {
      const GroupOptions options{.run_id = "run",
                                 .epoch = 1,
                                 .rank = static_cast<int>(rank),
                                 .logical_shards = 4,
                                 .addresses = addresses,
                                 .secret = "secret",
                                 .machine = machines[rank],
                                 .timeout = timeout};
      return TcpCommunicator::Connect(options, listeners[rank]);
    };
    for (size_t rank = 1; rank < machines.size(); ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const auto group = connect(rank);
        _exit(body(*group));
      }
      children_.push_back(child);
    }
    group_ = connect(0);
  }

  ~ForkedRanks() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

  Communicator& group() { return *group_; }
  pid_t pid(int rank) const { return children_[static_cast<size_t>(rank) - 1]; }

  // The status with which a rank left.
  int StatusOf(int rank) {
    int status = 0;
    waitpid(pid(rank), &status, 0);
    children_.erase(children_.begin() + rank - 1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::vector<pid_t> children_;
  std::unique_ptr<TcpCommunicator> group_;
};

// One all-reduce of memory that the ranks share if they can.
std::string ErrorOfAllReduce(Communicator& group, size_t count = 1 << 20) {
  std::vector<std::vector<float>> memory;
  std::vector<std::span<float>> partials;
  const auto owned = OwnedShards(4, group.rank(), group.size());
  for (size_t i = 0; i < AlignedSubtrees(owned).size(); ++i) {
    partials.push_back(group.Allocate(count));
    if (partials.back().empty()) partials.back() = memory.emplace_back(count);
  }
  try {
    group.AllReduceTree(partials[0], partials);
  } catch (const CollectiveError& error) {
    return error.what();
  }
  return "";
}

// Two ranks that share nothing, two that share memory, and three of which two do.
const std::vector<std::vector<std::string>> kGroups = {
    {"", ""}, {"m", "m"}, {"", "", ""}, {"m", "m", "m"}, {"m", "m", "other"}};

// Comes together with the others once, then waits for its end.
int MeetAndHang(Communicator& group) {
  group.Barrier();
  while (true) pause();
}

TEST(RankProcess, AKilledRankIsNoticedByAllAtOnce) {
  for (const auto& machines : kGroups) {
    const auto body = [](Communicator& group) {
      if (group.rank() == 1) return MeetAndHang(group);
      group.Barrier();
      return ErrorOfAllReduce(group).find("rank") != std::string::npos ? 0 : 1;
    };
    ForkedRanks ranks(machines, kNever, body);
    ranks.group().Barrier();
    const auto start = std::chrono::steady_clock::now();
    kill(ranks.pid(1), SIGKILL);
    EXPECT_THAT(ErrorOfAllReduce(ranks.group()), testing::HasSubstr("rank 1"));
    if (machines.size() == 3) {
      EXPECT_EQ(ranks.StatusOf(2), 0);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, kPrompt) << machines.size() << machines[0];
  }
}

TEST(RankProcess, ARankThatIsStoppedIsGivenUpAfterTheTimeoutByName) {
  for (const auto& machines : kGroups) {
    const auto body = [](Communicator& group) {
      if (group.rank() == 1) return MeetAndHang(group);
      group.Barrier();
      return ErrorOfAllReduce(group).find("rank 1") != std::string::npos ? 0 : 1;
    };
    ForkedRanks ranks(machines, milliseconds(500), body);
    ranks.group().Barrier();
    kill(ranks.pid(1), SIGSTOP);
    waitpid(ranks.pid(1), nullptr, WUNTRACED);
    EXPECT_THAT(ErrorOfAllReduce(ranks.group()),
                testing::AllOf(testing::HasSubstr("all-reduce"), testing::HasSubstr("rank 1")));
  }
}

// Lines of this process's memory map with `text` in them.
int MappingsOf(const std::string& text) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(text) != std::string::npos;
  return count;
}

// Gradients shared with others.
int SharedMappings() { return MappingsOf("gp-gradients"); }

// Of memory with a name, which would outlive a killed process. Others on this machine make and
// remove such memory as they please: what counts is that none of it is ours.
int NamedMappings() { return MappingsOf(" /dev/shm/"); }

TEST(RankProcess, AKilledRankLeavesNoMemoryBehind) {
  {
    ForkedRanks ranks({"m", "m"}, kNever, [](Communicator& group) {
      ErrorOfAllReduce(group);
      return MeetAndHang(group);
    });
    EXPECT_EQ(ErrorOfAllReduce(ranks.group()), "");
    EXPECT_EQ(SharedMappings(), 2) << "its own and its mate's";
    EXPECT_EQ(NamedMappings(), 0);
    ranks.group().Barrier();
    kill(ranks.pid(1), SIGKILL);
  }
  EXPECT_EQ(SharedMappings(), 0);
}

}  // namespace
}  // namespace gp::engine
