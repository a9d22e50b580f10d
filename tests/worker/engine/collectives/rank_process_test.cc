// Goal: if a process of a group is killed or stops answering, the others detect it in time and name
// it, and the dead process leaves no shared memory behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "worker/engine/collectives/tcp_communicator.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;

// Far longer than anything here takes: a wait that reaches it failed to detect the loss.
constexpr milliseconds kNever{60000};
constexpr std::chrono::seconds kPrompt{20};

// Ranks 1 and up as processes. Each one passes a barrier with the others, reports this, runs
// `body`, sends its result, and stays until it is killed, so that only the rank chosen by the test
// is lost.
class ForkedRanks {
 public:
  using Body = std::function<int(Communicator& group)>;

  // `machines[rank]` names each rank's machine. Returns once every rank has passed the barrier.
  ForkedRanks(const std::vector<std::string>& machines, const Body& body) {
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
                                 .timeout = kNever};
      return TcpCommunicator::Connect(options, listeners[rank]);
    };
    for (size_t rank = 1; rank < machines.size(); ++rank) {
      int ends[2];
      if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        Live([&] { return connect(rank); }, body, ends[1]);
      }
      close(ends[1]);
      children_.push_back({child, FileDescriptor(ends[0])});
    }
    group_ = connect(0);
    group_->Barrier();
    for (size_t rank = 1; rank < machines.size(); ++rank) {
      EXPECT_EQ(AnswerOf(static_cast<int>(rank)), kMet);
    }
  }

  ~ForkedRanks() {
    for (const Child& child : children_) {
      kill(child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
    }
  }

  Communicator& group() { return *group_; }
  pid_t pid(int rank) const { return children_[static_cast<size_t>(rank) - 1].pid; }

  // The rank's next answer; -1 if it ended, or if none comes within kNever.
  int AnswerOf(int rank) {
    const int fd = children_[static_cast<size_t>(rank) - 1].answers.get();
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    unsigned char answer = 0;
    if (poll(&waiting, 1, static_cast<int>(kNever.count())) != 1) return -1;
    return read(fd, &answer, 1) == 1 ? answer : -1;
  }

 private:
  static constexpr int kMet = 77;

  struct Child {
    pid_t pid;
    FileDescriptor answers;
  };

  [[noreturn]] static void Live(const std::function<std::unique_ptr<TcpCommunicator>()>& connect,
                                const Body& body, int answers) {
    try {
      const auto group = connect();
      group->Barrier();
      Say(kMet, answers);
      Say(body(*group), answers);
      while (true) pause();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "a rank failed: %s\n", error.what());
      _exit(1);
    }
  }

  static void Say(int answer, int answers) {
    const auto byte = static_cast<unsigned char>(answer);
    if (write(answers, &byte, 1) != 1) _exit(1);
  }

  std::vector<Child> children_;
  std::unique_ptr<TcpCommunicator> group_;
};

// One all-reduce, in shared memory if the ranks can share it; returns the error.
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

// Two ranks without shared memory, two with it, three without, three with, and three of which two
// share it.
const std::vector<std::vector<std::string>> kGroups = {
    {"", ""}, {"m", "m"}, {"", "", ""}, {"m", "m", "m"}, {"m", "m", "other"}};

// The test kills rank 1; the other ranks must detect it.
int ExpectLoss(Communicator& group) {
  if (group.rank() == 1) return 0;
  return ErrorOfAllReduce(group).find("rank 1") != std::string::npos ? 0 : 1;
}

TEST(RankProcess, AKilledRankIsNoticedByAllAtOnce) {
  for (const auto& machines : kGroups) {
    ForkedRanks ranks(machines, &ExpectLoss);
    const auto start = std::chrono::steady_clock::now();
    kill(ranks.pid(1), SIGKILL);
    EXPECT_THAT(ErrorOfAllReduce(ranks.group()), testing::HasSubstr("rank 1"));
    if (machines.size() == 3) {
      EXPECT_EQ(ranks.AnswerOf(2), 0);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, kPrompt) << machines.size() << machines[0];
  }
}

// Only rank 0 has a short timeout: the rank that times out first names the missing one.
TEST(RankProcess, ARankThatIsStoppedIsGivenUpAfterTheTimeoutByName) {
  for (const auto& machines : kGroups) {
    ForkedRanks ranks(machines, &ExpectLoss);
    kill(ranks.pid(1), SIGSTOP);
    waitpid(ranks.pid(1), nullptr, WUNTRACED);
    ranks.group().SetTimeout(milliseconds(500));
    EXPECT_THAT(ErrorOfAllReduce(ranks.group()),
                testing::AllOf(testing::HasSubstr("all-reduce"), testing::HasSubstr("rank 1")));
  }
}

// The number of lines of this process's memory map that contain `text`.
int MappingsOf(const std::string& text) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(text) != std::string::npos;
  return count;
}

// The number of mappings of gradients shared with other ranks.
int SharedMappings() { return MappingsOf("gp-gradients"); }

// The number of mappings of named shared memory, which would outlive a killed process. Only
// mappings of this process are counted, because other programs on this machine use such memory too.
int NamedMappings() { return MappingsOf(" /dev/shm/"); }

TEST(RankProcess, AKilledRankLeavesNoMemoryBehind) {
  {
    ForkedRanks ranks({"m", "m"}, [](Communicator& group) {
      ErrorOfAllReduce(group);
      group.Barrier();
      return 0;
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
