// AllReduceRanks: a group of processes on this machine that all-reduce a buffer together, for
// `gp-peer-bench allreduce`. The caller is rank 0. The others are forked from it and end with it.
// Make it before any thread exists; one thread calls. Errors are exceptions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "worker/engine/collectives/tcp_communicator.h"

namespace gp::engine {

// kSharedMemory: memory that the ranks share, as on one node. kTcp: the loopback interface. kTls:
// the same, encrypted. kNccl: GPUs; each rank takes the GPU with its number.
enum class RankTransport { kSharedMemory, kTcp, kTls, kNccl };

// One rank: its place in the group, and the buffer that it sums.
class AllReduceRank {
 public:
  AllReduceRank(const GroupOptions& options, const TcpListener& listener, int64_t elements,
                RankTransport transport);

  // Rank 0 sends whether the ranks continue; every rank returns it.
  bool Tell(bool go_on);

  // Milliseconds of one all-reduce that all ranks begin together, on the slowest rank.
  double Run();

 private:
  void AllocateBuffer(int64_t elements);
  void ConnectGpus(const GroupOptions& options, int64_t elements);
  std::vector<std::span<float>> Partials() const;

  const std::unique_ptr<TcpCommunicator> control_;
  std::unique_ptr<Communicator> gpus_;  // null unless kNccl
  const size_t subtrees_;
  std::vector<float> own_memory_;
  std::vector<float> zeros_;
  std::span<float> values_;
  std::span<float> nothing_;  // zeros, for the other subtrees of a rank that has several
};

class AllReduceRanks {
 public:
  // Throws std::runtime_error when the transport does not exist here.
  AllReduceRanks(int ranks, int64_t elements, RankTransport transport);
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
