#include "worker/engine/backend/cpu/gemm.h"

#include <algorithm>
#include <stdexcept>

#include "runspec/arena_plan.h"

namespace gp::engine {
namespace {

constexpr int64_t kBlockBytes = 1024;  // of k that stay in registers between two stores of a tile
constexpr int64_t kColumnsMax =
    384;  // of B packed at a time: with kBlockBytes, 384 KiB of the second-level cache
constexpr int64_t kScratchRowsMax = 512;  // of unfinished sums when y is bf16
constexpr int64_t kRowsMax = 512;         // of A that stream past one packed B
constexpr int64_t kPackedKMax = 4096;     // of k when A is packed

struct Range {
  int64_t first = 0;
  int64_t last = 0;
  int64_t size() const { return last - first; }
};

int64_t DivideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Range `index` of `count` that cut [0, total) at multiples of `unit`.
Range Cut(int64_t total, int64_t unit, int64_t index, int64_t count) {
  const int64_t units = DivideUp(total, unit);
  return {std::min(units * index / count * unit, total),
          std::min(units * (index + 1) / count * unit, total)};
}

// How many row ranges times column ranges a product is cut into; the smaller largest piece wins,
// then the fewer row ranges, because B is packed once per row range.
struct Grid {
  int64_t rows = 1;
  int64_t columns = 1;
};

Grid ChooseGrid(int64_t row_units, int64_t column_units, int threads) {
  Grid best{1, threads};
  int64_t best_cost = INT64_MAX;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    if (threads % rows != 0) continue;
    const int64_t cost = DivideUp(row_units, rows) * DivideUp(column_units, threads / rows);
    if (cost < best_cost) {
      best_cost = cost;
      best = {rows, threads / rows};
    }
  }
  return best;
}

// One product on one thread: its rows, its columns, a range of k, and where A was packed if it was.
class Piece {
 public:
  Piece(const KernelSet& kernels, const GemmArgs& args, std::byte* workspace)
      : kernels_(kernels),
        args_(args),
        bf16_(args.a.data.type == DataType::kBfloat16),
        panel_(int64_t{kernels.width} * kernels.tile_vectors),
        columns_max_(kColumnsMax / panel_ * panel_),
        packed_b_(workspace),
        scratch_(reinterpret_cast<float*>(workspace + kBlockBytes * kColumnsMax)) {}

  // A's rows [packed_rows.first, ...) in panels of tile_rows at `packed`, for k in `packed_k`.
  void UsePackedA(const std::byte* packed, Range packed_rows) {
    packed_a_ = packed;
    packed_rows_ = packed_rows;
  }

  void Compute(Range rows, Range columns, Range k) {
    const bool in_place = args_.output.y.type == DataType::kFloat32;
    const int64_t rows_max = in_place ? rows.size() : kScratchRowsMax;
    k_ = k;
    for (int64_t row = rows.first; row < rows.last; row += rows_max) {
      for (int64_t column = columns.first; column < columns.last; column += columns_max_) {
        ComputeBlock({row, std::min(row + rows_max, rows.last)},
                     {column, std::min(column + columns_max_, columns.last)});
      }
    }
  }

 private:
  int64_t UnitsOf(int64_t elements) const { return bf16_ ? DivideUp(elements, 2) : elements; }

  void ComputeBlock(Range rows, Range columns) {
    block_rows_ = rows;
    block_columns_ = columns;
    const int64_t block = kBlockBytes / (bf16_ ? 2 : 4);
    for (int64_t k = k_.first; k < k_.last; k += block) {
      block_k_ = {k, std::min(k + block, k_.last)};
      kernels_.pack(
          {args_.b, columns.first, columns.size(), k, block_k_.size(), panel_, packed_b_});
      for (int64_t row = rows.first; row < rows.last; row += kRowsMax) {
        ComputePanels({row, std::min(row + kRowsMax, rows.last)});
      }
    }
  }

  void ComputePanels(Range rows) {
    const std::byte* panel = packed_b_;
    for (int64_t column = block_columns_.first; column < block_columns_.last; column += panel_) {
      const int64_t count = std::min(panel_, block_columns_.last - column);
      for (int64_t row = rows.first; row < rows.last; row += kernels_.tile_rows) {
        ComputeTile(row, std::min<int64_t>(kernels_.tile_rows, rows.last - row), column, count,
                    panel);
      }
      panel += UnitsOf(block_k_.size()) * panel_ * 4;
    }
  }

  void CallTile(int64_t row, int64_t rows, int64_t vectors, const std::byte* panel, float* c,
                int64_t ldc, bool accumulate) const {
    const int64_t k = UnitsOf(block_k_.size());
    if (packed_a_ != nullptr) {
      const int64_t panel_units = UnitsOf(k_.size()) * kernels_.tile_rows;
      const int64_t index = (row - packed_rows_.first) / kernels_.tile_rows;
      const int64_t unit =
          index * panel_units + UnitsOf(block_k_.first - k_.first) * kernels_.tile_rows;
      const TileKernels& tiles =
          bf16_ ? kernels_.tile_bf16_transposed : kernels_.tile_f32_transposed;
      tiles.rows[rows - 1][vectors - 1](k, packed_a_ + unit * 4, kernels_.tile_rows, panel, panel_,
                                        c, ldc, accumulate);
      return;
    }
    const int64_t element_bytes = bf16_ ? 2 : 4;
    const auto* a = static_cast<const std::byte*>(args_.a.data.data) +
                    (row * args_.a.ld + block_k_.first) * element_bytes;
    const TileKernels& tiles = bf16_ ? kernels_.tile_bf16 : kernels_.tile_f32;
    tiles.rows[rows - 1][vectors - 1](k, a, bf16_ ? args_.a.ld / 2 : args_.a.ld, panel, panel_, c,
                                      ldc, accumulate);
  }

