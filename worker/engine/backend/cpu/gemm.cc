#include "worker/engine/backend/cpu/gemm.h"

#include <algorithm>

#include "worker/engine/backend/cpu/gemm_blocking.h"
#include "worker/engine/backend/cpu/packed_gemm.h"
#include "worker/engine/backend/cpu/skinny_gemm.h"
#include "worker/engine/backend/cpu/tile_gemm.h"

namespace gp::engine {
namespace {

// Rows that are not contiguous in k are read again for each panel. With at most this many columns
// that costs less than packing the rows.
constexpr int64_t kInPlaceColumnsMax = 1024;

// The part of a product that one thread computes. Its rows are rows of the streaming operand, which
// is read in order; its columns belong to the packed operand.
class Piece {
 public:
  Piece(const KernelSet& kernels, const GemmArgs& args, const GemmBlocking& blocking,
        std::byte* workspace)
      : kernels_(kernels),
        args_(args),
        output_(args.output),
        flipped_(blocking.flipped),
        streaming_(flipped_ ? args.b : args.a),
        packed_(flipped_ ? args.a : args.b),
        bf16_(args.a.data.type == DataType::kBfloat16),
        sums_in_y_(!flipped_ && args.output.y.type == DataType::kFloat32),
        packs_rows_(!ReadsRowsInPlace()),
        panel_(int64_t{kernels.width} * kernels.tile_vectors),
        blocking_(blocking),
        packed_columns_(workspace),
        packed_rows_(workspace + kPackedColumnsBytes),
        scratch_(reinterpret_cast<float*>(workspace + kPackedColumnsBytes + kPackedRowsBytes)) {}

  void Compute(Range rows, Range columns) {
    const int64_t rows_max = sums_in_y_ ? std::max(rows.size(), int64_t{1}) : blocking_.sums_rows;
    for (int64_t row = rows.first; row < rows.last; row += rows_max) {
      for (int64_t column = columns.first; column < columns.last; column += blocking_.columns) {
        ComputeBlock({row, std::min(row + rows_max, rows.last)},
                     {column, std::min(column + blocking_.columns, columns.last)});
      }
    }
  }

 private:
  // Whether the tile kernels read the streaming operand in place instead of a packed copy. Its
  // 32-bit units must be in the order that the kernels expect, and reading must not cost more than
  // packing.
  bool ReadsRowsInPlace() const {
    if (!streaming_.k_contiguous) return !bf16_ && ColumnCount() <= kInPlaceColumnsMax;
    if (!bf16_) return true;
    return kernels_.bf16_tiles && args_.k % 2 == 0 && streaming_.ld % 2 == 0;
  }

  int64_t ColumnCount() const { return flipped_ ? args_.m : args_.n; }
  bool InPairs() const { return bf16_ && kernels_.bf16_tiles; }
  // 32-bit units of the current block of k.
  int64_t BlockUnits() const {
    if (!bf16_) return k_.size();
    return InPairs() ? DivideUp(k_.size(), 2) : 2 * DivideUp(k_.size(), 2);
  }

  void ComputeBlock(Range rows, Range columns) {
    rows_ = rows;
    columns_ = columns;
    const int64_t block = InPairs() ? 2 * blocking_.depth : blocking_.depth;
    for (int64_t k = 0; k < args_.k; k += block) {
      k_ = {k, std::min(k + block, args_.k)};
      kernels_.pack(
          {packed_, columns.first, columns.size(), k, k_.size(), panel_, packed_columns_});
      for (int64_t row = rows.first; row < rows.last; row += blocking_.rows) {
        ComputeRows({row, std::min(row + blocking_.rows, rows.last)});
      }
    }
  }

