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

class AllReduceRanks {
 public:
  // `share_memory`: as ranks of one node do; otherwise everything passes the loopback.
  AllReduceRanks(int ranks, int64_t elements, bool share_memory);
  // Tells the other ranks to leave, and reaps them.
  ~AllReduceRanks();
  AllReduceRanks(const AllReduceRanks&) = delete;
  AllReduceRanks& operator=(const AllReduceRanks&) = delete;

  // Milliseconds of the slowest rank for one all-reduce that all begin together.
  double Run();

 private:
  std::vector<pid_t> children_;
  std::unique_ptr<TcpCommunicator> group_;
  std::vector<float> own_memory_;
  std::span<float> values_;
};

}  // namespace gp::engine
