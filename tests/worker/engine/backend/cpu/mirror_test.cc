// Goal: the elements above the diagonal become those below it, for any size and range of rows, and
// nothing else changes.
#include "worker/engine/backend/cpu/mirror.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace gp::engine {
namespace {

TEST(MirrorLowerHalf, CopiesWhatIsBelowTheDiagonal) {
  for (int64_t size = 1; size <= 21; ++size) {
    for (int64_t first = 0; first < size; first += kMirrorRows) {
      for (const int64_t last : {std::min(first + kMirrorRows, size), size}) {
        std::vector<float> matrix(static_cast<size_t>(size * size));
        std::iota(matrix.begin(), matrix.end(), 1.0f);
        std::vector<float> expected = matrix;
        for (int64_t i = first; i < last; ++i) {
          for (int64_t j = 0; j < i; ++j) {
            expected[static_cast<size_t>(j * size + i)] = matrix[static_cast<size_t>(i * size + j)];
          }
        }
        MirrorLowerHalf(matrix.data(), size, first, last);
        EXPECT_EQ(matrix, expected) << size << ", rows " << first << " to " << last;
      }
    }
  }
}

}  // namespace
}  // namespace gp::engine
