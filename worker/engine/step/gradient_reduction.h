// GradientReduction: sums one step's gradients of this rank's shards over all shards of all ranks.
// Over a network it does this while the last backward pass still runs: its own thread sums final
// ranges, in the order of the pass, several at once. On one machine this thread would compete with
// the backward pass for the cores, so the reduction waits for the whole gradient. A run of one rank
// needs no thread and no copy. GPUs need no thread: their communicator queues each piece after the
// work that makes it, and nothing waits. The bits are the same in all cases. Lives for one step;
// the trainer's thread calls.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"
#include "worker/engine/step/gradient_buckets.h"
#include "worker/engine/step/ready_ranges.h"
#include "worker/engine/step/shard_sum.h"

namespace gp::engine {

class GradientReduction : private TreeParts {
 public:
  // All references must outlive this object. `backend` adds up shards while it computes nothing
  // else. Nothing outside `trained` is summed.
  GradientReduction(Communicator& communicator, Backend& backend, ShardSum& shard_sum,
                    GradientRange trained, const Clock& clock);
  // Aborts the group when the reduction began and was not finished: its peers wait for the rest.
  ~GradientReduction() override;
  GradientReduction(const GradientReduction&) = delete;
  GradientReduction& operator=(const GradientReduction&) = delete;

  // Call it before the backward pass that completes the gradient of the last shard; empty when
  // overlapping gains nothing. Until Finish returns, only this object may use the communicator.
  GradientReady BeginLastPass();

  // Call it when the gradient of a shard is complete.
  void FinishShard();

  // Call it after the last shard. Returns the sum over all shards of all ranks; operations that are
  // queued from now on may read it. CollectiveError when a peer is lost; with GPUs only
  // DeviceCollectives::Await may notice this.
  std::span<float> Finish();

  // Seconds that the thread spent reducing before Finish was called, that is, while the last
  // backward pass ran; 0 without a thread. Known after Finish.
  double hidden_seconds() const { return hidden_seconds_; }

 private:
  struct Span {
    MonotonicTime begin;
    MonotonicTime end;
  };

  // Implements TreeParts; the thread calls these.
  int fd() const override { return ready_.fd(); }
  std::optional<TreePart> Take() override;
  void Idle() override;
  bool ended() const override { return ready_.ended(); }

  void ReduceWhatComes();
  std::vector<std::span<float>> PartialsIn(GradientRange range) const;
  void BeginOnDevice(GradientRange range);
  void FinishOnDevice(DeviceCollectives& device);
  double SecondsBefore(MonotonicTime end) const;

  Communicator& communicator_;
  Backend& backend_;
  ShardSum& shard_sum_;
  const GradientRange trained_;
  const Clock& clock_;
  std::vector<ShardSum::Addition> additions_;
  std::vector<std::span<float>> partials_;
  GradientBuckets buckets_;
  ReadyRanges ready_;
  bool begun_on_device_ = false;  // but not finished
  std::exception_ptr error_;      // written by the thread, read after it is joined
  std::vector<Span> reduced_;     // same; the times in which the thread was busy reducing
  bool reducing_ = false;         // used by the thread only
  double hidden_seconds_ = 0;
  std::optional<std::jthread> thread_;  // while the last pass is reduced
};

}  // namespace gp::engine
