#include "worker/engine/backend/cpu/mirror.h"

#include <xmmintrin.h>

#include <algorithm>

namespace gp::engine {
namespace {

// Transposes a square of 4 x 4 elements.
void TransposeSquare(const float* from, float* to, int64_t ld) {
  __m128 rows[kMirrorRows];
  for (int64_t i = 0; i < kMirrorRows; ++i) rows[i] = _mm_loadu_ps(from + i * ld);
  _MM_TRANSPOSE4_PS(rows[0], rows[1], rows[2], rows[3]);
  for (int64_t i = 0; i < kMirrorRows; ++i) _mm_storeu_ps(to + i * ld, rows[i]);
}

}  // namespace

void MirrorLowerHalf(float* c, int64_t size, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; row += kMirrorRows) {
    const int64_t rows = std::min(kMirrorRows, last - row);
    int64_t column = 0;
    for (; rows == kMirrorRows && column < row; column += kMirrorRows) {
      TransposeSquare(c + row * size + column, c + column * size + row, size);
    }
    for (int64_t i = row; i < row + rows; ++i) {
      for (int64_t j = column; j < i; ++j) c[j * size + i] = c[i * size + j];
    }
  }
}

}  // namespace gp::engine
