// AllReduceRanks: a group of real processes on this machine that all-reduce a buffer together when
// asked: what `gp-bench allreduce` repeats. The caller is rank 0, the others are forks of it that
// end with it. Make it before any thread; one thread calls. Errors are exceptions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "worker/engine/collectives/tcp_communicator.h"

namespace gp::engine {

// Through memory that the ranks share, as those of one node do; through the loopback; between GPUs,
// of which each rank takes the one with its number.
enum class Transport { kSharedMemory, kTcp, kNccl };

// One rank: its place in the group, and the buffer that it sums.
class AllReduceRank {
 public:
  AllReduceRank(const GroupOptions& options, const TcpListener& listener, int64_t elements,
                Transport transport);

  // Rank 0 says what comes next; every rank answers with it.
  bool Tell(bool go_on);

  // Milliseconds of the slowest rank for one all-reduce that all begin together.
  double Run();

 private:
  void TakeBuffer(int64_t elements);
  void ConnectGpus(const GroupOptions& options, int64_t elements);
  std::vector<std::span<float>> Partials() const;

  const std::unique_ptr<TcpCommunicator> control_;
  std::unique_ptr<Communicator> gpus_;  // null without
  const size_t subtrees_;
  std::vector<float> own_memory_;
  std::vector<float> zeros_;
  std::span<float> values_;
  std::span<float> nothing_;  // zeros, for the other subtrees of a rank that has several
};

class AllReduceRanks {
 public:
  // std::runtime_error when the transport does not exist here.
  AllReduceRanks(int ranks, int64_t elements, Transport transport);
  // Tells the other ranks to leave, and reaps them.
  ~AllReduceRanks();
  AllReduceRanks(const AllReduceRanks&) = delete;
  AllReduceRanks& operator=(const AllReduceRanks&) = delete;

  double Run();

 private:
  std::vector<pid_t> children_;
  std::unique_ptr<AllReduceRank> own_;
};

}  // namespace gp::engine
