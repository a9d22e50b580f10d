// Replaces a matrix X = U S V^T by roughly its nearest orthogonal matrix, U V^T, with polynomials
// of X X^T, and so with matrix products alone. Pure functions of backend memory.
//
// NewtonSchulz: five times the same polynomial (Jordan et al. 2024,
// https://kellerjordan.github.io/posts/muon); singular values end between 0.7 and 1.2.
//
// PolarExpress: a different polynomial in each iteration, each the best one for what the last left
// (Amsel et al. 2025, arXiv:2505.16932). X is first divided by |(X X^T)^2|^(1/4) (Frobenius norm),
// an upper bound of its largest singular value that is much closer than |X| and costs nothing,
// because the first iteration needs (X X^T)^2 anyway. A matrix that is at least kGramRatio times as
// long as wide iterates on R = X X^T alone, which is small (Gram Newton-Schulz, Dao et al. 2026,
// https://dao-lab.ai/blog/2026/gram-newton-schulz): with Z = a I + b R + c R R, Q := Q Z and
// R := Z R Z, and once at the end X := Q X. In 16 bits that needs a restart after the second
// iteration; in fp32 rounding errors of R stay small (orthogonal_factor_test.cc).
#pragma once

#include <cstdint>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

struct Matrix {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;

  int64_t count() const { return rows * columns; }
  int64_t side() const { return rows < columns ? rows : columns; }
  bool tall() const { return rows > columns; }
};

// Work memory for matrices of up to so many elements, whose shorter side is at most so long.
struct OrthogonalScratch {
  static constexpr int kSquares = 5;
  float* product = nullptr;       // as large as the matrix
  float* squares[kSquares] = {};  // each (side, side)
};

void NewtonSchulz(Backend& backend, const Matrix& x, const OrthogonalScratch& scratch);
void PolarExpress(Backend& backend, const Matrix& x, const OrthogonalScratch& scratch);

}  // namespace gp::engine
