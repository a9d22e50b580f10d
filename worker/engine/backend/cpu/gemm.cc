#include "worker/engine/backend/cpu/gemm.h"

#include <algorithm>

#include "runspec/arena_plan.h"
#include "worker/engine/backend/cpu/skinny_gemm.h"

namespace gp::engine {
namespace {

constexpr int64_t kBlockUnits = 256;  // of k between two stores of a tile
constexpr int64_t kColumnsMax =
    768;  // of B packed at a time: with kBlockUnits, 768 KiB of the second-level cache
constexpr int64_t kRowsMax = 256;          // of A that stream past one packed B
constexpr int64_t kScratchRowsMax = 1024;  // of unfinished sums when y is bf16
constexpr int64_t kPackedBBytes = kBlockUnits * kColumnsMax * 4;
constexpr int64_t kPackedABytes =
    kBlockUnits * kRowsMax * 4 + 64;  // a vector may be written behind it
constexpr int64_t kScratchBytes = kScratchRowsMax * kColumnsMax * 4;

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

// The rows and columns of one product that one thread computes.
class Piece {
 public:
  Piece(const KernelSet& kernels, const GemmArgs& args, std::byte* workspace)
      : kernels_(kernels),
        args_(args),
        output_(args.output),
        bf16_(args.a.data.type == DataType::kBfloat16),
        y_fp32_(args.output.y.type == DataType::kFloat32),
        packs_a_(!ReadsAInPlace()),
        panel_(int64_t{kernels.width} * kernels.tile_vectors),
        columns_max_(kColumnsMax / panel_ * panel_),
        packed_b_(workspace),
        packed_a_(workspace + kPackedBBytes),
        scratch_(reinterpret_cast<float*>(workspace + kPackedBBytes + kPackedABytes)) {}

  void Compute(Range rows, Range columns) {
    const int64_t rows_max = y_fp32_ ? std::max(rows.size(), int64_t{1}) : kScratchRowsMax;
    for (int64_t row = rows.first; row < rows.last; row += rows_max) {
      for (int64_t column = columns.first; column < columns.last; column += columns_max_) {
        ComputeBlock({row, std::min(row + rows_max, rows.last)},
                     {column, std::min(column + columns_max_, columns.last)});
      }
    }
  }

 private:
  // The tile kernels can read A where it lies when k is contiguous and its units are theirs.
  bool ReadsAInPlace() const {
    if (!args_.a.k_contiguous) return false;
    if (!bf16_) return true;
    return kernels_.bf16_tiles && args_.k % 2 == 0 && args_.a.ld % 2 == 0;
  }

  bool InPairs() const { return bf16_ && kernels_.bf16_tiles; }
  // 32-bit units of the block of k under way.
  int64_t BlockUnits() const {
    if (!bf16_) return k_.size();
    return InPairs() ? DivideUp(k_.size(), 2) : 2 * DivideUp(k_.size(), 2);
  }

  void ComputeBlock(Range rows, Range columns) {
    rows_ = rows;
    columns_ = columns;
    const int64_t block = InPairs() ? 2 * kBlockUnits : kBlockUnits;
    for (int64_t k = 0; k < args_.k; k += block) {
      k_ = {k, std::min(k + block, args_.k)};
      kernels_.pack({args_.b, columns.first, columns.size(), k, k_.size(), panel_, packed_b_});
      for (int64_t row = rows.first; row < rows.last; row += kRowsMax) {
        ComputeRows({row, std::min(row + kRowsMax, rows.last)});
      }
    }
  }

  void ComputeRows(Range rows) {
    if (packs_a_) {
      kernels_.pack(
          {args_.a, rows.first, rows.size(), k_.first, k_.size(), kernels_.tile_rows, packed_a_});
    }
    const int64_t panel_bytes = BlockUnits() * panel_ * 4;
    for (int64_t column = columns_.first; column < columns_.last; column += panel_) {
      const std::byte* panel = packed_b_ + (column - columns_.first) / panel_ * panel_bytes;
      const int64_t columns = std::min(panel_, columns_.last - column);
      for (int64_t row = rows.first; row < rows.last; row += kernels_.tile_rows) {
        const int64_t count = std::min<int64_t>(kernels_.tile_rows, rows.last - row);
        packed_row_ = row - rows.first;
        ComputeTile(row, count, column, columns, panel);
      }
    }
  }

