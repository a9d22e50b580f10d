// Goal: PolarExpress equals its polynomials in fp64 for wide, tall and square matrices, whichever
// form it takes; it loses no accuracy for matrices with tiny singular values; its polynomials leave
// singular values in the promised range; a matrix of zeros stays one.
#include "worker/engine/optim/orthogonal_factor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/optim/fp64_factor.h"

namespace gp::engine {
namespace {

std::vector<float> RandomMatrix(int64_t rows, int64_t columns, double scale) {
  std::mt19937 random(static_cast<unsigned>(rows * 1000 + columns));
  std::normal_distribution<double> normal;
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (float& value : values) value = static_cast<float>(scale * normal(random));
  return values;
}

// The product of random factors, with singular values that fall to about 1e-8 of the largest.
std::vector<float> IllConditioned(int64_t rows, int64_t columns) {
  const int64_t side = std::min(rows, columns);
  const std::vector<float> left = RandomMatrix(rows, side, 1);
  const std::vector<float> right = RandomMatrix(side, columns, 1);
  Values scaled(right.begin(), right.end());
  for (int64_t i = 0; i < side; ++i) {
    const double decay = std::pow(10, -8.0 * static_cast<double>(i) / static_cast<double>(side));
    for (int64_t j = 0; j < columns; ++j) At(scaled, i * columns + j) *= decay;
  }
  const Values product = Product(Values(left.begin(), left.end()), scaled, rows, side, columns);
  return {product.begin(), product.end()};
}

std::vector<float> PolarExpressOf(const std::vector<float>& matrix, int64_t rows, int64_t columns,
                                  int threads = 1) {
  const auto backend = MakeCpuBackend({.threads = threads});
  const auto allocate = [&](int64_t count) {
    return static_cast<float*>(backend->Allocate((count * 4 + 63) / 64 * 64));
  };
  const Matrix x{allocate(rows * columns), rows, columns};
  OrthogonalScratch scratch{.product = allocate(x.count())};
  for (float*& square : scratch.squares) square = allocate(x.side() * x.side());
  std::copy(matrix.begin(), matrix.end(), x.data);
  PolarExpress(*backend, x, scratch);
  return {x.data, x.data + x.count()};
}

double Difference(const std::vector<float>& has, const Values& expected) {
  double most = 0;
  for (size_t i = 0; i < has.size(); ++i) most = std::max(most, std::abs(has[i] - expected[i]));
  return most;
}

struct Size {
  int64_t rows, columns;
};

constexpr Size kSizes[] = {{1, 1},    {1, 9},     {9, 1},   {7, 7},    {21, 20},
                           {20, 21},  {64, 64},   {50, 99}, {101, 50}, {33, 132},
                           {132, 33}, {128, 128}, {96, 96}, {48, 50},  {150, 600}};

// The polynomials are steep at 1, where the singular value of a single row or column is, and
// multiply rounding errors there by about a thousand.
TEST(PolarExpress, EqualsItsPolynomials) {
  for (const auto [rows, columns] : kSizes) {
    const std::vector<float> matrix = RandomMatrix(rows, columns, 1e-3);
    const Values exact(matrix.begin(), matrix.end());
    EXPECT_LT(
        Difference(PolarExpressOf(matrix, rows, columns), PolarExpressFp64(exact, rows, columns)),
        rows == 1 || columns == 1 ? 2e-4 : 3e-5)
        << rows << " x " << columns;
  }
}

// Rounding errors of X X^T are multiplied by at most the product of the linear coefficients.
TEST(PolarExpress, StaysAccurateWithTinySingularValues) {
  for (const auto [rows, columns] : {Size{64, 64}, Size{64, 256}, Size{256, 64}}) {
    const std::vector<float> matrix = IllConditioned(rows, columns);
    const Values exact(matrix.begin(), matrix.end());
    EXPECT_LT(
        Difference(PolarExpressOf(matrix, rows, columns), PolarExpressFp64(exact, rows, columns)),
        2e-4)
        << rows << " x " << columns;
  }
}

TEST(PolarExpress, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const auto [rows, columns] : kSizes) {
    const std::vector<float> matrix = RandomMatrix(rows, columns, 1);
    EXPECT_EQ(PolarExpressOf(matrix, rows, columns, 1), PolarExpressOf(matrix, rows, columns, 3))
        << rows << " x " << columns;
  }
}

TEST(PolarExpress, LeavesSingularValuesBetweenAHalfAndThreeHalves) {
  for (double value = 0.005; value <= 1; value += 1e-5) {
    double x = value;
    for (const auto& z : kPolarExpressFp64)
      x = z[0] * x + z[1] * std::pow(x, 3) + z[2] * std::pow(x, 5);
    ASSERT_GT(x, 0.504) << value;
    ASSERT_LT(x, 1.496) << value;
  }
}

TEST(PolarExpress, DoesNotDependOnTheScale) {
  const std::vector<float> matrix = RandomMatrix(24, 96, 1);
  for (const float scale : {0x1p-80f, 0x1p60f}) {
    std::vector<float> scaled = matrix;
    for (float& value : scaled) value *= scale;
    EXPECT_EQ(PolarExpressOf(scaled, 24, 96), PolarExpressOf(matrix, 24, 96)) << scale;
  }
}

TEST(PolarExpress, LeavesZerosAlone) {
  EXPECT_EQ(PolarExpressOf(std::vector<float>(40), 4, 10), std::vector<float>(40));
}

}  // namespace
}  // namespace gp::engine
