// GraphCache: pieces of work that were recorded as CUDA graphs, by key. A piece runs as it is the
// first time its key comes, which makes plans and loads kernels; is recorded the second time; and
// from then on launches as one. Belongs to the owner of a stream. One thread calls.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/runtime.h"

namespace gp::engine {

class GraphCache {
 public:
  // A step has a few graphs for each micro-batch and, where several GPUs reduce beside the backward
  // pass, two for each layer: 100 with 48 layers. Of more than these the one that was not used for
  // the longest time goes, which steps that use more in turn would pay for with every graph.
  static constexpr size_t kGraphsMax = 512;

  // Without `enabled` work always runs as it is.
  GraphCache(const CudaStream& stream, bool enabled) : stream_(stream), enabled_(enabled) {}

  void Run(const ReplayKey& key, const std::function<void()>& work);

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::optional<CudaGraph> graph;
    int64_t used = 0;
  };

  Entry& EntryOf(const ReplayKey& key, bool& is_new);

  const CudaStream& stream_;
  const bool enabled_;
  std::map<ReplayKey, Entry> entries_;
  int64_t uses_ = 0;
};

}  // namespace gp::engine
