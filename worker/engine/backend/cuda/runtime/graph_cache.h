// GraphCache: pieces of work that were recorded as CUDA graphs, by key. The first call with a key
// runs the work directly, which makes plans and loads kernels. The second call records it. Every
// later call launches the recorded graph. Belongs to the owner of a stream. One thread calls.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"

namespace gp::engine {

class GraphCache {
 public:
  // A step has a few graphs for each micro-batch. When several GPUs reduce during the backward
  // pass, it also has two for each layer: about 100 with 48 layers. At the limit, the graph that
  // was unused for the longest time is dropped. A step with more graphs than this would record
  // every graph again.
  static constexpr size_t kGraphsMax = 512;

  // Without `enabled`, work is never recorded.
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
