// OptimizerShards: ZeRO stage 1 (Rajbhandari et al. 2020, arXiv:1910.02054): each rank of a group
// of GPUs keeps the moments of its slice of the elements, updates only that slice, and sends it to
// the others. The gradient is summed as before, and each value's update depends on no other value,
// so the bits do not change. A checkpoint holds the whole state, so a run can resume with any
// number of ranks. Owned by the trainer; one thread calls, on every rank in the same order; errors
// are exceptions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"
#include "worker/engine/optim/optimizer.h"

namespace gp::engine {

// Both moments of all elements, in memory of the host.
struct HostMoments {
  std::vector<float> first;
  std::vector<float> second;

  bool Holds(const void* memory) const;
};

class OptimizerShards {
 public:
  // The elements of `total` that a rank keeps.
  static OptimizerSlice SliceOf(int64_t total, int rank, int ranks);

  // All must outlive this object. The optimizer keeps SliceOf(...). REQUIRES:
  // communicator.device().
  OptimizerShards(Communicator& communicator, LanguageModel& model, Optimizer& optimizer)
      : communicator_(communicator), model_(model), optimizer_(optimizer) {}

  // Call it after an update: gives every rank all parameters, in the order of the backend's queue.
  void GatherParameters();

  // `moments` := those of all ranks; the others pass nullptr. Waits.
  void GatherMoments(HostMoments* moments);

  // Copies the rank's slice of `moments` to the optimizer.
  void LoadMoments(const HostMoments& moments);

 private:
  void Gather(std::span<const float> own, std::vector<float>* all);

  Communicator& communicator_;
  LanguageModel& model_;
  Optimizer& optimizer_;
  std::vector<float> piece_;  // a piece of one rank's slice, on its way to the others
};

}  // namespace gp::engine
