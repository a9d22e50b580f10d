#include "worker/engine/backend/cuda/weight_branch.h"

#include <algorithm>
#include <functional>

namespace gp::engine {
namespace {

const std::byte* EndOf(const MemoryRange& range) {
  return static_cast<const std::byte*>(range.begin) + range.bytes;
}

bool Overlap(const MemoryRange& a, const MemoryRange& b) {
  const std::less<const void*> before;
  return a.bytes > 0 && b.bytes > 0 && before(a.begin, EndOf(b)) && before(b.begin, EndOf(a));
}

}  // namespace

WeightBranch::WeightBranch(const CudaBackendOptions& options, const CudaStream& main)
    : main_(main),
      workspace_(options.shape, options.arena),
      products_(workspace_.matmul(), options.gemms),
      linear_(products_, workspace_.scratch(), stream_.get(), LinearOptionsOf(options)) {}

// The workspace must not be freed while the device uses it.
WeightBranch::~WeightBranch() { static_cast<void>(cudaStreamSynchronize(stream_.get())); }

void WeightBranch::BackwardWeight(const LinearBackwardWeight& args) {
  begun_.Record(main_);
  begun_.AwaitOn(stream_);
  linear_.BackwardWeight(args);
  Operation& operation = running_.emplace_back();
  operation.dy = RangeOf(args.dy, args.shape.rows * args.shape.out);
  operation.x = RangeOf(args.x, args.shape.rows * args.shape.in);
  operation.done.Record(stream_);
}

void WeightBranch::AwaitReadersOf(std::initializer_list<MemoryRange> written) {
  const auto is_reader = [&](const Operation& operation) {
    return std::any_of(written.begin(), written.end(), [&](const MemoryRange& range) {
      return Overlap(range, operation.dy) || Overlap(range, operation.x);
    });
  };
  const auto last = std::find_if(running_.rbegin(), running_.rend(), is_reader);
  Await(static_cast<size_t>(running_.rend() - last));
}

void WeightBranch::AwaitAll() { Await(running_.size()); }

void WeightBranch::Await(size_t count) {
  if (count == 0) return;
  running_[count - 1].done.AwaitOn(main_);
  for (; count > 0; --count) running_.pop_front();
}

}  // namespace gp::engine
