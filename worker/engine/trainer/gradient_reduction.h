// GradientReduction: takes one step's gradient from this rank's shards to the sum over all shards.
// Over a network it does so while the last backward pass still runs: a thread of its own sums the
// ranges that are final, in the order of the pass. Elsewhere the ranks would compete with
// themselves for the cores, and it waits for the whole gradient; a run of one rank has neither
// thread nor copy. GPUs need no thread: their communicator begins each piece behind the work that
// makes it, and nothing waits. The bits are the same. Lives for one step; the trainer's thread
// calls.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/mailbox.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"
#include "worker/engine/trainer/gradient_buckets.h"
#include "worker/engine/trainer/shard_sum.h"

namespace gp::engine {

class GradientReduction {
 public:
  // All outlive me. `backend` adds up shards while it computes nothing else.
  GradientReduction(Communicator& communicator, Backend& backend, ShardSum& shard_sum);
  // Aborts the group when the reduction began and was not finished: its peers wait for the rest.
  ~GradientReduction();
  GradientReduction(const GradientReduction&) = delete;
  GradientReduction& operator=(const GradientReduction&) = delete;

  // For the backward pass that completes the gradient of the last shard; empty when nothing is to
  // be gained. The communicator is mine until Finish returns.
  GradientReady BeginLastPass();

  // The gradient of a shard is complete.
  void FinishShard();

  // After the last shard: the sum over all shards of all ranks, for what the backend is asked from
  // now on. CollectiveError when a peer is lost; of GPUs that may be noticed no sooner than by
  // DeviceCollectives::Await.
  std::span<float> Finish();

 private:
  void Post(GradientRange range);
  void ReduceWhatComes();
  void Reduce(GradientRange range);
  void BeginOnDevice(GradientRange range);
  void FinishOnDevice(DeviceCollectives& device);

  Communicator& communicator_;
  Backend& backend_;
  ShardSum& shard_sum_;
  std::vector<ShardSum::Addition> additions_;
  std::vector<std::span<float>> partials_;
  GradientBuckets buckets_;
  Mailbox<GradientRange> ready_;
  bool begun_on_device_ = false;        // and not finished
  std::exception_ptr error_;            // written by the thread, read after it is joined
  std::optional<std::jthread> thread_;  // while the last pass is reduced
};

}  // namespace gp::engine
