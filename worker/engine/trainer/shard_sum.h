// ShardSum: adds up the gradients of the shards that a rank owns, along the fixed tree, while they
// are computed one after the other: a finished subtree keeps one buffer. What remains are the
// partial sums that Communicator::AllReduceTree takes. Owned by the trainer; one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "worker/engine/collectives/shard_plan.h"

namespace gp::engine {

class ShardSum {
 public:
  // `allocate` gives the memory of one gradient, which outlives me; it is called a fixed number of
  // times, at once.
  ShardSum(ShardRange owned, const std::function<std::span<float>()>& allocate);

  // Where the gradient of the next shard belongs; its old content is of no use.
  std::span<float> Next();

  // into += from, element by element.
  struct Addition {
    std::span<float> into;
    std::span<float> from;
  };

  // The shard that Next began is complete: `add` is asked for each addition that its subtree needs,
  // in order, and may do it later, before the next call of Next.
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
