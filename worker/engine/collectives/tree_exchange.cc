#include "worker/engine/collectives/tree_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gp::engine {
namespace {

std::span<std::byte> Bytes(std::span<float> floats) { return std::as_writable_bytes(floats); }

std::span<float> Sized(std::vector<float>& ring, size_t count) {
  if (ring.size() < count) ring.resize(count);
  return ring;
}

std::vector<ElementRange> BlocksOf(ElementRange chunk) {
  std::vector<ElementRange> blocks;
  for (size_t begin = chunk.begin; begin < chunk.end; begin += TreeExchange::kBlockElements) {
    blocks.push_back({begin, std::min(begin + TreeExchange::kBlockElements, chunk.end)});
  }
  return blocks;
}

}  // namespace

TreeExchange::TreeExchange(const TreePlan& plan, std::vector<float>& ring, std::vector<Lane>& lanes)
    : plan_(plan),
      ring_(Sized(ring, plan.leaf_count() * kWindowBlocks * kBlockElements)),
      lanes_(lanes),
      arriving_(lanes.size() / 2),
      leaving_(lanes.size() / 2) {}

void TreeExchange::Add(std::span<float> values, std::vector<std::span<float>> partials) {
  Part& part = parts_.emplace_back(Part{values, std::move(partials), {}});
  for (const Lane& lane : main_lanes()) part.begins.push_back(lane.in.pieces.size() - 1);
  const size_t first_block = blocks_.size();
  const ElementRange own = PartOf(values.size(), plan_.own, plan_.participants());
  for (const ElementRange range : BlocksOf(own)) blocks_.push_back({&part, range});
  AddPartialSums(part, first_block);
  AddResults(part, first_block);
  Advance();
}

void TreeExchange::AddPartialSums(const Part& part, size_t first_block) {
  for (size_t i = 0; i < main_lanes().size(); ++i) {
    Lane& lane = main_lanes()[i];
    const auto theirs = PartOf(part.values.size(), lane.place, plan_.participants());
    for (const ElementRange range : BlocksOf(theirs)) {
      for (const auto& partial : part.partials) {
        lane.out.Add(Bytes(partial.subspan(range.begin, range.size())));
      }
    }
    for (size_t block = first_block; block < blocks_.size(); ++block) {
      for (const size_t leaf : plan_.leaves[lane.place]) lane.in.Add(Bytes(LeafBlock(leaf, block)));
      arriving_[i].push_back(lane.in.pieces.size());
    }
  }
}

void TreeExchange::AddResults(const Part& part, size_t first_block) {
  for (size_t i = 0; i < result_lanes().size(); ++i) {
    Lane& lane = result_lanes()[i];
    for (size_t block = first_block; block < blocks_.size(); ++block) {
      lane.out.Add(Bytes(blocks_[block].In(part.values)));
      leaving_[i].push_back(lane.out.pieces.size());
    }
    const auto theirs = PartOf(part.values.size(), lane.place, plan_.participants());
    lane.in.Add(Bytes(part.values.subspan(theirs.begin, theirs.size())));
  }
}

// A leaf's block of this rank's chunk: in the caller's partial sum, or in the ring where a peer's
// arrives.
std::span<float> TreeExchange::LeafBlock(size_t leaf, size_t block) const {
  const std::vector<size_t>& mine = plan_.leaves[plan_.own];
  const auto found = std::find(mine.begin(), mine.end(), leaf);
  if (found != mine.end()) {
    const Block& own = blocks_[block];
    return own.In(own.part->partials[static_cast<size_t>(found - mine.begin())]);
  }
  const size_t slot = leaf * kWindowBlocks + block % kWindowBlocks;
  return ring_.subspan(slot * kBlockElements, blocks_[block].range.size());
}

size_t TreeExchange::BlocksArrived() {
  const auto has_arrived = [this](size_t block) {
    for (size_t i = 0; i < main_lanes().size(); ++i) {
      if (main_lanes()[i].in.next < arriving_[i][block]) return false;
    }
    return true;
  };
  while (arrived_ < blocks_.size() && has_arrived(arrived_)) ++arrived_;
  return arrived_;
}

void TreeExchange::Advance() {
  for (const size_t ready = BlocksArrived(); summed_ < ready; ++summed_) SumBlock(summed_);
  for (size_t i = 0; i < main_lanes().size(); ++i) {
    Lane& lane = main_lanes()[i];
    const size_t window = summed_ + kWindowBlocks;
    lane.in.open = window < blocks_.size() ? arriving_[i][window - 1] : lane.in.pieces.size();
    if (summed_ < blocks_.size()) lane.in.begin = blocks_[summed_].part->begins[i];
    lane.out.OpenAll();
    Lane& results = result_lanes()[i];
    results.in.OpenAll();
    results.out.open = summed_ > 0 ? leaving_[i][summed_ - 1] : 0;
  }
}

void TreeExchange::SumBlock(size_t block) {
  for (const Addition& addition : plan_.order) {
    const auto into = LeafBlock(static_cast<size_t>(addition.into), block);
    AddInto(into.data(), LeafBlock(static_cast<size_t>(addition.from), block).data(), into.size());
  }
  const auto sum = LeafBlock(0, block);
  const auto result = blocks_[block].In(blocks_[block].part->values);
  if (sum.data() != result.data()) std::memcpy(result.data(), sum.data(), sum.size_bytes());
}

}  // namespace gp::engine
