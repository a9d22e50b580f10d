#include "worker/engine/collectives/tree_exchange.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace gp::engine {
namespace {

// Chunks begin at whole cache lines, so that the additions are aligned.
constexpr size_t kChunkAlignment = 16;

std::span<std::byte> Bytes(std::span<float> floats) { return std::as_writable_bytes(floats); }

std::span<float> Sized(std::vector<float>& ring, size_t count) {
  if (ring.size() < count) ring.resize(count);
  return ring;
}

int CheckedShards(int logical_shards, int group_size) {
  const bool power_of_two = logical_shards > 0 && (logical_shards & (logical_shards - 1)) == 0;
  if (power_of_two && group_size >= 1 && group_size <= logical_shards) return logical_shards;
  throw std::logic_error(std::to_string(logical_shards) + " logical shards for " +
                         std::to_string(group_size) + " ranks");
}

}  // namespace

TreePlan::TreePlan(int logical_shards, int group_size, int own_rank)
    : world_size(group_size),
      rank(own_rank),
      order(ReductionOrder(CheckedShards(logical_shards, group_size),
                           LeavesOfGroup(logical_shards, group_size))),
      first_leaf{0} {
  for (int r = 0; r < group_size; ++r) {
    const auto own = AlignedSubtrees(OwnedShards(logical_shards, r, group_size));
    first_leaf.push_back(first_leaf.back() + own.size());
  }
}

TreeExchange::TreeExchange(const TreePlan& plan, std::span<float> values,
                           const std::vector<std::span<float>>& partials, std::vector<float>& ring,
                           std::vector<Lane>& lanes)
    : plan_(plan),
      values_(values),
      partials_(partials),
      ring_(Sized(ring, plan.leaf_count() * kWindowBlocks * kBlockElements)),
      lanes_(lanes),
      own_(ChunkOf(plan.rank)) {
  for (Lane& lane : lanes_) AddPieces(lane);
  Advance();
}

TreeExchange::Chunk TreeExchange::ChunkOf(int rank) const {
  const auto boundary = [this](int r) {
    if (r == plan_.world_size) return values_.size();
    const size_t even = values_.size() * static_cast<size_t>(r) / plan_.world_size;
    return even / kChunkAlignment * kChunkAlignment;
  };
  return {boundary(rank), boundary(rank + 1)};
}

std::span<float> TreeExchange::Block(std::span<float> whole, Chunk chunk, size_t block) const {
  const size_t begin = chunk.begin + block * kBlockElements;
  return whole.subspan(begin, std::min(kBlockElements, chunk.end - begin));
}

// A block of the own chunk: in the caller's partial sum, or where a peer's arrives.
std::span<float> TreeExchange::LeafBlock(size_t leaf, size_t block) const {
  const size_t own_first = plan_.first_leaf[static_cast<size_t>(plan_.rank)];
  if (leaf >= own_first && leaf < own_first + partials_.size()) {
    return Block(partials_[leaf - own_first], own_, block);
  }
  const size_t slot = leaf * kWindowBlocks + block % kWindowBlocks;
  return ring_.subspan(slot * kBlockElements, Block(values_, own_, block).size());
}

void TreeExchange::AddPieces(Lane& lane) {
  const Chunk theirs = ChunkOf(lane.rank);
  for (size_t block = 0; block < theirs.block_count(); ++block) {
    for (const auto& partial : partials_) lane.out.Add(Bytes(Block(partial, theirs, block)));
  }
  const size_t first_leaf = plan_.first_leaf[static_cast<size_t>(lane.rank)];
  for (size_t block = 0; block < own_.block_count(); ++block) {
    for (size_t leaf = first_leaf; leaf < first_leaf + plan_.leaves_of(lane.rank); ++leaf) {
      lane.in.Add(Bytes(LeafBlock(leaf, block)));
    }
    lane.out.Add(Bytes(Block(values_, own_, block)));
  }
  lane.in.Add(Bytes(values_.subspan(theirs.begin, theirs.end - theirs.begin)));
}

void TreeExchange::Advance() {
  size_t ready = own_.block_count();
  for (const Lane& lane : lanes_) {
    const size_t arrived = lane.in.next > 0 ? lane.in.next - 1 : 0;
    ready = std::min(ready, arrived / plan_.leaves_of(lane.rank));
  }
  while (summed_ < ready) SumBlock(summed_++);
  for (Lane& lane : lanes_) {
    const size_t window = 1 + (summed_ + kWindowBlocks) * plan_.leaves_of(lane.rank);
    const bool all = summed_ + kWindowBlocks >= own_.block_count();
    lane.in.open = all ? lane.in.pieces.size() : window;
    lane.out.open = lane.out.pieces.size() - (own_.block_count() - summed_);
  }
}

void TreeExchange::SumBlock(size_t block) {
  for (const Addition& addition : plan_.order) {
    const auto into = LeafBlock(static_cast<size_t>(addition.into), block);
    AddInto(into.data(), LeafBlock(static_cast<size_t>(addition.from), block).data(), into.size());
  }
  const auto sum = LeafBlock(0, block);
  const auto result = Block(values_, own_, block);
  if (sum.data() != result.data()) std::memcpy(result.data(), sum.data(), sum.size_bytes());
}

}  // namespace gp::engine
