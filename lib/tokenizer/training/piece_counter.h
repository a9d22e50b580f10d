// PieceCounter: how often each piece of a text occurs, the pieces being those that GPT-2 encodes
// one by one. Text of any length comes in bit by bit; memory is two buffers and the distinct
// pieces. One thread calls; counting takes the threads that it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gp {

struct CountedPiece {
  std::string text;
  int64_t count = 0;
  bool operator==(const CountedPiece&) const = default;
};

class PieceCounter {
 public:
  // A document without a place to cut is cut after `buffer_bytes`.
  explicit PieceCounter(int threads, size_t buffer_bytes = size_t{64} << 20);
  ~PieceCounter();

  // More of a document. No piece goes beyond the document's end.
  void Add(std::string_view text);
  void EndDocument();

  // The pieces of two bytes and more, frequent ones first, then in the order of their bytes: the
  // same whatever the number of threads. ResourceExhausted when they are too many to learn from.
  StatusOr<std::vector<CountedPiece>> Take();

 private:
  class Counts;

  void Count(size_t bytes);

  const size_t buffer_bytes_;
  std::string buffer_;
  std::vector<size_t> ends_;                     // in the buffer, of the documents that have ended
  std::vector<std::unique_ptr<Counts>> counts_;  // one for each thread
};

}  // namespace gp
