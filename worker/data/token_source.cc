#include "worker/data/token_source.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace gp::engine {
namespace {

template <typename Element>
class MemoryTokens : public TokenSource {
 public:
  explicit MemoryTokens(const std::vector<int32_t>& tokens)
      : tokens_(tokens.begin(), tokens.end()) {}

  int64_t size() const override { return static_cast<int64_t>(tokens_.size()); }
  int token_bytes() const override { return sizeof(Element); }

  Status Read(int64_t offset, std::span<int32_t> tokens) const override {
    GP_CHECK(offset >= 0 && offset + static_cast<int64_t>(tokens.size()) <= size());
    std::copy_n(tokens_.begin() + offset, tokens.size(), tokens.begin());
    return OkStatus();
  }

  std::vector<int64_t> parts() const override { return {size()}; }

 private:
  std::vector<Element> tokens_;
};

class ShardTokens : public TokenSource {
 public:
  ShardTokens(std::vector<formats::TokenShard> shards, int64_t vocabulary)
      : shards_(std::move(shards)), vocabulary_(vocabulary), ends_(shards_.size()) {
    int64_t end = 0;
    for (size_t i = 0; i < shards_.size(); ++i) ends_[i] = end += shards_[i].size();
  }

  int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }

  int token_bytes() const override {
    int bytes = 0;
    for (const formats::TokenShard& shard : shards_) bytes = std::max(bytes, shard.token_bytes());
    return bytes;
  }

  Status Read(int64_t offset, std::span<int32_t> tokens) const override {
    GP_CHECK(offset >= 0 && offset + static_cast<int64_t>(tokens.size()) <= size());
    size_t shard = ShardOf(offset);
    while (!tokens.empty()) {
      const int64_t begin = ends_[shard] - shards_[shard].size();
      const auto count =
          std::min<size_t>(tokens.size(), static_cast<size_t>(ends_[shard] - offset));
      RETURN_IF_ERROR(shards_[shard].Read(offset - begin, vocabulary_, tokens.first(count)));
      tokens = tokens.subspan(count);
      offset += static_cast<int64_t>(count);
      ++shard;
    }
    return OkStatus();
  }

  void Expect(int64_t offset, int64_t count) const override {
    for (size_t shard = ShardOf(offset); count > 0; ++shard) {
      const int64_t here = std::min(count, ends_[shard] - offset);
      shards_[shard].Expect(offset - (ends_[shard] - shards_[shard].size()), here);
      offset += here;
      count -= here;
    }
  }

  std::vector<int64_t> parts() const override {
    std::vector<int64_t> sizes;
    for (const formats::TokenShard& shard : shards_) sizes.push_back(shard.size());
    return sizes;
  }

 private:
  // The shard that holds the offset: the first one that ends after it.
  size_t ShardOf(int64_t offset) const {
    return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), offset) -
                               ends_.begin());
  }

  std::vector<formats::TokenShard> shards_;
  int64_t vocabulary_;
  std::vector<int64_t> ends_;  // by shard: the offset in the source right after it
};

}  // namespace

std::unique_ptr<TokenSource> MakeMemoryTokens(const std::vector<int32_t>& tokens) {
  const auto largest = std::max_element(tokens.begin(), tokens.end());
  if (largest != tokens.end() && *largest > UINT16_MAX) {
    return std::make_unique<MemoryTokens<int32_t>>(tokens);
  }
  return std::make_unique<MemoryTokens<uint16_t>>(tokens);
}

std::unique_ptr<TokenSource> MakeShardTokens(std::vector<formats::TokenShard> shards,
                                             int64_t vocabulary) {
  return std::make_unique<ShardTokens>(std::move(shards), vocabulary);
}

}  // namespace gp::engine
