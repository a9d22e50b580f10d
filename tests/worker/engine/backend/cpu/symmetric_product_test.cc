// Goal: a symmetric product has the bits of the full product below its diagonal, and those above
// it, for odd sizes, every instruction set and any number of threads; ForEach takes every index
// once, in lanes whose operations give the bits of the whole backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "worker/engine/backend/backend_fixture.h"

namespace gp::engine {
namespace {

struct SymmetricCase {
  Isa isa;
  int64_t size, depth;
  bool transposed;
};

std::vector<SymmetricCase> SymmetricCases() {
  std::vector<SymmetricCase> cases;
  for (const Isa isa : SupportedIsas()) {
    for (const int64_t size : {1, 3, 4, 17, 48, 63, 128, 150}) {
      for (const int64_t depth : {1, 33, 128, 800}) {
        cases.push_back({isa, size, depth, false});
        cases.push_back({isa, size, depth, true});
      }
    }
  }
  return cases;
}

std::vector<float> SymmetricOf(const SymmetricCase& c, std::vector<float>& x, Backend& backend) {
  std::vector<float> product(static_cast<size_t>(c.size * c.size));
  backend.Multiply({.size = c.size,
                    .depth = c.depth,
                    .c = product.data(),
                    .a = x.data(),
                    .b = x.data(),
                    .transposed = c.transposed});
  return product;
}

// The product as a backend computes it that has no form of its own for it.
std::vector<float> FullOf(const SymmetricCase& c, std::vector<float>& x, Backend& backend) {
  std::vector<float> product(static_cast<size_t>(c.size * c.size));
  const Buffer values = Fp32(x.data());
  if (c.transposed) {
    backend.BackwardWeight(
        {.shape = {c.depth, c.size, c.size}, .dw = product.data(), .dy = values, .x = values});
  } else {
    backend.Forward(
        {.shape = {c.size, c.depth, c.size}, .y = Fp32(product.data()), .x = values, .w = values});
  }
  return product;
}

TEST(SymmetricProduct, MirrorsTheLowerHalfOfTheFullProduct) {
  for (const SymmetricCase& c : SymmetricCases()) {
    SCOPED_TRACE(std::string(IsaName(c.isa)) + " " + std::to_string(c.size) + " " +
                 std::to_string(c.depth));
    std::vector<float> x = RandomValues(c.size * c.depth, 1);
    const auto backend = MakeTestBackend(c.isa, 1);
    const std::vector<float> full = FullOf(c, x, *backend);
    const std::vector<float> symmetric = SymmetricOf(c, x, *backend);
    for (int64_t i = 0; i < c.size; ++i) {
      for (int64_t j = 0; j < c.size; ++j) {
        const int64_t lower = std::max(i, j) * c.size + std::min(i, j);
        ASSERT_EQ(symmetric[static_cast<size_t>(i * c.size + j)], full[static_cast<size_t>(lower)])
            << i << " " << j;
      }
    }
    EXPECT_EQ(SymmetricOf(c, x, *MakeTestBackend(c.isa, 3)), symmetric);
  }
}

TEST(Lanes, TakeEveryIndexOnceAndGiveTheBitsOfTheWholeBackend) {
  std::vector<float> x = RandomValues(70 * 33, 1);
  const SymmetricCase c{Isa::kAuto, 70, 33, true};
  const std::vector<float> expected = SymmetricOf(c, x, *MakeTestBackend(c.isa, 1));
  for (const int threads : {1, 2, 5}) {
    const auto backend = MakeTestBackend(c.isa, threads);
    EXPECT_EQ(backend->lanes(), threads);
    std::vector<std::vector<float>> products(40);
    std::vector<std::atomic<int>> busy(static_cast<size_t>(threads));
    std::atomic<int> overlaps{0};
    backend->ForEach(std::ssize(products), [&](Backend& lane, int number, int64_t index) {
      if (busy[static_cast<size_t>(number)]++ != 0) ++overlaps;
      auto& product = products[static_cast<size_t>(index)];
      if (!product.empty() || lane.threads() != 1) ++overlaps;
      product = SymmetricOf(c, x, lane);
      --busy[static_cast<size_t>(number)];
    });
    EXPECT_EQ(overlaps, 0);
    for (const auto& product : products) EXPECT_EQ(product, expected);
  }
}

}  // namespace
}  // namespace gp::engine
