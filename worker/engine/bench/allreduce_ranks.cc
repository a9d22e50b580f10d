#include "worker/engine/bench/allreduce_ranks.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

namespace gp::engine {
namespace {

using Clock = std::chrono::steady_clock;

GroupOptions OptionsOf(int rank, const std::vector<std::string>& addresses, bool share_memory) {
  return {.run_id = "bench",
          .epoch = 1,
          .rank = rank,
          .logical_shards = static_cast<int>(std::bit_ceil(addresses.size())),
          .addresses = addresses,
          .secret = std::to_string(getpid()),
          .machine = share_memory ? "bench" : ""};
}

// A rank's buffer: where its peers reach it, if they do.
std::span<float> BufferOf(Communicator& group, int64_t elements, std::vector<float>& own_memory) {
  const auto count = static_cast<size_t>(elements);
  std::span<float> values = group.Allocate(count);
  if (values.empty()) {
    own_memory.resize(count);
    values = own_memory;
  }
  std::fill(values.begin(), values.end(), 1.0f);
  return values;
}

// The partial sums of one rank: its whole contribution, and nothing in its other subtrees.
std::vector<std::span<float>> PartialsOf(const Communicator& group, int logical_shards,
                                         std::span<float> values, std::vector<float>& zeros) {
  const ShardRange owned = OwnedShards(logical_shards, group.rank(), group.size());
  std::vector<std::span<float>> partials(AlignedSubtrees(owned).size(), values);
  if (partials.size() > 1) zeros.resize(values.size());
  for (size_t i = 1; i < partials.size(); ++i) partials[i] = zeros;
  return partials;
}

double TimedAllReduce(Communicator& group, std::span<float> values) {
  std::vector<float> zeros;
  const auto partials = PartialsOf(
      group, static_cast<int>(std::bit_ceil(static_cast<unsigned>(group.size()))), values, zeros);
  group.Barrier();
  const auto start = Clock::now();
  group.AllReduceTree(values, partials);
  double elapsed = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  group.AllReduceMax({&elapsed, 1});
  return elapsed;
}

// Rank 0 says what comes next.
bool Tell(Communicator& group, bool go_on) {
  group.Broadcast(std::as_writable_bytes(std::span(&go_on, 1)), 0);
  return go_on;
}

[[noreturn]] void ServeAsRank(const GroupOptions& options, const TcpListener& listener,
                              int64_t elements, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  try {
    const auto group = TcpCommunicator::Connect(options, listener);
    std::vector<float> own_memory;
    const std::span<float> values = BufferOf(*group, elements, own_memory);
    while (Tell(*group, false)) TimedAllReduce(*group, values);
  } catch (const CollectiveError&) {
    _exit(1);  // rank 0 reports it
  }
  _exit(0);
}

}  // namespace

AllReduceRanks::AllReduceRanks(int ranks, int64_t elements, bool share_memory) {
  std::vector<TcpListener> listeners;
  std::vector<std::string> addresses;
  for (int rank = 0; rank < ranks; ++rank) {
    listeners.emplace_back("127.0.0.1");
    addresses.push_back(listeners.back().address());
  }
  const pid_t parent = getpid();
  const GroupOptions own = OptionsOf(0, addresses, share_memory);
  for (int rank = 1; rank < ranks; ++rank) {
    GroupOptions options = own;
    options.rank = rank;
    const pid_t child = fork();
    if (child == 0) ServeAsRank(options, listeners[static_cast<size_t>(rank)], elements, parent);
    if (child < 0) throw CollectiveError("cannot fork rank " + std::to_string(rank));
    children_.push_back(child);
  }
  group_ = TcpCommunicator::Connect(own, listeners[0]);
  values_ = BufferOf(*group_, elements, own_memory_);
}

AllReduceRanks::~AllReduceRanks() {
  try {
    if (group_) Tell(*group_, false);
  } catch (const CollectiveError&) {
    // Whoever is left ends when the connections close.
  }
  group_.reset();
  for (const pid_t child : children_) waitpid(child, nullptr, 0);
}

double AllReduceRanks::Run() {
  Tell(*group_, true);
  return TimedAllReduce(*group_, values_);
}

}  // namespace gp::engine
