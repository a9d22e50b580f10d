// Goal: the pieces of a product cover its output once and do not depend on the number of threads;
// a large product has enough pieces for many threads, and a thread's own pieces lie side by side.
#include "worker/engine/backend/cpu/gemm_blocking.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace gp::engine {
namespace {

constexpr int64_t kPanel = 48;
constexpr int64_t kTileRows = 8;

GemmArgs ArgsOf(int64_t m, int64_t n, int64_t k, DataType type, bool k_contiguous) {
  GemmArgs args{.m = m, .n = n, .k = k};
  args.a = {{nullptr, type}, k_contiguous ? k : m, k_contiguous};
  args.b = {{nullptr, type}, k, true};
  return args;
}

GemmGrid PiecesOf(const GemmArgs& args) {
  const GemmBlocking blocking = BlockingFor(args, {}, KernelsOf(Isa::kGeneric));
  GemmBlocking of_panel = blocking;
  of_panel.columns = std::max(blocking.columns / kPanel, int64_t{1}) * kPanel;
  return PiecesOf(args, of_panel, DivideUp(args.m, kTileRows), DivideUp(args.n, kPanel), kPanel);
}

TEST(GemmBlocking, EveryPlaceOccursOnceForAnyNumberOfThreads) {
  for (const int64_t rows : {1, 2, 7, 8, 64}) {
    for (const int64_t columns : {1, 3, 16}) {
      for (const int threads : {1, 2, 3, 7, 64}) {
        const PieceOrder order({rows, columns}, {threads, 1});
        std::set<std::pair<int64_t, int64_t>> places;
        for (int64_t piece = 0; piece < rows * columns; ++piece) {
          const PieceOrder::Place place = order.Of(piece);
          EXPECT_TRUE(place.row >= 0 && place.row < rows);
          EXPECT_TRUE(place.column >= 0 && place.column < columns);
          places.emplace(place.row, place.column);
        }
        EXPECT_EQ(std::ssize(places), rows * columns);
      }
    }
  }
}

TEST(GemmBlocking, AThreadOfAGridOfRowsHasItsOwnRows) {
  const PieceOrder order({8, 3}, {2, 1});
  for (int64_t piece = 0; piece < 24; ++piece) EXPECT_EQ(order.Of(piece).row >= 4, piece >= 12);
  // Pieces with equal columns follow one another, so that columns are packed once a thread.
  int changes = 0;
  for (int64_t piece = 1; piece < 24; ++piece) {
    if (order.Of(piece).column != order.Of(piece - 1).column) ++changes;
  }
  EXPECT_EQ(changes, 5);
}

TEST(GemmBlocking, SmallProductsHaveOnePieceAndLargeOnesMany) {
  for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
    for (const bool k_contiguous : {true, false}) {
      const auto pieces = [&](int64_t m, int64_t n, int64_t k) {
        const GemmGrid grid = PiecesOf(ArgsOf(m, n, k, type, k_contiguous));
        return grid.rows * grid.columns;
      };
      EXPECT_EQ(pieces(1, 1, 1), 1);
      EXPECT_EQ(pieces(64, 64, 32), 1);
      EXPECT_GE(pieces(768, 384, 128), 8);
      EXPECT_GE(pieces(384, 128, 768), 8);
      EXPECT_GE(pieces(256, 768, 3072), 4);
      EXPECT_GE(pieces(4096, 3072, 768), 32);
    }
  }
}

}  // namespace
}  // namespace gp::engine
