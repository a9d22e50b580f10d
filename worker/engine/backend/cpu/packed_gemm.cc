#include "worker/engine/backend/cpu/packed_gemm.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "plan/arena_plan.h"
#include "plan/packed_weight.h"
#include "worker/engine/backend/cpu/gemm_blocking.h"
#include "worker/engine/backend/cpu/kernels/tiles.h"

namespace gp::engine {
namespace {

// Up to this many rows share one read of a panel from memory. Their values of A stay in the
// second-level cache.
constexpr int64_t kRowsAtOnceMax = 64;
constexpr int64_t kPanelMax = int64_t{kTileVectorsMax} * 16;
constexpr int64_t kRowsBytes = 512 << 10;
// Size of a block of a panel: all tiles of rows process it before the next block. It fits into a
// first-level cache together with the rows.
constexpr int64_t kBlockBytes = 24 << 10;
constexpr int64_t kPairsBlockBytes = kBlockBytes / 2;  // kBlockBytes after widening
// With fewer tiles of rows, widening bf16 in registers again for each tile is faster than widening
// a block once in memory.
constexpr int64_t kWidenTilesMin = 4;
// Prefetch distance for a panel of bf16 when one tile reads it. For fp32 the hardware prefetcher is
// faster.
constexpr int64_t kPairsAheadBytes = 2048;

// At level `amx`, fewer rows would leave most of a tile empty.
constexpr int64_t kRowsInTilesMin = kTileSide;

// A thread's workspace: unfinished sums, a widened block, rows of A.
constexpr int64_t kSumsBytes = kRowsAtOnceMax * kPanelMax * 4;
constexpr int64_t kWidenedOffset = kSumsBytes;
constexpr int64_t kRowsOffset = kWidenedOffset + kBlockBytes;
static_assert(runspec::kPackedColumns % kPanelMax == 0);

int64_t PanelOf(const KernelSet& kernels) { return int64_t{kernels.width} * kernels.tile_vectors; }

// 32-bit units of a column of B.
int64_t UnitsOf(DataType type, int64_t k) {
  return type == DataType::kBfloat16 ? DivideUp(k, 2) : k;
}

// Gives out panels to threads on demand. A share is half of the remaining panels divided by the
// number of threads, so that all threads end together even if one core is slower or starts late.
// The bits of a panel do not depend on its thread.
class PanelShares {
 public:
  PanelShares(int64_t panels, int threads) : panels_(panels), threads_(threads) {}

  // Empty when none are left.
  Range Take() {
    int64_t first = next_.load(std::memory_order_relaxed);
    int64_t last = 0;
    do {
      last = first + DivideUp(panels_ - first, 2 * int64_t{threads_});
    } while (!next_.compare_exchange_weak(first, last, std::memory_order_relaxed));
    return {first, last};
  }

 private:
  const int64_t panels_;
  const int threads_;
  std::atomic<int64_t> next_{0};
};

// The product of up to kRowsAtOnceMax rows with packed panels by tiles, at level `amx`. The panels
// are read where they lie, except for the end of k that does not fill a block.
class TileRowsOfPanels {
 public:
  // `to`: memory for the rows in the form of Tiles. `panel`: columns of a panel.
  TileRowsOfPanels(const Tiles& tiles, int64_t k, int64_t panel, uint16_t* to)
      : tiles_(tiles),
        panel_(panel),
        blocks_(k / kTileDepth),
        tail_units_(DivideUp(k % kTileDepth, 2)),
        stride_(DivideUp(k, kTileDepth) * kTileDepth),
        rows_(to) {}

  void LoadRows(const GemmOperand& from, int64_t first, int64_t count, int64_t k) {
    count_ = count;
    tiles_.pack_rows({.from = from,
                      .i_first = first,
                      .i_count = count,
                      .k_count = k,
                      .to = rows_,
                      .stride = stride_});
  }

  // sums (rows, panel) = the product with the panel at `b`.
  void Multiply(const uint32_t* b, float* sums) {
    if (tail_units_ > 0) CopyTail(b + blocks_ * kTileUnits * panel_);
    for (int64_t row = 0; row < count_; row += kBlockSide) {
      for (int64_t column = 0; column < panel_; column += kBlockSide) {
        MultiplyBlock(b, row, column, sums);
      }
    }
  }

 private:
  void CopyTail(const uint32_t* from) {
    std::copy_n(from, tail_units_ * panel_, tail_);
    std::fill(tail_ + tail_units_ * panel_, tail_ + kTileUnits * panel_, 0u);
  }

