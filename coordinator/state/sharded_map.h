// ShardedMap: an ordered-by-shard map whose copies share everything that did not change since, so
// that copying it costs a few dozen pointers however large it is. That is what makes a new snapshot
// of 10,000 runs per batch cheap. A value; one object must not be written by two threads, nor
// while another thread may be dropping the last copy that it was made of; else copies are
// independent.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>

namespace gp::coordinator {

template <typename Key, typename Value>
class ShardedMap {
 public:
  // Null when absent. Valid until this map changes.
  const Value* Find(const Key& key) const {
    const auto& shard = shards_[ShardOf(key)];
    if (shard == nullptr) return nullptr;
    const auto it = shard->find(key);
    return it == shard->end() ? nullptr : &it->second;
  }

  // Copies the key's shard when another map has it, too: once for all that one batch sets in it.
  void Set(const Key& key, Value value) {
    auto& shard = shards_[ShardOf(key)];
    if (shard == nullptr) {
      shard = std::make_shared<Shard>();
    } else if (shard.use_count() > 1) {
      shard = std::make_shared<Shard>(*shard);
    }
    if (shard->insert_or_assign(key, std::move(value)).second) ++size_;
  }

  // visit(key, value) for every entry, in no particular order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& shard : shards_) {
      if (shard == nullptr) continue;
      for (const auto& [key, value] : *shard) visit(key, value);
    }
  }

  size_t size() const { return size_; }

 private:
  using Shard = std::map<Key, Value>;
  static constexpr size_t kShardCount = 64;

  static size_t ShardOf(const Key& key) { return std::hash<Key>()(key) % kShardCount; }

  std::array<std::shared_ptr<Shard>, kShardCount> shards_;
  size_t size_ = 0;
};

}  // namespace gp::coordinator
