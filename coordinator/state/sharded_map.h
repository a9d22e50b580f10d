// ShardedMap: a map in shards, whose copies share every unchanged shard. A copy costs a few dozen
// pointers, whatever its size, so each batch can afford a snapshot of 10,000 runs. A value. Two
// threads must not write to one object, and no thread may write to an object while another thread
// may drop the last copy that shares its shards. Otherwise copies are independent.
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

  // Copies the key's shard first if another map shares it. Later changes in the same batch then
  // find a shard of their own.
  void Set(const Key& key, Value value) {
    auto& shard = shards_[ShardOf(key)];
    if (shard == nullptr) {
      shard = std::make_shared<Shard>();
    } else if (shard.use_count() > 1) {
      shard = std::make_shared<Shard>(*shard);
    }
    if (shard->insert_or_assign(key, std::move(value)).second) ++size_;
  }

  // Like Set: copies the key's shard first if another map shares it.
  void Erase(const Key& key) {
    if (Find(key) == nullptr) return;
    auto& shard = shards_[ShardOf(key)];
    if (shard.use_count() > 1) shard = std::make_shared<Shard>(*shard);
    shard->erase(key);
    --size_;
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
