#include "worker/engine/backend/cpu/gemm_blocking.h"

#include <algorithm>
#include <bit>

#include "plan/arena_plan.h"

namespace gp::engine {
namespace {

// Rows that are not contiguous in k are read again for each panel. With at most this many columns
// that costs less than packing the rows.
constexpr int64_t kInPlaceColumnsMax = 1024;
constexpr int64_t kDepthDefault = 256;   // for bf16
constexpr int64_t kWholeDepthMax = 768;  // for fp32, the largest k that is not cut into blocks
constexpr int64_t kRowsOfThreadMin = 256;
// Multiplications of a piece: about 10 microseconds.
constexpr int64_t kPieceProducts = 2 << 20;
constexpr int64_t kPiecesMax = 256;
constexpr int64_t kPiecesMin = 8;  // where each has kPieceProducts
// Rows of a piece: enough to use a packed panel many times while it is in the first-level cache.
constexpr int64_t kRowsOfPiece = 128;
constexpr int64_t kRowsOfPieceMin = 32;
// Where there is no room for all of k, a thread packs a piece's columns again for each piece.
constexpr int64_t kRowsOfDeepPiece = 512;

// fp32: all of k in one block if k is short enough, because between blocks unfinished sums are
// written to memory and read again; otherwise blocks of equal size. bf16: a smaller depth, because
// its rows are packed again for each block of columns, and a smaller depth leaves room for more
// columns in a block.
int64_t DefaultDepth(const GemmArgs& args) {
  if (args.a.data.type == DataType::kBfloat16) return kDepthDefault;
  const int64_t longest =
      args.k <= kWholeDepthMax || args.b.k_contiguous ? kWholeDepthMax : kWholeDepthMax / 2;
  return DivideUp(DivideUp(args.k, DivideUp(args.k, longest)), 16) * 16;
}

bool PacksRows(const GemmArgs& args, bool flipped, const KernelSet& kernels) {
  const GemmOperand& streaming = flipped ? args.b : args.a;
  const bool bf16 = args.a.data.type == DataType::kBfloat16;
  if (!streaming.k_contiguous) return bf16 || (flipped ? args.m : args.n) > kInPlaceColumnsMax;
  return bf16 && !(kernels.bf16_tiles && args.k % 2 == 0 && streaming.ld % 2 == 0);
}

// Elements of k in a 32-bit unit.
int64_t UnitElements(const GemmArgs& args) {
  return args.a.data.type == DataType::kBfloat16 ? 2 : 1;
}

int64_t PowerOfTwo(int64_t at_least) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(at_least)));
}

// Whether threads divide an activation's rows as every other operation does, so that a thread finds
// its rows in its own cache. Each thread then packs all columns, so this is right only with many
// rows.
bool KeepsRowsAtHome(const GemmArgs& args, int threads) {
  return args.a.k_contiguous && args.m >= kRowsOfThreadMin * threads;
}

// Prefers the grid whose largest piece is smallest, then fewer row ranges, because columns are
// packed once per row range.
GemmGrid MostEvenGrid(int64_t row_units, int64_t column_units, int threads) {
  GemmGrid best{1, threads};
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

}  // namespace

static_assert(kPackedColumnsBytes + kPackedRowsBytes + kScratchBytes ==
              runspec::kGemmThreadWorkspaceBytes);

Range Cut(int64_t total, int64_t unit, int64_t index, int64_t count) {
  const int64_t units = DivideUp(total, unit);
  return {std::min(units * index / count * unit, total),
          std::min(units * (index + 1) / count * unit, total)};
}

GemmBlocking BlockingFor(const GemmArgs& args, const GemmChoice& choice, const KernelSet& kernels) {
  const int64_t panel = int64_t{kernels.width} * kernels.tile_vectors;
  GemmBlocking blocking;
  blocking.flipped = choice.packed == PackedOperand::kFirst;
  blocking.packs_rows = PacksRows(args, blocking.flipped, kernels);
  blocking.depth = choice.depth > 0 ? choice.depth : DefaultDepth(args);
  const int64_t room = kPackedColumnsFloats / blocking.depth;
  const int64_t columns = choice.columns > 0 ? std::min<int64_t>(choice.columns, room) : room;
  blocking.columns = std::max(columns / panel, int64_t{1}) * panel;
  blocking.rows = std::min(kGemmRowsMax, kPackedRowsFloats / blocking.depth / 8 * 8);
  blocking.sums_rows = kScratchFloats / blocking.columns / 8 * 8;
  return blocking;
}

// Rows are cut before columns: that costs less, and a power of two of ranges is divided evenly
// among most numbers of threads.
GemmGrid PiecesOf(const GemmArgs& args, const GemmBlocking& blocking, int64_t row_units,
                  int64_t column_units, int64_t panel) {
  const int64_t wanted =
      std::clamp(args.m * args.n * args.k / kPieceProducts, int64_t{1}, kPiecesMax);
  const int64_t columns_min = DivideUp(column_units, blocking.columns / panel);
  const bool deep = args.k * DivideUp(column_units, columns_min) * panel >
                    kPackedColumnsFloats * UnitElements(args);
  const int64_t rows = blocking.flipped ? args.n : args.m;
  GemmGrid pieces{PowerOfTwo(DivideUp(rows, deep ? kRowsOfDeepPiece : kRowsOfPiece)), columns_min};
  while (pieces.rows * pieces.columns < std::min(wanted, kPiecesMin) &&
         rows > pieces.rows * kRowsOfPieceMin) {
    pieces.rows *= 2;
  }
  pieces.rows = std::min({pieces.rows, row_units, PowerOfTwo(wanted)});
  const int64_t columns_max = std::max(deep ? column_units / 2 : column_units, columns_min);
  if (!blocking.packs_rows) {
    pieces.columns = std::clamp(DivideUp(wanted, pieces.rows), columns_min, columns_max);
  }
  return pieces;
}

PieceOrder::Place PieceOrder::Of(int64_t piece) const {
  // Group g has the row ranges [rows * g / groups, rows * (g + 1) / groups).
  int64_t group = std::min(piece / pieces_.columns * groups_ / pieces_.rows, groups_ - 1);
  while (group > 0 && piece < pieces_.rows * group / groups_ * pieces_.columns) --group;
  while (piece >= pieces_.rows * (group + 1) / groups_ * pieces_.columns) ++group;
  const int64_t first = pieces_.rows * group / groups_;
  const int64_t count = pieces_.rows * (group + 1) / groups_ - first;
  const int64_t within = piece - first * pieces_.columns;
  return {first + within % count, within / count};
}

GemmGrid GridFor(const GemmArgs& args, const GemmChoice& choice, int64_t row_units,
                 int64_t column_units, int threads) {
  if (choice.pieces > 0 && threads % choice.pieces == 0) {
    return {choice.pieces, threads / choice.pieces};
  }
  if (choice.packed != PackedOperand::kFirst && KeepsRowsAtHome(args, threads)) {
    return {threads, 1};
  }
  return MostEvenGrid(row_units, column_units, threads);
}

}  // namespace gp::engine
