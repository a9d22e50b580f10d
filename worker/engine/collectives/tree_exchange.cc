#include "worker/engine/collectives/tree_exchange.h"

#include <algorithm>
#include <cstring>

namespace gp::engine {
namespace {

std::span<std::byte> Bytes(std::span<float> floats) { return std::as_writable_bytes(floats); }

std::span<float> Sized(std::vector<float>& ring, size_t count) {
  if (ring.size() < count) ring.resize(count);
  return ring;
}

size_t BlockCount(ElementRange chunk) {
  return (chunk.size() + TreeExchange::kBlockElements - 1) / TreeExchange::kBlockElements;
}

}  // namespace

TreeExchange::TreeExchange(const TreePlan& plan, std::span<float> values,
                           const std::vector<std::span<float>>& partials, std::vector<float>& ring,
                           std::vector<Lane>& lanes)
    : plan_(plan),
      values_(values),
      partials_(partials),
      ring_(Sized(ring, plan.leaf_count() * kWindowBlocks * kBlockElements)),
      lanes_(lanes),
      own_(ChunkOf(plan.own)) {
  for (Lane& lane : lanes_) AddPieces(lane);
  Advance();
}

ElementRange TreeExchange::ChunkOf(size_t participant) const {
  return PartOf(values_.size(), participant, plan_.participants());
}

std::span<float> TreeExchange::Block(std::span<float> whole, ElementRange chunk,
                                     size_t block) const {
  const size_t begin = chunk.begin + block * kBlockElements;
  return whole.subspan(begin, std::min(kBlockElements, chunk.end - begin));
}

// A block of the own chunk: in the caller's partial sum, or in the memory where a peer's arrives.
std::span<float> TreeExchange::LeafBlock(size_t leaf, size_t block) const {
  const std::vector<size_t>& mine = plan_.leaves[plan_.own];
  const auto found = std::find(mine.begin(), mine.end(), leaf);
  if (found != mine.end()) {
    return Block(partials_[static_cast<size_t>(found - mine.begin())], own_, block);
  }
  const size_t slot = leaf * kWindowBlocks + block % kWindowBlocks;
  return ring_.subspan(slot * kBlockElements, Block(values_, own_, block).size());
}

void TreeExchange::AddPieces(Lane& lane) {
  const ElementRange theirs = ChunkOf(lane.place);
  for (size_t block = 0; block < BlockCount(theirs); ++block) {
    for (const auto& partial : partials_) lane.out.Add(Bytes(Block(partial, theirs, block)));
  }
  for (size_t block = 0; block < BlockCount(own_); ++block) {
    for (const size_t leaf : plan_.leaves[lane.place]) lane.in.Add(Bytes(LeafBlock(leaf, block)));
    lane.out.Add(Bytes(Block(values_, own_, block)));
  }
  lane.in.Add(Bytes(values_.subspan(theirs.begin, theirs.size())));
}

void TreeExchange::Advance() {
  size_t ready = BlockCount(own_);
  for (const Lane& lane : lanes_) {
    const size_t arrived = lane.in.next > 0 ? lane.in.next - 1 : 0;
    ready = std::min(ready, arrived / plan_.leaves[lane.place].size());
  }
  while (summed_ < ready) SumBlock(summed_++);
  for (Lane& lane : lanes_) {
    const size_t window = 1 + (summed_ + kWindowBlocks) * plan_.leaves[lane.place].size();
    const bool all = summed_ + kWindowBlocks >= BlockCount(own_);
    lane.in.open = all ? lane.in.pieces.size() : window;
    lane.out.open = lane.out.pieces.size() - (BlockCount(own_) - summed_);
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
