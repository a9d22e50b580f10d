#include "bench/peer_bench/allreduce_ranks.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "worker/engine/collectives/device_group.h"

namespace gp::engine {
namespace {

using Clock = std::chrono::steady_clock;

GroupOptions OptionsOf(int rank, const std::vector<std::string>& addresses,
                       RankTransport transport) {
  return {.run_id = "bench",
          .epoch = 1,
          .rank = rank,
          .logical_shards = static_cast<int>(std::bit_ceil(addresses.size())),
          .addresses = addresses,
          .secret = std::to_string(getpid()),
          .encrypted = transport == RankTransport::kTls,
          .machine = transport == RankTransport::kSharedMemory ? "bench" : ""};
}

[[noreturn]] void ServeAsRank(const GroupOptions& options, const TcpListener& listener,
                              int64_t elements, RankTransport transport, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  try {
    AllReduceRank rank(options, listener, elements, transport);
    while (rank.Tell(false)) rank.Run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", options.rank, error.what());
    _exit(1);
  }
  _exit(0);
}

}  // namespace

AllReduceRank::AllReduceRank(const GroupOptions& options, const TcpListener& listener,
                             int64_t elements, RankTransport transport)
    : control_(TcpCommunicator::Connect(options, listener)),
      subtrees_(
          AlignedSubtrees(OwnedShards(options.logical_shards, control_->rank(), control_->size()))
              .size()) {
  if (transport == RankTransport::kNccl) {
    ConnectGpus(options, elements);
  } else {
    AllocateBuffer(elements);
  }
}

// Allocates the buffer in memory shared with peers, if there is any. Its values are the rank's
// whole contribution; its other subtrees have zeros.
void AllReduceRank::AllocateBuffer(int64_t elements) {
  const auto count = static_cast<size_t>(elements);
  values_ = control_->Allocate(count);
  if (values_.empty()) {
    own_memory_.resize(count);
    values_ = own_memory_;
  }
  std::fill(values_.begin(), values_.end(), 1.0f);
  if (subtrees_ > 1) zeros_.resize(count);
  nothing_ = zeros_;
}

// The id is made after the fork, and travels over the loopback: a process that has touched CUDA
// cannot be forked.
void AllReduceRank::ConnectGpus(const GroupOptions& options, int64_t elements) {
  std::string id(256, '0');
  if (options.rank == 0) id = MakeDeviceGroupId();
  control_->Broadcast(std::as_writable_bytes(std::span(id)), 0);
  values_ = AllocateDeviceFloats(options.rank, static_cast<size_t>(elements));
  if (subtrees_ > 1) {
    nothing_ = AllocateDeviceFloats(options.rank, static_cast<size_t>(elements));
  }
  gpus_ = ConnectDeviceGroup(options, id, /*deterministic=*/false);
}

bool AllReduceRank::Tell(bool go_on) {
  control_->Broadcast(std::as_writable_bytes(std::span(&go_on, 1)), 0);
  return go_on;
}

std::vector<std::span<float>> AllReduceRank::Partials() const {
  std::vector<std::span<float>> partials(subtrees_, nothing_);
  partials[0] = values_;
  return partials;
}

double AllReduceRank::Run() {
  Communicator& group = gpus_ ? *gpus_ : static_cast<Communicator&>(*control_);
  const auto partials = Partials();
  group.Barrier();
  const auto start = Clock::now();
  group.AllReduceTree(values_, partials);
  double elapsed = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  control_->AllReduceMax({&elapsed, 1});
  return elapsed;
}

AllReduceRanks::AllReduceRanks(int ranks, int64_t elements, RankTransport transport) {
  if (transport == RankTransport::kNccl) DeviceGroupLibrary();  // throws if there is none
  std::vector<TcpListener> listeners;
  std::vector<std::string> addresses;
  for (int rank = 0; rank < ranks; ++rank) {
    listeners.emplace_back("127.0.0.1");
    addresses.push_back(listeners.back().address());
  }
  const pid_t parent = getpid();
  const GroupOptions own = OptionsOf(0, addresses, transport);
  for (int rank = 1; rank < ranks; ++rank) {
    GroupOptions options = own;
    options.rank = rank;
    const pid_t child = fork();
    if (child == 0) {
      ServeAsRank(options, listeners[static_cast<size_t>(rank)], elements, transport, parent);
    }
    if (child < 0) throw CollectiveError("cannot fork rank " + std::to_string(rank));
    children_.push_back(child);
  }
  own_ = std::make_unique<AllReduceRank>(own, listeners[0], elements, transport);
}

AllReduceRanks::~AllReduceRanks() {
  try {
    if (own_) own_->Tell(false);
  } catch (const CollectiveError&) {
    // Ranks that are left end when the connections close.
  }
  own_.reset();
  for (const pid_t child : children_) waitpid(child, nullptr, 0);
}

double AllReduceRanks::Run() {
  own_->Tell(true);
  return own_->Run();
}

}  // namespace gp::engine
