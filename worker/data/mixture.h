// Mixture: decides which of several sources each row of a run comes from. In every block of 4096
// rows each source has its share; the seed decides which rows these are. Over any number of blocks
// a source's rows differ from its exact share by less than one; the largest source, which fills the
// blocks, by less than the number of sources. A pure function of seed, weights and row, so it needs
// no state and does not depend on the number of ranks. Constant after construction; any thread may
// call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gp::engine {

class Mixture {
 public:
  struct Draw {
    size_t source = 0;
    // Numbers the source's rows: 0, 1, 2, … each once, in order from block to block, shuffled
    // within each block.
    int64_t index = 0;

    bool operator==(const Draw&) const = default;
  };

  // Weights of any scale. REQUIRES: 1 to 64 of them (runspec::kMixedSourcesMax), each above 0.
  Mixture(uint64_t seed, const std::vector<double>& weights);

  // `row` counts from 0 over the whole run.
  Draw At(int64_t row) const;

 private:
  int64_t RowsBefore(size_t source, int64_t block) const;

  const uint64_t seed_;
  std::vector<double> shares_;  // they sum to 1
  size_t largest_ = 0;          // source
};

}  // namespace gp::engine
