// Byte-pair merging of one piece of text: joins the neighbours with the smallest rank, the leftmost
// of equals, until no neighbours join. Keeps its working memory between pieces. One thread calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/pair_table.h"

namespace gp {

class PieceMerger {
 public:
  // `pairs` must outlive this.
  explicit PieceMerger(const PairTable& pairs) : pairs_(pairs) {}

  // Joins `parts`, the tokens of the single bytes, in place.
  void Merge(std::vector<int32_t>& parts);

 private:
  // A part of a long piece, in a linked list within an array. A part that was joined into its left
  // neighbour has no token.
  struct Part {
    int32_t token = 0;
    size_t previous = 0;
    size_t next = 0;
  };
  struct Proposal {
    Join join = kNoJoin;
    size_t left = 0;
    int32_t left_token = 0;  // the tokens when proposed; the entry is stale if they changed
    int32_t right_token = 0;
    bool operator>(const Proposal& other) const {
      return join != other.join ? join > other.join : left > other.left;
    }
  };

  // Looks through all neighbours for every join: fastest for the few parts that pieces have.
  void MergeShort(std::vector<int32_t>& parts);
  // Uses a heap, so that a long piece (such as a line of dashes) does not take quadratic time.
  void MergeLong(std::vector<int32_t>& parts);
  void Propose(size_t left);
  void Apply(const Proposal& proposal);

  const PairTable& pairs_;
  std::vector<Join> joins_;  // by part: how it and its right neighbour join
  std::vector<Part> list_;
  std::vector<Proposal> heap_;
};

}  // namespace gp
