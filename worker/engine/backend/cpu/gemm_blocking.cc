#include "worker/engine/backend/cpu/gemm_blocking.h"

#include <algorithm>

#include "plan/arena_plan.h"

namespace gp::engine {
namespace {

constexpr int64_t kDepthDefault = 256;   // for bf16
constexpr int64_t kWholeDepthMax = 768;  // for fp32, the largest k that is not cut into blocks
constexpr int64_t kRowsOfThreadMin = 256;

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

GemmBlocking BlockingFor(const GemmArgs& args, const GemmChoice& choice, int64_t panel) {
  GemmBlocking blocking;
  blocking.flipped = choice.packed == PackedOperand::kFirst;
  blocking.depth = choice.depth > 0 ? choice.depth : DefaultDepth(args);
  const int64_t room = kPackedColumnsFloats / blocking.depth;
  const int64_t columns = choice.columns > 0 ? std::min<int64_t>(choice.columns, room) : room;
  blocking.columns = std::max(columns / panel, int64_t{1}) * panel;
  blocking.rows = std::min(kGemmRowsMax, kPackedRowsFloats / blocking.depth / 8 * 8);
  blocking.sums_rows = kScratchFloats / blocking.columns / 8 * 8;
  return blocking;
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
