// TreeExchange: one all-reduce along the fixed tree over the connections of a group. The elements
// are cut into one chunk per participant. Each sends each peer its partial sums of that peer's
// chunk, finishes the tree for its own chunk block by block while later blocks still arrive, and
// sends the finished blocks to all: 2*(W-1)/W of the bytes each way when W divides V. Lives for one
// call.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "worker/engine/collectives/exchange.h"
#include "worker/engine/collectives/tree_plan.h"

namespace gp::engine {

class TreeExchange {
 public:
  static constexpr size_t kBlockElements = 32768;  // 128 KiB: a block of each leaf stays in L2
  // Blocks that a peer may be ahead of the slowest one.
  static constexpr size_t kWindowBlocks = 4;

  // `ring` keeps the window between calls. Lanes, one per other participant, have their places and
  // begin with their headers already added.
  TreeExchange(const TreePlan& plan, std::span<float> values,
               const std::vector<std::span<float>>& partials, std::vector<float>& ring,
               std::vector<Lane>& lanes);

  // Sums the blocks that have arrived from all peers, and opens the pieces that may now move.
  void Advance();

 private:
  ElementRange ChunkOf(size_t participant) const;
  std::span<float> Block(std::span<float> whole, ElementRange chunk, size_t block) const;
  std::span<float> LeafBlock(size_t leaf, size_t block) const;
  void AddPieces(Lane& lane);
  void SumBlock(size_t block);

  const TreePlan& plan_;
  const std::span<float> values_;
  const std::vector<std::span<float>>& partials_;
  const std::span<float> ring_;
  std::vector<Lane>& lanes_;
  const ElementRange own_;
  size_t summed_ = 0;  // blocks of the own chunk
};

}  // namespace gp::engine
