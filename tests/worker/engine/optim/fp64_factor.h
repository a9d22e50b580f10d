// The orthogonal factors of optim/orthogonal_factor.h in fp64, as their authors write them. Pure
// functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace gp::engine {

using Values = std::vector<double>;  // row-major

inline constexpr double kPolarExpressFp64[3][3] = {
    {8.298703491437527, -24.430498148217676, 18.090304193078698},
    {3.9152209604606227, -2.9211302321835286, 0.5592232598130898},
    {3.174603657055768, -2.3804328338954384, 0.4978263935199089}};

inline double& At(Values& values, int64_t index) { return values[static_cast<size_t>(index)]; }
inline double At(const Values& values, int64_t index) { return values[static_cast<size_t>(index)]; }

// a (m, k) b (k, n)
inline Values Product(const Values& a, const Values& b, int64_t m, int64_t k, int64_t n) {
  Values c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t j = 0; j < n; ++j) At(c, i * n + j) += At(a, i * k + l) * At(b, l * n + j);
    }
  }
  return c;
}

inline Values Transposed(const Values& a, int64_t rows, int64_t columns) {
  Values t(a.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) At(t, j * rows + i) = At(a, i * columns + j);
  }
  return t;
}

inline double Norm(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

// X X^T
inline Values Gram(const Values& x, int64_t rows, int64_t columns) {
  return Product(x, Transposed(x, rows, columns), rows, columns, rows);
}

// X := a X + b (X X^T) X + c (X X^T)^2 X, with z = {a, b, c}
inline void Iterate(Values& x, int64_t rows, int64_t columns, const double (&z)[3]) {
  const Values a1 = Gram(x, rows, columns);
  const Values a2 = Product(a1, a1, rows, rows, rows);
  Values p(a1.size());
  for (size_t i = 0; i < p.size(); ++i) p[i] = z[1] * a1[i] + z[2] * a2[i];
  const Values px = Product(p, x, rows, rows, columns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = z[0] * x[i] + px[i];
}

inline void Divide(Values& x, double by) {
  for (double& value : x) value /= by;
}

inline Values NewtonSchulzFp64(Values x, int64_t rows, int64_t columns) {
  if (rows > columns) {
    return Transposed(NewtonSchulzFp64(Transposed(x, rows, columns), columns, rows), columns, rows);
  }
  Divide(x, Norm(x) + 1e-7);
  for (int i = 0; i < 5; ++i) Iterate(x, rows, columns, {3.4445, -4.7750, 2.0315});
  return x;
}

inline Values PolarExpressFp64(Values x, int64_t rows, int64_t columns) {
  if (rows > columns) {
    return Transposed(PolarExpressFp64(Transposed(x, rows, columns), columns, rows), columns, rows);
  }
  Divide(x, Norm(x));
  const Values a = Gram(x, rows, columns);
  Divide(x, std::sqrt(std::sqrt(Norm(Product(a, a, rows, rows, rows)))));
  for (const auto& z : kPolarExpressFp64) Iterate(x, rows, columns, z);
  return x;
}

}  // namespace gp::engine
