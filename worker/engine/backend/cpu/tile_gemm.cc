#include "worker/engine/backend/cpu/tile_gemm.h"

#include <algorithm>

#include "worker/engine/backend/cpu/gemm_blocking.h"
#include "worker/engine/backend/cpu/kernels/tiles.h"

namespace gp::engine {
namespace {

constexpr int64_t kBlockFloats = kBlockSide * kBlockSide;
// 32-bit units of k in a block: C is loaded and stored once for 16 tiles of k.
constexpr int64_t kDepthOfTiles = 256;

int64_t FilledUp(int64_t value, int64_t unit) { return DivideUp(value, unit) * unit; }

// The operand with contiguous k streams, read in place; the smaller of two such operands is packed.
GemmChoice TileChoice(const GemmArgs& args, GemmChoice choice) {
  if (choice.packed != PackedOperand::kAuto) return choice;
  const bool either = args.a.k_contiguous && args.b.k_contiguous;
  choice.packed = either && args.m < args.n ? PackedOperand::kFirst : PackedOperand::kSecond;
  return choice;
}

// Sizes are multiples of kBlockSide, and the depth of kTileUnits.
GemmBlocking TileBlocking(const GemmChoice& choice) {
  GemmBlocking blocking;
  blocking.flipped = choice.packed == PackedOperand::kFirst;
  blocking.depth = choice.depth > 0 ? choice.depth : kDepthOfTiles;
  const int64_t room = kPackedColumnsFloats / blocking.depth;
  const int64_t columns = choice.columns > 0 ? std::min<int64_t>(choice.columns, room) : room;
  const int64_t rows = std::min(kGemmRowsMax, kPackedRowsFloats / blocking.depth);
  blocking.columns = std::max(columns / kBlockSide, int64_t{1}) * kBlockSide;
  blocking.rows = std::max(rows / kBlockSide, int64_t{1}) * kBlockSide;
  blocking.sums_rows = kScratchFloats / blocking.columns / kBlockSide * kBlockSide;
  return blocking;
}

// The part of a product that one thread computes, cut as in gemm.cc: rows belong to the operand
// that streams, columns to the packed one.
class TilePiece {
 public:
  TilePiece(const KernelSet& kernels, const GemmArgs& args, const GemmBlocking& blocking,
            std::byte* workspace)
      : kernels_(kernels),
        tiles_(*kernels.tiles),
        args_(args),
        flipped_(blocking.flipped),
        streaming_(flipped_ ? args.b : args.a),
        packed_(flipped_ ? args.a : args.b),
        blocking_(blocking),
        depth_(2 * blocking.depth),
        packed_columns_(reinterpret_cast<uint32_t*>(workspace)),
        packed_rows_(reinterpret_cast<uint16_t*>(workspace + kPackedColumnsBytes)),
        sums_(reinterpret_cast<float*>(workspace + kPackedColumnsBytes + kPackedRowsBytes)) {}

  void Compute(Range rows, Range columns) {
    if (rows.size() <= 0 || columns.size() <= 0) return;
    const int64_t rows_max = args_.k <= depth_ ? rows.size() : blocking_.sums_rows;
    tiles_.begin();
    for (int64_t row = rows.first; row < rows.last; row += rows_max) {
      for (int64_t column = columns.first; column < columns.last; column += blocking_.columns) {
        ComputeBlock({row, std::min(row + rows_max, rows.last)},
                     {column, std::min(column + blocking_.columns, columns.last)});
      }
    }
    tiles_.end();
  }

 private:
  void ComputeBlock(Range rows, Range columns) {
    rows_ = rows;
    columns_ = columns;
    for (int64_t k = 0; k < args_.k; k += depth_) {
      k_ = {k, std::min(k + depth_, args_.k)};
      PackColumns();
      for (int64_t row = rows.first; row < rows.last; row += blocking_.rows) {
        ComputeRows({row, std::min(row + blocking_.rows, rows.last)});
      }
    }
  }

  // 32-bit units of a panel in k, filled up to whole blocks.
  int64_t PanelUnits() const { return FilledUp(k_.size(), kTileDepth) / 2; }

  uint32_t* PanelOf(int64_t column) const {
    return packed_columns_ + (column - columns_.first) * PanelUnits();
  }

  void PackColumns() {
    const int64_t units = DivideUp(k_.size(), 2);
    for (int64_t column = columns_.first; column < columns_.last; column += kBlockSide) {
      uint32_t* to = PanelOf(column);
      kernels_.pack({.from = packed_,
                     .i_first = column,
                     .i_count = std::min(kBlockSide, columns_.last - column),
                     .k_first = k_.first,
                     .k_count = k_.size(),
                     .panel = kBlockSide,
                     .to = to,
                     .keep_pairs = true});
      std::fill(to + units * kBlockSide, to + PanelUnits() * kBlockSide, 0u);
    }
  }

  // Whether rows [row, row + count) are read where they lie: only whole tiles can be.
  bool InPlace(int64_t count) const {
    return streaming_.k_contiguous && k_.size() % kTileDepth == 0 && count % kTileSide == 0;
  }

