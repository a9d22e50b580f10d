#include "worker/engine/optim/orthogonal_factor.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace gp::engine {
namespace {

// X := linear X + cubic (X X^T) X + quintic (X X^T)^2 X.
struct Polynomial {
  double linear = 0;
  double cubic = 0;
  double quintic = 0;
};

constexpr int kNewtonSchulzIterations = 5;
constexpr float kLinear = 3.4445f;
constexpr float kCubic = -4.7750f;
constexpr float kQuintic = 2.0315f;
constexpr double kEps = 1e-7;

// Each is the odd polynomial of degree 5 that deviates least from 1 where the one before it left
// the singular values, which begin in [0.005, 1]: then [0.0415, 1.9585], [0.1622, 1.8378] and in
// the end [0.505, 1.495]. Smaller ones end at up to 103 times what they were. Loss falls more
// slowly with sequences that end closer to 1 but lift small singular values less.
constexpr Polynomial kPolarExpress[] = {
    {8.298703491437527, -24.430498148217676, 18.090304193078698},
    {3.9152209604606227, -2.9211302321835286, 0.5592232598130898},
    {3.174603657055768, -2.3804328338954384, 0.4978263935199089},
};

void Scale(Backend& backend, const Matrix& x, double factor) {
  backend.Axpby(x.count(), x.data, static_cast<float>(factor), x.data, 0, nullptr);
}

// out := a x + b y for squares.
void Combine(Backend& backend, int64_t side, float* out, double a, const float* x, double b,
             const float* y) {
  backend.Axpby(side * side, out, static_cast<float>(a), x, static_cast<float>(b), y);
}

// c := X X^T of a wide matrix, X^T X of a tall one.
void MultiplyBySelf(Backend& backend, const Matrix& x, float* c) {
  backend.Multiply({.size = x.side(),
                    .depth = x.count() / x.side(),
                    .c = c,
                    .a = x.data,
                    .b = x.data,
                    .transposed = x.tall()});
}

// c := a b for symmetric squares whose product is symmetric.
void MultiplySymmetric(Backend& backend, int64_t side, float* c, float* a, float* b) {
  backend.Multiply({.size = side, .depth = side, .c = c, .a = a, .b = b, .transposed = true});
}

// X := a X + b P X, or with P on the right if X is tall.
void AddProduct(Backend& backend, const Matrix& x, double a, double b, float* p, float* product) {
  const Buffer out = Fp32(product);
  const int64_t side = x.side();
  if (x.tall()) {
    backend.BackwardInput(
        {.shape = {x.rows, side, side}, .dx = out, .dy = Fp32(x.data), .w = Fp32(p)});
  } else {
    backend.BackwardInput(
        {.shape = {side, x.columns, side}, .dx = out, .dy = Fp32(p), .w = Fp32(x.data)});
  }
  backend.Axpby(x.count(), x.data, static_cast<float>(a), x.data, static_cast<float>(b), product);
}

// The factor that divides by |A A|^(1/4), an upper bound of the largest singular value of X, for
// A = X X^T.
double FactorBySquare(Backend& backend, int64_t side, const float* square) {
  return 1 / std::sqrt(std::sqrt(std::sqrt(backend.SumOfSquares(square, side * side))));
}

// With r = longer side / shorter side, k iterations on X take k (3 r + 1) / 2 products of squares,
// and those on the Gram matrix (3 r + 1) / 2 + 2 k - 2: equal for r = 1.
bool IteratesOnGram(const Matrix& x) { return x.count() >= 2 * x.side() * x.side(); }

// The coefficients of X and of the products in the first iteration are multiplied by powers of the
// factor instead of X itself.
void IterateOnMatrix(Backend& backend, const Matrix& x, const OrthogonalScratch& scratch) {
  const int64_t side = x.side();
  float* const a = scratch.squares[0];
  float* const p = scratch.squares[1];
  for (const Polynomial& z : kPolarExpress) {
    MultiplyBySelf(backend, x, a);
    MultiplySymmetric(backend, side, p, a, a);
    const bool first = &z == std::begin(kPolarExpress);
    const double s = first ? FactorBySquare(backend, side, p) : 1;
    Combine(backend, side, p, z.quintic * s * s * s * s, p, z.cubic * s * s, a);
    AddProduct(backend, x, z.linear * s, s, p, scratch.product);
  }
}

// Q = q I + N is the product of all polynomials so far. R is divided by s^2 until the end of the
// first iteration.
void IterateOnGram(Backend& backend, const Matrix& x, const OrthogonalScratch& scratch) {
  const int64_t side = x.side();
  float* const r = scratch.squares[0];
  float* const t = scratch.squares[1];
  float* const u = scratch.squares[2];
  float* p = scratch.squares[3];
  float* n = scratch.squares[4];
  MultiplyBySelf(backend, x, r);
  double factor = 1;
  double q = 1;
  for (const Polynomial& z : kPolarExpress) {
    const bool first = &z == std::begin(kPolarExpress);
    const bool last = &z + 1 == std::end(kPolarExpress);
    MultiplySymmetric(backend, side, p, r, r);
    const double s = first ? FactorBySquare(backend, side, p) : 1;
    Combine(backend, side, p, z.quintic * s * s * s * s, p, z.cubic * s * s, r);
    if (!last) {  // R := s^2 (a I + P) R (a I + P)
      MultiplySymmetric(backend, side, t, r, p);
      Combine(backend, side, t, z.linear, r, 1, t);
      MultiplySymmetric(backend, side, u, t, p);
      Combine(backend, side, r, z.linear * s * s, t, s * s, u);
    }
    if (first) {
      factor = s;
      std::swap(n, p);
    } else {  // N := N (a I + P) + q P
      MultiplySymmetric(backend, side, t, n, p);
      Combine(backend, side, n, z.linear, n, q, p);
      Combine(backend, side, n, 1, n, 1, t);
    }
    q *= z.linear;
  }
  AddProduct(backend, x, factor * q, factor, n, scratch.product);
}

}  // namespace

void NewtonSchulz(Backend& backend, const Matrix& x, const OrthogonalScratch& scratch) {
  const double norm = std::sqrt(backend.SumOfSquares(x.data, x.count()));
  Scale(backend, x, 1 / (norm + kEps));
  const int64_t side = x.side();
  float* const a = scratch.squares[0];
  float* const p = scratch.squares[1];
  for (int i = 0; i < kNewtonSchulzIterations; ++i) {
    const Buffer values = Fp32(x.data);
    if (x.tall()) {
      backend.BackwardWeight({.shape = {x.rows, side, side}, .dw = a, .dy = values, .x = values});
    } else {
      backend.Forward({.shape = {side, x.columns, side}, .y = Fp32(a), .x = values, .w = values});
    }
    backend.BackwardInput(
        {.shape = {side, side, side}, .dx = Fp32(p), .dy = Fp32(a), .w = Fp32(a)});
    backend.Axpby(side * side, p, kQuintic, p, kCubic, a);
    AddProduct(backend, x, kLinear, 1, p, scratch.product);
  }
}

void PolarExpress(Backend& backend, const Matrix& x, const OrthogonalScratch& scratch) {
  const double norm = std::sqrt(backend.SumOfSquares(x.data, x.count()));
  if (norm == 0) return;
  Scale(backend, x, 1 / norm);
  IteratesOnGram(x) ? IterateOnGram(backend, x, scratch) : IterateOnMatrix(backend, x, scratch);
}

}  // namespace gp::engine