  void ComputeTile(int64_t row, int64_t rows, int64_t column, int64_t columns,
                   const std::byte* panel) {
    const int64_t vectors = DivideUp(columns, kernels_.width);
    const bool last = k_.last == args_.k;
    const bool adds = k_.first > 0 || args_.accumulate;
    float* sums = UnfinishedSums(row, column);
    const int64_t ld = y_fp32_ ? output_.ldy : columns_max_;
    // Only y's last columns may leave no room for whole vectors.
    const bool has_room = !y_fp32_ || vectors * kernels_.width == columns;
    if (has_room && (!last || output_.plain())) {
      CallTile(row, rows, vectors, panel, sums, ld, adds);
      return;
    }
    alignas(64) float tile[kTileRowsMax * kTileVectorsMax * 16];
    if (adds) Copy(sums, ld, tile, panel_, rows, columns);
    CallTile(row, rows, vectors, panel, tile, panel_, adds);
    if (last) {
      kernels_.store_tile(output_, tile, panel_, row, column, rows, columns);
    } else {
      Copy(tile, panel_, sums, ld, rows, columns);
    }
  }

  void CallTile(int64_t row, int64_t rows, int64_t vectors, const std::byte* panel, float* c,
                int64_t ldc, bool adds) const {
    const int64_t k = BlockUnits();
    if (packs_a_) {
      const TileKernels& tiles =
          InPairs() ? kernels_.tile_bf16_transposed : kernels_.tile_f32_transposed;
      tiles.rows[rows - 1][vectors - 1](k, packed_a_ + packed_row_ * k * 4, kernels_.tile_rows,
                                        panel, panel_, c, ldc, adds);
      return;
    }
    const int64_t element_bytes = bf16_ ? 2 : 4;
    const auto* a = static_cast<const std::byte*>(args_.a.data.data) +
                    (row * args_.a.ld + k_.first) * element_bytes;
    const TileKernels& tiles = bf16_ ? kernels_.tile_bf16 : kernels_.tile_f32;
    tiles.rows[rows - 1][vectors - 1](k, a, bf16_ ? args_.a.ld / 2 : args_.a.ld, panel, panel_, c,
                                      ldc, adds);
  }

  // Where the sums of tile (row, column) wait between two blocks of k: y itself when it is fp32.
  float* UnfinishedSums(int64_t row, int64_t column) const {
    if (y_fp32_) return output_.y.f32() + row * output_.ldy + column;
    return scratch_ + (row - rows_.first) * columns_max_ + (column - columns_.first);
  }

  void Copy(const float* from, int64_t from_ld, float* to, int64_t to_ld, int64_t rows,
            int64_t columns) const {
    for (int64_t r = 0; r < rows; ++r) std::copy_n(from + r * from_ld, columns, to + r * to_ld);
  }

  const KernelSet& kernels_;
  const GemmArgs& args_;
  const TileOutput& output_;
  const bool bf16_;
  const bool y_fp32_;
  const bool packs_a_;
  const int64_t panel_;
  const int64_t columns_max_;
  std::byte* const packed_b_;
  std::byte* const packed_a_;
  float* const scratch_;
  // The block under way.
  Range rows_;
  Range columns_;
  Range k_;
  int64_t packed_row_ = 0;  // of the tile, within packed A
};

}  // namespace

static_assert(kPackedBBytes + kPackedABytes + kScratchBytes == runspec::kGemmThreadWorkspaceBytes);

void Gemm::Run(const GemmArgs& args) {
  if (IsSkinny(args)) return RunSkinnyGemm(kernels_, pool_, workspace_, stride_bytes_, args);
  const int64_t panel = int64_t{kernels_.width} * kernels_.tile_vectors;
  const int64_t tile_rows = kernels_.tile_rows;
  const Grid grid =
      ChooseGrid(DivideUp(args.m, tile_rows), DivideUp(args.n, panel), pool_.threads());
  pool_.Run([&](int thread) {
    Piece piece(kernels_, args, workspace_ + thread * stride_bytes_);
    piece.Compute(Cut(args.m, tile_rows, thread / grid.columns, grid.rows),
                  Cut(args.n, panel, thread % grid.columns, grid.columns));
  });
}

}  // namespace gp::engine