  void ComputeRows(Range rows) {
    if (packs_rows_) {
      kernels_.pack({streaming_, rows.first, rows.size(), k_.first, k_.size(), kernels_.tile_rows,
                     packed_rows_});
    }
    const int64_t panel_bytes = BlockUnits() * panel_ * 4;
    for (int64_t column = columns_.first; column < columns_.last; column += panel_) {
      const std::byte* panel = packed_columns_ + (column - columns_.first) / panel_ * panel_bytes;
      const int64_t columns = std::min(panel_, columns_.last - column);
      for (int64_t row = rows.first; row < rows.last; row += kernels_.tile_rows) {
        const int64_t count = std::min<int64_t>(kernels_.tile_rows, rows.last - row);
        if (args_.lower_half && IsAboveDiagonal(row, count, column, columns)) continue;
        packed_row_ = row - rows.first;
        ComputeTile(row, count, column, columns, panel);
      }
    }
  }

  // Whether every output element of the tile has a column above its row.
  bool IsAboveDiagonal(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    return flipped_ ? column + columns <= row : row + rows <= column;
  }

  void ComputeTile(int64_t row, int64_t rows, int64_t column, int64_t columns,
                   const std::byte* panel) {
    const int64_t vectors = DivideUp(columns, kernels_.width);
    const bool first = k_.first == 0;
    const bool last = k_.last == args_.k;
    const bool adds = !first || args_.accumulate;
    if (last) Prefetch(row, column, rows, columns);
    if (sums_in_y_ && (!last || output_.plain()) && vectors * kernels_.width == columns) {
      CallTile(row, rows, vectors, panel, UnfinishedSums(row, column), output_.ldy, adds);
      return;
    }
    alignas(64) float tile[kTileRowsMax * kTileVectorsMax * 16];
    if (!first || (args_.accumulate && !flipped_)) {
      Copy(UnfinishedSums(row, column), SumsStride(), tile, panel_, rows, columns);
    } else if (args_.accumulate) {
      LoadFlipped(row, column, rows, columns, tile);
    }
    CallTile(row, rows, vectors, panel, tile, panel_, adds);
    if (!last) {
      Copy(tile, panel_, UnfinishedSums(row, column), SumsStride(), rows, columns);
    } else if (flipped_) {
      kernels_.store_tile_flipped(output_, tile, panel_, column, row, rows, columns);
    } else {
      kernels_.store_tile(output_, tile, panel_, row, column, rows, columns);
    }
  }

  // Called before the last products of tile (row, column): prefetches the lines of y, gelu and
  // pre_gelu that the tile will use when it is stored. Always inline, because g++ removes calls of
  // a function that only prefetches.
  [[gnu::always_inline]] void Prefetch(int64_t row, int64_t column, int64_t rows,
                                       int64_t columns) const {
    const int64_t first_row = flipped_ ? column : row;
    const int64_t first_column = flipped_ ? row : column;
    for (const Buffer* buffer : {&output_.y, &output_.gelu, &output_.pre_gelu}) {
      if (buffer->data == nullptr) continue;
      const int64_t element_bytes = BytesOf(buffer->type);
      const int64_t row_bytes = output_.ldy * element_bytes;
      const auto* line = static_cast<const std::byte*>(buffer->data) + first_row * row_bytes +
                         first_column * element_bytes;
      const int64_t width_bytes = (flipped_ ? rows : columns) * element_bytes;
      for (int64_t r = 0; r < (flipped_ ? columns : rows); ++r, line += row_bytes) {
        for (int64_t byte = 0; byte < width_bytes; byte += 64) __builtin_prefetch(line + byte);
      }
    }
  }

  void CallTile(int64_t row, int64_t rows, int64_t vectors, const std::byte* panel, float* c,
                int64_t ldc, bool adds) const {
    const int64_t k = BlockUnits();
    if (packs_rows_) {
      const TileKernels& tiles =
          InPairs() ? kernels_.tile_bf16_transposed : kernels_.tile_f32_transposed;
      tiles.rows[rows - 1][vectors - 1](k, packed_rows_ + packed_row_ * k * 4, kernels_.tile_rows,
                                        panel, panel_, c, ldc, adds);
      return;
    }
    if (!streaming_.k_contiguous) {
      const float* a = streaming_.data.f32() + k_.first * streaming_.ld + row;
      kernels_.tile_f32_transposed.rows[rows - 1][vectors - 1](k, a, streaming_.ld, panel, panel_,
                                                               c, ldc, adds);
      return;
    }
    const int64_t element_bytes = bf16_ ? 2 : 4;
    const auto* a = static_cast<const std::byte*>(streaming_.data.data) +
                    (row * streaming_.ld + k_.first) * element_bytes;
    const TileKernels& tiles = bf16_ ? kernels_.tile_bf16 : kernels_.tile_f32;
    tiles.rows[rows - 1][vectors - 1](k, a, bf16_ ? streaming_.ld / 2 : streaming_.ld, panel,
                                      panel_, c, ldc, adds);
  }