  void MultiplyBlock(const uint32_t* b, int64_t row, int64_t column, float* sums) const {
    TileBlock block{.row_tiles = DivideUp(std::min(kBlockSide, count_ - row), kTileSide),
                    .column_tiles = DivideUp(std::min(kBlockSide, panel_ - column), kTileSide),
                    .blocks = blocks_,
                    .a = rows_ + row * stride_,
                    .a_stride = stride_,
                    .b = b + column,
                    .b_stride = panel_,
                    .c = sums + row * panel_ + column,
                    .ldc = panel_,
                    .last = tail_units_ == 0};
    if (blocks_ > 0) tiles_.multiply(block);
    if (tail_units_ == 0) return;
    block.accumulate = blocks_ > 0;
    block.blocks = 1;
    block.a += blocks_ * kTileDepth;
    block.b = tail_ + column;
    block.last = true;
    tiles_.multiply(block);
  }

  const Tiles& tiles_;
  const int64_t panel_;
  const int64_t blocks_;      // whole ones of k
  const int64_t tail_units_;  // of the last block, if it is not whole
  const int64_t stride_;
  uint16_t* const rows_;
  int64_t count_ = 0;
  alignas(64) uint32_t tail_[kTileUnits * kPanelMax];
};

class PackedPiece {
 public:
  PackedPiece(const KernelSet& kernels, const GemmArgs& args, std::byte* workspace)
      : kernels_(kernels),
        args_(args),
        pairs_(args.a.data.type == DataType::kBfloat16),
        panel_(PanelOf(kernels)),
        units_(UnitsOf(args.a.data.type, args.k)),
        a_units_(pairs_ && !kernels.bf16_tiles ? 2 : 1),
        sums_(reinterpret_cast<float*>(workspace)),
        widened_(reinterpret_cast<float*>(workspace + kWidenedOffset)),
        paired_rows_(reinterpret_cast<uint32_t*>(workspace + kRowsOffset)) {
    if (pairs_ && kernels.tiles != nullptr && args.m >= kRowsInTilesMin) {
      tile_rows_.emplace(*kernels.tiles, args.k, panel_,
                         reinterpret_cast<uint16_t*>(workspace + kRowsOffset));
    }
  }

  // Computes all rows of every panel that `shares` gives out.
  void Compute(PanelShares& shares) {
    if (tile_rows_) kernels_.tiles->begin();
    ComputeShares(shares);
    if (tile_rows_) kernels_.tiles->end();
  }

 private:
  void ComputeShares(PanelShares& shares) {
    const int64_t rows_max = RowsAtOnce();
    for (Range panels = shares.Take(); panels.size() > 0; panels = shares.Take()) {
      for (int64_t row = 0; row < args_.m; row += rows_max) {
        LoadRows(row, std::min(rows_max, args_.m - row));
        for (int64_t panel = panels.first; panel < panels.last; ++panel) ComputePanel(panel);
      }
    }
  }

  int64_t RowsAtOnce() const {
    const int64_t room = runspec::kGemmThreadWorkspaceBytes - kRowsOffset;
    const int64_t rows = std::min(kRowsBytes, room) / (units_ * a_units_ * 4);
    return std::clamp(rows / kernels_.tile_rows * kernels_.tile_rows, int64_t{kernels_.tile_rows},
                      kRowsAtOnceMax);
  }

  void LoadRows(int64_t first, int64_t count) {
    if (first == first_row_ && count == rows_) return;  // the same as the previous share
    first_row_ = first;
    rows_ = count;
    if (tile_rows_) return tile_rows_->LoadRows(args_.a, first, count, args_.k);
    a_ = static_cast<const uint32_t*>(args_.a.data.data) + first * args_.a.ld;
    a_stride_ = args_.a.ld;
    if (!pairs_) return;
    kernels_.pair_rows(args_.a.data.bf16() + first * args_.a.ld, args_.a.ld, count, args_.k,
                       paired_rows_);
    a_ = paired_rows_;
    a_stride_ = units_ * a_units_;
  }

  void ComputePanel(int64_t panel) {
    const auto* b = static_cast<const std::byte*>(args_.b.data.data) + panel * units_ * panel_ * 4;
    if (tile_rows_) {
      tile_rows_->Multiply(reinterpret_cast<const uint32_t*>(b), sums_);
    } else {
      ComputeSums(b);
    }
    const int64_t column = panel * panel_;
    kernels_.store_tile(args_.output, sums_, panel_, first_row_, column, rows_,
                        std::min(panel_, args_.n - column));
  }