  void ComputeRows(Range rows) {
    for (int64_t row = rows.first; row < rows.last; row += kBlockSide) {
      const int64_t count = std::min(kBlockSide, rows.last - row);
      if (!InPlace(count)) PackRows(row, count, PackedRows(rows, row));
    }
    for (int64_t column = columns_.first; column < columns_.last; column += kBlockSide) {
      for (int64_t row = rows.first; row < rows.last; row += kBlockSide) {
        const int64_t count = std::min(kBlockSide, rows.last - row);
        TileBlock block{.row_tiles = DivideUp(count, kTileSide),
                        .a = PackedRows(rows, row),
                        .a_stride = PackedStride()};
        if (InPlace(count)) {
          block.a = streaming_.data.bf16() + row * streaming_.ld + k_.first;
          block.a_stride = streaming_.ld;
        }
        ComputeTiles(block, {row, row + count}, column);
      }
    }
  }

  int64_t PackedStride() const { return PanelUnits() * 2; }
  uint16_t* PackedRows(Range rows, int64_t row) const {
    return packed_rows_ + (row - rows.first) * PackedStride();
  }

  void PackRows(int64_t row, int64_t count, uint16_t* to) const {
    tiles_.pack_rows({.from = streaming_,
                      .i_first = row,
                      .i_count = count,
                      .k_first = k_.first,
                      .k_count = k_.size(),
                      .to = to,
                      .stride = PackedStride()});
  }

  // `block` has its rows; adds the columns of one panel.
  void ComputeTiles(TileBlock& block, Range rows, int64_t column) {
    const Range columns{column, std::min(column + kBlockSide, columns_.last)};
    const bool first = k_.first == 0;
    alignas(64) float whole[kBlockFloats];
    block.column_tiles = DivideUp(columns.size(), kTileSide);
    block.blocks = PanelUnits() / kTileUnits;
    block.b = PanelOf(column);
    block.b_stride = kBlockSide;
    block.last = k_.last == args_.k;
    block.c = first && block.last ? whole : UnfinishedSums(rows.first, column);
    block.ldc = kBlockSide;
    block.accumulate = !first || args_.accumulate;
    if (first && args_.accumulate) LoadResult(rows, columns, block.c);
    tiles_.multiply(block);
    if (block.last) StoreResult(rows, columns, block.c);
  }

  // Each block of the output has its own, contiguous sums.
  float* UnfinishedSums(int64_t row, int64_t column) const {
    const int64_t row_block = (row - rows_.first) / kBlockSide;
    const int64_t column_block = (column - columns_.first) / kBlockSide;
    const int64_t column_blocks = blocking_.columns / kBlockSide;
    return sums_ + (row_block * column_blocks + column_block) * kBlockFloats;
  }

  // Loads the values of y, for a product that adds to them; zero beyond y's edges.
  void LoadResult(Range rows, Range columns, float* sums) const {
    std::fill_n(sums, kBlockFloats, 0.0f);
    const TileOutput& out = args_.output;
    for (int64_t r = 0; r < rows.size(); ++r) {
      float* row = sums + r * kBlockSide;
      if (!flipped_) {
        std::copy_n(out.y.f32() + (rows.first + r) * out.ldy + columns.first, columns.size(), row);
        continue;
      }
      const float* from = out.y.f32() + columns.first * out.ldy + rows.first + r;
      for (int64_t c = 0; c < columns.size(); ++c) row[c] = from[c * out.ldy];
    }
  }

  void StoreResult(Range rows, Range columns, const float* sums) const {
    if (!flipped_) {
      kernels_.store_tile(args_.output, sums, kBlockSide, rows.first, columns.first, rows.size(),
                          columns.size());
      return;
    }
    for (int64_t r = 0; r < rows.size(); r += kTileRowsMax) {
      kernels_.store_tile_flipped(args_.output, sums + r * kBlockSide, kBlockSide, columns.first,
                                  rows.first + r, std::min<int64_t>(kTileRowsMax, rows.size() - r),
                                  columns.size());
    }
  }

  const KernelSet& kernels_;
  const Tiles& tiles_;
  const GemmArgs& args_;
  const bool flipped_;
  const GemmOperand& streaming_;
  const GemmOperand& packed_;
  const GemmBlocking blocking_;
  const int64_t depth_;  // elements of k between two stores of C
  uint32_t* const packed_columns_;
  uint16_t* const packed_rows_;
  float* const sums_;
  // The current block.
  Range rows_;
  Range columns_;
  Range k_;
};

}  // namespace

void RunTileGemm(const KernelSet& kernels, ThreadPool& pool, std::byte* workspace,
                 int64_t stride_bytes, const GemmArgs& args, const GemmChoice& choice) {
  const GemmChoice made = TileChoice(args, choice);
  const GemmBlocking blocking = TileBlocking(made);
  const int64_t rows = blocking.flipped ? args.n : args.m;
  const int64_t columns = blocking.flipped ? args.m : args.n;
  const GemmGrid grid = GridFor(args, made, DivideUp(rows, kBlockSide),
                                DivideUp(columns, kBlockSide), pool.threads());
  pool.Run([&](int part) {
    TilePiece piece(kernels, args, blocking, workspace + part * stride_bytes);
    piece.Compute(Cut(rows, kBlockSide, part / grid.columns, grid.rows),
                  Cut(columns, kBlockSide, part % grid.columns, grid.columns));
  });
}

}  // namespace gp::engine
