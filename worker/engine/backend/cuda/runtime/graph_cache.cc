#include "worker/engine/backend/cuda/runtime/graph_cache.h"

#include <algorithm>

namespace gp::engine {

void GraphCache::Run(const ReplayKey& key, const std::function<void()>& work) {
  if (!enabled_) return work();
  bool is_new = false;
  Entry& entry = EntryOf(key, is_new);
  if (is_new) return work();
  if (!entry.graph) entry.graph.emplace(stream_, work);
  entry.graph->Launch(stream_);
}

GraphCache::Entry& GraphCache::EntryOf(const ReplayKey& key, bool& is_new) {
  auto found = entries_.find(key);
  is_new = found == entries_.end();
  if (is_new && entries_.size() >= kGraphsMax) {
    // A graph that still runs must not be destroyed.
    stream_.Synchronize();
    entries_.erase(std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  if (is_new) found = entries_.try_emplace(key).first;
  found->second.used = ++uses_;
  return found->second;
}

}  // namespace gp::engine