  // Where the sums of tile (row, column) are stored between two blocks of k: in y itself if y is
  // fp32 and not flipped.
  float* UnfinishedSums(int64_t row, int64_t column) const {
    if (sums_in_y_) return output_.y.f32() + row * output_.ldy + column;
    return scratch_ + (row - rows_.first) * blocking_.columns + (column - columns_.first);
  }
  int64_t SumsStride() const { return sums_in_y_ ? output_.ldy : blocking_.columns; }

  // Loads the values of y, for a flipped product that adds to them.
  void LoadFlipped(int64_t row, int64_t column, int64_t rows, int64_t columns, float* tile) const {
    for (int64_t c = 0; c < columns; ++c) {
      const float* from = output_.y.f32() + (column + c) * output_.ldy + row;
      for (int64_t r = 0; r < rows; ++r) tile[r * panel_ + c] = from[r];
    }
  }

  void Copy(const float* from, int64_t from_ld, float* to, int64_t to_ld, int64_t rows,
            int64_t columns) const {
    for (int64_t r = 0; r < rows; ++r) std::copy_n(from + r * from_ld, columns, to + r * to_ld);
  }

  const KernelSet& kernels_;
  const GemmArgs& args_;
  const TileOutput& output_;
  const bool flipped_;
  const GemmOperand& streaming_;
  const GemmOperand& packed_;
  const bool bf16_;
  const bool sums_in_y_;
  const bool packs_rows_;
  const int64_t panel_;
  const GemmBlocking blocking_;
  std::byte* const packed_columns_;
  std::byte* const packed_rows_;
  float* const scratch_;
  // The current block.
  Range rows_;
  Range columns_;
  Range k_;
  int64_t packed_row_ = 0;  // the tile's first row within the packed rows
};

}  // namespace

GemmProblem GemmArgs::problem() const {
  const GemmPass pass = !a.k_contiguous   ? GemmPass::kBackwardWeight
                        : !b.k_contiguous ? GemmPass::kBackwardInput
                                          : GemmPass::kForward;
  return {pass, m, n, k, a.data.type};
}

void Gemm::Run(const GemmArgs& args) {
  if (args.b_packed) return RunPackedGemm(kernels_, pool_, workspace_, stride_bytes_, args);
  if (IsSkinny(args)) return RunSkinnyGemm(kernels_, pool_, workspace_, stride_bytes_, args);
  const GemmChoice choice = choices_.Of(args.problem());
  if (kernels_.tiles != nullptr && args.a.data.type == DataType::kBfloat16) {
    return RunTileGemm(kernels_, pool_, workspace_, stride_bytes_, args, choice);
  }
  const int64_t panel = int64_t{kernels_.width} * kernels_.tile_vectors;
  const int64_t tile_rows = kernels_.tile_rows;
  const GemmBlocking blocking = BlockingFor(args, choice, panel);
  const int64_t rows = blocking.flipped ? args.n : args.m;
  const int64_t columns = blocking.flipped ? args.m : args.n;
  const GemmGrid grid =
      GridFor(args, choice, DivideUp(rows, tile_rows), DivideUp(columns, panel), pool_.threads());
  pool_.Run([&](int thread) {
    Piece piece(kernels_, args, blocking, workspace_ + thread * stride_bytes_);
    piece.Compute(Cut(rows, tile_rows, thread / grid.columns, grid.rows),
                  Cut(columns, panel, thread % grid.columns, grid.columns));
  });
}

}  // namespace gp::engine
