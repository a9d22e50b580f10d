#include "worker/engine/step/shard_sum.h"

#include "base/check.h"
#include "plan/training_plan.h"

namespace gp::engine {
ShardSum::ShardSum(ShardRange owned, const std::function<std::span<float>()>& allocate)
    : owned_(owned) {
  const auto buffers = static_cast<size_t>(runspec::GradientBuffers(owned.first, owned.count));
  for (size_t i = 0; i < buffers; ++i) {
    buffers_.push_back(allocate());
    free_.push_back(i);
  }
}

std::span<float> ShardSum::Next() {
  const int next =
      stack_.empty() ? owned_.first : stack_.back().range.first + stack_.back().range.count;
  GP_CHECK(next < owned_.first + owned_.count, "shard {} is not owned", next);
  GP_CHECK(!free_.empty());
  stack_.push_back({{next, 1}, free_.back()});
  free_.pop_back();
  return buffers_[stack_.back().buffer];
}

bool ShardSum::TopTwoAreSiblings() const {
  if (stack_.size() < 2) return false;
  const ShardRange left = stack_[stack_.size() - 2].range;
  return left.count == stack_.back().range.count && left.first % (2 * left.count) == 0;
}

void ShardSum::Finish(const std::function<void(const Addition&)>& add) {
  while (TopTwoAreSiblings()) {
    const Subtree right = stack_.back();
    stack_.pop_back();
    Subtree& left = stack_.back();
    add({buffers_[left.buffer], buffers_[right.buffer]});
    left.range.count *= 2;
    free_.push_back(right.buffer);
  }
}

std::vector<std::span<float>> ShardSum::TakePartials() {
  std::vector<std::span<float>> partials;
  for (const Subtree& subtree : stack_) {
    partials.push_back(buffers_[subtree.buffer]);
    free_.push_back(subtree.buffer);
  }
  stack_.clear();
  return partials;
}

}  // namespace gp::engine