  void ComputeTile(int64_t row, int64_t rows, int64_t column, int64_t columns,
                   const std::byte* panel) {
    const TileOutput& output = args_.output;
    const int64_t vectors = DivideUp(columns, kernels_.width);
    const bool whole = vectors * kernels_.width == columns;
    const bool last = block_k_.last == args_.k;
    const bool first = block_k_.first == 0 && !args_.accumulate;
    float* sums = UnfinishedSums(row, column);
    const int64_t ld = output.y.type == DataType::kFloat32 ? output.ldy : columns_max_;
    const bool padded = output.y.type != DataType::kFloat32;  // scratch has room for whole vectors
    if ((whole || padded) && (!last || output.plain())) {
      CallTile(row, rows, vectors, panel, sums, ld, !first);
      return;
    }
    alignas(64) float tile[kTileRowsMax * kTileVectorsMax * 16];
    if (!first) LoadTile(sums, ld, rows, columns, tile);
    CallTile(row, rows, vectors, panel, tile, panel_, !first);
    if (last) {
      kernels_.store_tile(output, tile, panel_, row, column, rows, columns);
    } else {
      kernels_.store_tile({.y = {sums, DataType::kFloat32}, .ldy = ld}, tile, panel_, 0, 0, rows,
                          columns);
    }
  }

  // Where the sums of tile (row, column) wait between two blocks of k: y itself when it is fp32.
  float* UnfinishedSums(int64_t row, int64_t column) const {
    const TileOutput& output = args_.output;
    if (output.y.type == DataType::kFloat32) return output.y.f32() + row * output.ldy + column;
    return scratch_ + (row - block_rows_.first) * columns_max_ + (column - block_columns_.first);
  }

  void LoadTile(const float* sums, int64_t ld, int64_t rows, int64_t columns, float* tile) const {
    kernels_.store_tile({.y = {tile, DataType::kFloat32}, .ldy = panel_}, sums, ld, 0, 0, rows,
                        columns);
  }

  const KernelSet& kernels_;
  const GemmArgs& args_;
  const bool bf16_;
  const int64_t panel_;
  const int64_t columns_max_;
  std::byte* packed_b_;
  float* scratch_;
  const std::byte* packed_a_ = nullptr;
  Range packed_rows_;
  Range k_;
  Range block_rows_;
  Range block_columns_;
  Range block_k_;
};

// The tile kernels read A in place when k is contiguous and, for bf16, comes in whole pairs.
bool ReadsAInPlace(const GemmArgs& args) {
  if (!args.a.k_contiguous) return false;
  return args.a.data.type == DataType::kFloat32 || (args.k % 2 == 0 && args.a.ld % 2 == 0);
}

}  // namespace

void Gemm::Run(const GemmArgs& args) {
  const int64_t panel = int64_t{kernels_.width} * kernels_.tile_vectors;
  const int64_t tile_rows = kernels_.tile_rows;
  const bool in_place = ReadsAInPlace(args);
  if (!in_place && args.k > kPackedKMax && args.output.y.type != DataType::kFloat32) {
    throw std::invalid_argument(
        "gemm: a packed operand with more than 4096 k needs an fp32 result");
  }
  const int64_t k_max = in_place ? args.k : kPackedKMax;
  const int64_t packed_bytes = 4 * (std::min(args.k, k_max) + 1);  // of one row of A, at most
  const int64_t rows_max =
      in_place
          ? args.m
          : std::max(runspec::GemmSharedWorkspaceBytes() / packed_bytes / tile_rows, int64_t{1}) *
                tile_rows;
  for (int64_t k = 0; k < args.k; k += k_max) {
    const Range k_range{k, std::min(k + k_max, args.k)};
    for (int64_t row = 0; row < args.m; row += rows_max) {
      const Range rows{row, std::min(row + rows_max, args.m)};
      if (!in_place) {
        const int64_t units =
            args.a.data.type == DataType::kBfloat16 ? (k_range.size() + 1) / 2 : k_range.size();
        pool_.For(rows.size(), tile_rows, [&](int64_t first, int64_t last) {
          kernels_.pack({args.a, rows.first + first, last - first, k_range.first, k_range.size(),
                         tile_rows, shared_ + first * units * 4});
        });
      }
      const Grid grid =
          ChooseGrid(DivideUp(rows.size(), tile_rows), DivideUp(args.n, panel), pool_.threads());
      pool_.Run([&](int thread) {
        Piece piece(kernels_, args, threads_ + thread * thread_stride_bytes_);
        if (!in_place) piece.UsePackedA(shared_, rows);
        const Range mine = Cut(rows.size(), tile_rows, thread / grid.columns, grid.rows);
        piece.Compute({rows.first + mine.first, rows.first + mine.last},
                      Cut(args.n, panel, thread % grid.columns, grid.columns), k_range);
      });
    }
  }
}

}  // namespace gp::engine