  void ComputeSums(const std::byte* b) {
    const int64_t tiles = DivideUp(rows_, kernels_.tile_rows);
    // Level `amx` adds odd and even elements separately, so its kernel takes pairs only.
    const bool widens = a_units_ == 2 && tiles >= kWidenTilesMin && kernels_.tiles == nullptr;
    const int64_t block_bytes = pairs_ ? kPairsBlockBytes : kBlockBytes;
    const int64_t depth = tiles == 1 ? units_ : block_bytes / (panel_ * 4);
    for (int64_t unit = 0; unit < units_; unit += depth) {
      const int64_t units = std::min(depth, units_ - unit);
      const std::byte* block = b + unit * panel_ * 4;
      widens ? ComputeWidened(block, unit, units, tiles) : ComputeBlock(block, unit, units, tiles);
    }
  }

  // Every tile of rows prefetches its share of the next block, which may belong to the next panel.
  void ComputeBlock(const std::byte* b, int64_t unit, int64_t units, int64_t tiles) {
    PanelBlock block{.a_stride = a_stride_,
                     .b = b,
                     .units = units,
                     .pairs = pairs_,
                     .accumulate = unit > 0,
                     .ahead_step = panel_ * 4 / a_units_ / tiles};
    const int64_t ahead = tiles > 1 ? units * panel_ * 4 : pairs_ ? kPairsAheadBytes : 0;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      block.ahead = b + ahead + tile * units * a_units_ * block.ahead_step;
      ComputeTile(block, unit, tile, tiles);
    }
  }

  // Widens the block's bf16 to fp32 for all tiles, prefetching the next block.
  void ComputeWidened(const std::byte* b, int64_t unit, int64_t units, int64_t tiles) {
    kernels_.widen_panel(reinterpret_cast<const uint32_t*>(b), units, b + units * panel_ * 4,
                         widened_);
    PanelBlock block{.a_stride = a_stride_,
                     .b = widened_,
                     .units = 2 * units,
                     .accumulate = unit > 0,
                     .ahead = widened_};
    for (int64_t tile = 0; tile < tiles; ++tile) ComputeTile(block, unit, tile, tiles);
  }

  void ComputeTile(PanelBlock& block, int64_t unit, int64_t tile, int64_t tiles) {
    const int64_t row = rows_ * tile / tiles;
    block.rows = rows_ * (tile + 1) / tiles - row;
    block.a = a_ + row * a_stride_ + unit * a_units_;
    block.sums = sums_ + row * panel_;
    kernels_.panel(block);
  }

  const KernelSet& kernels_;
  const GemmArgs& args_;
  const bool pairs_;
  const int64_t panel_;
  const int64_t units_;    // units of k in B
  const int64_t a_units_;  // units of A for one unit of B
  float* const sums_;
  float* const widened_;
  uint32_t* const paired_rows_;
  std::optional<TileRowsOfPanels> tile_rows_;  // computes the sums at level `amx`
  // The rows that are being computed.
  int64_t first_row_ = 0;
  int64_t rows_ = 0;
  const uint32_t* a_ = nullptr;
  int64_t a_stride_ = 0;
};

}  // namespace

void PackWeight(const KernelSet& kernels, ThreadPool& pool, const WeightRows& args) {
  const int64_t panel = PanelOf(kernels);
  const int64_t panel_bytes = UnitsOf(args.rows.type, args.in) * panel * 4;
  auto* to = static_cast<std::byte*>(args.packed.data) + args.first / panel * panel_bytes;
  pool.For(args.count, panel, [&](int64_t first, int64_t last) {
    kernels.pack({.from = {args.rows, args.in, true},
                  .i_first = first,
                  .i_count = last - first,
                  .k_count = args.in,
                  .panel = panel,
                  .to = to + first / panel * panel_bytes,
                  .keep_pairs = true});
  });
}

void RunPackedGemm(const KernelSet& kernels, ThreadPool& pool, std::byte* workspace,
                   int64_t stride_bytes, const GemmArgs& args) {
  PanelShares shares(DivideUp(args.n, PanelOf(kernels)), pool.threads());
  pool.Run([&](int thread) {
    PackedPiece(kernels, args, workspace + thread * stride_bytes).Compute(shares);
  });
}

}  // namespace gp::engine
