#include "worker/engine/step/gradient_reduction.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/machine/progress.h"
#include "worker/engine/collectives/reduction_order.h"

namespace gp::engine {
namespace {

std::span<float> Part(std::span<float> whole, GradientRange range) {
  return whole.subspan(static_cast<size_t>(range.first),
                       static_cast<size_t>(range.last - range.first));
}

}  // namespace

GradientReduction::GradientReduction(Communicator& communicator, Backend& backend,
                                     ShardSum& shard_sum, GradientRange trained, const Clock& clock)
    : communicator_(communicator),
      backend_(backend),
      shard_sum_(shard_sum),
      trained_(trained),
      clock_(clock),
      buckets_(static_cast<int64_t>(communicator.overlap_elements())) {
  if (communicator.device() == nullptr) return;
  // Without a queue, nothing would make the collectives run after the passes.
  GP_CHECK(backend.queue() != nullptr || backend.host_reachable(),
           "device collectives need a device queue");
  communicator.device()->Follow(backend.queue());
}

GradientReduction::~GradientReduction() {
  if (!thread_ && !begun_on_device_) return;
  communicator_.Abort("the step failed");
  ready_.Close();
}

GradientReady GradientReduction::BeginLastPass() {
  if (communicator_.overlap_elements() == 0) return {};
  // Records the additions that complete this rank's tree; their operands are not computed yet.
  shard_sum_.Finish([this](const ShardSum::Addition& one) { additions_.push_back(one); });
  partials_ = shard_sum_.TakePartials();
  if (communicator_.device() != nullptr) {
    begun_on_device_ = true;
    return [this](int64_t first, int64_t last) {
      if (const auto bucket = buckets_.Add({first, last})) BeginOnDevice(*bucket);
    };
  }
  thread_.emplace([this] { ReduceWhatComes(); });
  return [this](int64_t first, int64_t last) {
    if (const auto bucket = buckets_.Add({first, last})) ready_.Post(*bucket);
  };
}

void GradientReduction::FinishShard() {
  if (thread_ || begun_on_device_) return;
  shard_sum_.Finish([this](const ShardSum::Addition& one) {
    // A product with 1 is exact, so this equals AddInto, but uses all threads.
    const std::span<float> into = Part(one.into, trained_);
    backend_.Axpby(std::ssize(into), into.data(), 1, into.data(), 1,
                   Part(one.from, trained_).data());
  });
}

std::span<float> GradientReduction::Finish() {
  if (DeviceCollectives* const device = communicator_.device()) {
    FinishOnDevice(*device);
    return partials_[0];
  }
  if (!thread_) {
    partials_ = shard_sum_.TakePartials();
    const auto parts = PartialsIn(trained_);
    communicator_.AllReduceTree(parts[0], parts);
    return partials_[0];
  }
  const MonotonicTime pass_end = clock_.Now();
  for (const GradientRange& range : buckets_.TakeRest()) ready_.Post(range);
  ready_.Close();
  {
    const progress::AwaitingHelper waiting;
    thread_->join();
  }
  thread_.reset();
  hidden_seconds_ = SecondsBefore(pass_end);
  if (error_) std::rethrow_exception(error_);
  return partials_[0];
}

// Queues the additions of this rank's shards after the pass that computes their gradients.
void GradientReduction::BeginOnDevice(GradientRange range) {
  for (const ShardSum::Addition& one : additions_) {
    const std::span<float> into = Part(one.into, range);
    backend_.Axpby(std::ssize(into), into.data(), 1, into.data(), 1, Part(one.from, range).data());
  }
  const auto parts = PartialsIn(range);
  communicator_.device()->BeginAllReduceTree(parts[0], parts);
}

void GradientReduction::FinishOnDevice(DeviceCollectives& device) {
  if (begun_on_device_) {
    for (const GradientRange& range : buckets_.TakeRest()) BeginOnDevice(range);
  } else {
    partials_ = shard_sum_.TakePartials();
    const auto parts = PartialsIn(trained_);
    device.BeginAllReduceTree(parts[0], parts);
  }
  device.Rejoin();
  begun_on_device_ = false;
}

void GradientReduction::ReduceWhatComes() {
  const progress::Training helper(/*helper=*/true);
  try {
    communicator_.AllReduceParts(*this);
    Idle();
  } catch (...) {
    error_ = std::current_exception();
    ready_.Close();
  }
}

// Takes the next range and sums it over this rank's shards.
std::optional<TreePart> GradientReduction::Take() {
  const auto range = ready_.Take();
  if (!range) return std::nullopt;
  if (!std::exchange(reducing_, true)) reduced_.push_back({clock_.Now(), {}});
  for (const ShardSum::Addition& one : additions_) {
    const std::span<float> into = Part(one.into, *range);
    AddInto(into.data(), Part(one.from, *range).data(), into.size());
  }
  auto parts = PartialsIn(*range);
  return TreePart{parts[0], std::move(parts)};
}

void GradientReduction::Idle() {
  if (std::exchange(reducing_, false)) reduced_.back().end = clock_.Now();
}

double GradientReduction::SecondsBefore(MonotonicTime end) const {
  double seconds = 0;
  for (const Span& span : reduced_) {
    const std::chrono::duration<double> before = std::min(span.end, end) - span.begin;
    seconds += std::max(before.count(), 0.0);
  }
  return seconds;
}

std::vector<std::span<float>> GradientReduction::PartialsIn(GradientRange range) const {
  std::vector<std::span<float>> parts;
  for (const std::span<float> partial : partials_) parts.push_back(Part(partial, range));
  return parts;
}

}  // namespace gp::engine
