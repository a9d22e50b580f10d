#include "worker/engine/backend/cpu/skinny_gemm.h"

#include <algorithm>

#include "plan/arena_plan.h"

namespace gp::engine {
namespace {

// With more rows, packing B costs less than reading it again for every few rows.
constexpr int64_t kRowsMax = 16;
constexpr int kWidthMax = 16;

int64_t PackedBytes(const GemmArgs& args) {
  const int64_t rows = (args.m + kTileRowsMax - 1) / kTileRowsMax * kTileRowsMax;
  return rows * (args.k + 1) * 4 + 64;  // 64: the last vector may reach past the end
}

class SkinnyPiece {
 public:
  SkinnyPiece(const KernelSet& kernels, const GemmArgs& args, std::byte* workspace)
      : kernels_(kernels), args_(args), packed_a_(workspace) {
    kernels_.pack({args_.a, 0, args_.m, 0, args_.k, kernels_.tile_rows, packed_a_});
  }

  // Columns [first, last), kernels.width of them at a time.
  void Compute(int64_t first, int64_t last) const {
    for (int64_t column = first; column < last; column += kernels_.width) {
      const int64_t count = std::min<int64_t>(kernels_.width, last - column);
      for (int64_t row = 0; row < args_.m; row += kernels_.tile_rows) {
        ComputeTile(row, std::min<int64_t>(kernels_.tile_rows, args_.m - row), column, count);
      }
    }
  }

 private:
  void ComputeTile(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    alignas(64) float sums[kTileRowsMax * kWidthMax];
    kernels_.skinny(
        {rows, packed_a_ + row * UnitsOfK() * 4, args_.b, column, columns, args_.k, sums});
    kernels_.store_tile(args_.output, sums, kernels_.width, row, column, rows, columns);
  }

  // 32-bit units in which `pack` writes a row of A.
  int64_t UnitsOfK() const {
    if (args_.a.data.type != DataType::kBfloat16) return args_.k;
    const int64_t pairs = (args_.k + 1) / 2;
    return kernels_.bf16_tiles ? pairs : 2 * pairs;
  }

  const KernelSet& kernels_;
  const GemmArgs& args_;
  std::byte* const packed_a_;
};

}  // namespace

bool IsSkinny(const GemmArgs& args) {
  return args.m <= kRowsMax && args.b.k_contiguous && !args.accumulate &&
         PackedBytes(args) <= runspec::kGemmThreadWorkspaceBytes;
}

void RunSkinnyGemm(const KernelSet& kernels, ThreadPool& pool, std::byte* workspace,
                   int64_t stride_bytes, const GemmArgs& args) {
  const int64_t groups = (args.n + kernels.width - 1) / kernels.width;
  pool.Run([&](int thread) {
    const int64_t first = groups * thread / pool.threads() * kernels.width;
    const int64_t last = std::min(groups * (thread + 1) / pool.threads() * kernels.width, args.n);
    if (first < last) {
      SkinnyPiece(kernels, args, workspace + thread * stride_bytes).Compute(first, last);
    }
  });
}

}  // namespace gp::engine
