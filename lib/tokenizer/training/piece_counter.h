// PieceCounter: counts how often each piece of a text occurs, using GPT-2's pieces. The text, of
// any length, is added part by part; memory is two buffers and the distinct pieces. One thread
// calls; counting uses the given number of threads.
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
  // A document without a place where it may be cut is cut after `buffer_bytes`.
  explicit PieceCounter(int threads, size_t buffer_bytes = size_t{64} << 20);
  ~PieceCounter();

  // Adds more of a document. No piece goes beyond the document's end.
  void Add(std::string_view text);
  void EndDocument();

  // The pieces of two or more bytes, frequent ones first, then sorted by their bytes: the same for
  // any number of threads. ResourceExhausted when there are too many.
  StatusOr<std::vector<CountedPiece>> Take();

 private:
  class Counts;

  void Count(size_t bytes);

  const size_t buffer_bytes_;
  std::string buffer_;
  std::vector<size_t> ends_;                     // of the finished documents in the buffer
  std::vector<std::unique_ptr<Counts>> counts_;  // one for each thread
};

}  // namespace gp
