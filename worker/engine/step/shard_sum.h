// ShardSum: adds up the gradients of the shards that a rank owns, along the fixed tree, while they
// are computed one after the other: a finished subtree needs one buffer. The result is the partial
// sums for Communicator::AllReduceTree. Owned by the trainer; one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "worker/engine/collectives/shard_plan.h"

namespace gp::engine {

class ShardSum {
 public:
  // `allocate` returns the memory of one gradient, which must outlive this object; the constructor
  // calls it a fixed number of times.
  ShardSum(ShardRange owned, const std::function<std::span<float>()>& allocate);

  // The buffer for the gradient of the next shard; its content is undefined.
  std::span<float> Next();

  // into += from, element by element.
  struct Addition {
    std::span<float> into;
    std::span<float> from;
  };

  // Call it when the shard that Next began is complete. It calls `add` for each addition that the
  // subtree needs, in order. `add` may do the addition later, but before the next call of Next.
  void Finish(const std::function<void(const Addition&)>& add);

  // One span per maximal aligned subtree, ascending. The next call of Next begins a new step.
  std::vector<std::span<float>> TakePartials();

  size_t buffer_count() const { return buffers_.size(); }

 private:
  struct Subtree {
    ShardRange range;
    size_t buffer = 0;
  };

  bool TopTwoAreSiblings() const;

  const ShardRange owned_;
  std::vector<std::span<float>> buffers_;
  std::vector<size_t> free_;
  std::vector<Subtree> stack_;
};

}  // namespace gp::engine
