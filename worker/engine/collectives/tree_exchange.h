// TreeExchange: all-reduces along the fixed tree over the connections of a group, one or several
// concurrently. The elements of each are cut into one chunk per participant. Each sends each peer
// its partial sums of that peer's chunk, completes the tree for its own chunk block by block while
// later blocks still arrive, and sends the finished blocks to all: 2*(W-1)/W of the bytes each way
// when W divides V. Partial sums and finished blocks use separate connections: the partial sums of
// a later all-reduce do not wait for the finished blocks of an earlier one, which take a round
// trip. Lives for one exchange; one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "worker/engine/collectives/exchange.h"
#include "worker/engine/collectives/tree_plan.h"

namespace gp::engine {

class TreeExchange {
 public:
  static constexpr size_t kBlockElements = 32768;  // 128 KiB: a block of each leaf stays in L2
  // Blocks that a peer may be ahead of the slowest one. With the kernel's buffers, this is all the
  // memory that an exchange needs besides the values.
  static constexpr size_t kWindowBlocks = 4;

  // `ring` keeps the window between exchanges. `lanes`, from Wire::LanesOfSequence, have their
  // places.
  TreeExchange(const TreePlan& plan, std::vector<float>& ring, std::vector<Lane>& lanes);

  // Adds an all-reduce after the earlier ones. Wire::Announce has added its header.
  void Add(std::span<float> values, std::vector<std::span<float>> partials);

  // Sums the blocks that have arrived from all peers, and opens the pieces that may now move.
  void Advance();

 private:
  struct Part {
    std::span<float> values;
    std::vector<std::span<float>> partials;
    std::vector<size_t> begins;  // by main lane: index of the piece that is its incoming header
  };
  // A block of this participant's chunk.
  struct Block {
    const Part* part;
    ElementRange range;

    std::span<float> In(std::span<float> whole) const {
      return whole.subspan(range.begin, range.size());
    }
  };

  std::span<Lane> main_lanes() const { return std::span(lanes_).first(lanes_.size() / 2); }
  std::span<Lane> result_lanes() const { return std::span(lanes_).last(lanes_.size() / 2); }
  std::span<float> LeafBlock(size_t leaf, size_t block) const;
  void AddPartialSums(const Part& part, size_t first_block);
  void AddResults(const Part& part, size_t first_block);
  size_t BlocksArrived();
  void SumBlock(size_t block);

  const TreePlan& plan_;
  const std::span<float> ring_;
  std::vector<Lane>& lanes_;
  std::deque<Part> parts_;
  std::vector<Block> blocks_;
  // By lane and block: the number of pieces in the lane's queue up to the end of the block.
  std::vector<std::vector<size_t>> arriving_;  // main lanes
  std::vector<std::vector<size_t>> leaving_;   // result lanes
  size_t arrived_ = 0;                         // blocks, from all peers
  size_t summed_ = 0;
};

}  // namespace gp::engine
