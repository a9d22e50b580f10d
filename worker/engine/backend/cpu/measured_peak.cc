#include "worker/engine/backend/cpu/measured_peak.h"

#include <time.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/thread_pool.h"

namespace gp::engine {
namespace {

// k of the products: A and B of one tile fill half of a first-level cache or less.
constexpr int64_t kDepth = 128;
constexpr int kTilesPerBurst = 400;

// Products of one tile in fp32, for one thread.
class VectorBurst {
 public:
  explicit VectorBurst(const KernelSet& kernels)
      : tile_(kernels.tile_f32.rows[kernels.tile_rows - 1][kernels.tile_vectors - 1]),
        rows_(kernels.tile_rows),
        columns_(int64_t{kernels.width} * kernels.tile_vectors) {}

  void Run() {
    for (int i = 0; i < kTilesPerBurst; ++i) {
      tile_(kDepth, a_.data(), kDepth, b_.data(), columns_, c_.data(), columns_, false);
    }
  }
  double flops() const {
    return 2.0 * kDepth * static_cast<double>(rows_ * columns_) * kTilesPerBurst;
  }

 private:
  const TileKernel tile_;
  const int64_t rows_;
  const int64_t columns_;
  std::vector<float> a_ = std::vector<float>(kTileRowsMax * kDepth, 0.5f);
  std::vector<float> b_ = std::vector<float>(kTileVectorsMax * 16 * kDepth, 0.5f);
  std::vector<float> c_ = std::vector<float>(kTileRowsMax * kTileVectorsMax * 16);
};

// Products of 2 x 2 tiles in bf16, for one thread.
class TileBurst {
 public:
  explicit TileBurst(const Tiles& tiles) : tiles_(tiles) { tiles_.begin(); }
  ~TileBurst() { tiles_.end(); }
  TileBurst(const TileBurst&) = delete;
  TileBurst& operator=(const TileBurst&) = delete;

  void Run() {
    for (int i = 0; i < kBlocksPerBurst; ++i) {
      tiles_.multiply({.row_tiles = kTilesAcross,
                       .column_tiles = kTilesAcross,
                       .blocks = kDepth / kTileDepth,
                       .a = a_.data(),
                       .a_stride = kDepth,
                       .b = b_.data(),
                       .b_stride = kBlockSide,
                       .c = c_.data(),
                       .ldc = kBlockSide});
    }
  }
  double flops() const { return 2.0 * kDepth * kBlockSide * kBlockSide * kBlocksPerBurst; }

 private:
  static constexpr int kBlocksPerBurst = 200;
  static constexpr uint16_t kHalf = 0x3f00;  // 0.5 in bf16
  const Tiles& tiles_;
  std::vector<uint16_t> a_ = std::vector<uint16_t>(kBlockSide * kDepth, kHalf);
  std::vector<uint32_t> b_ = std::vector<uint32_t>(kBlockSide * kDepth / 2, kHalf << 16 | kHalf);
  std::vector<float> c_ = std::vector<float>(kBlockSide * kBlockSide);
};

// Processor time of this thread. Wall time would count the time in which another process has the
// core.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Floating-point operations per second of this thread's best burst.
template <typename Burst>
double BestRate(Burst&& burst, double seconds) {
  double best = 0;
  const double end = ThreadSeconds() + seconds;
  for (double start = ThreadSeconds(); start < end;) {
    burst.Run();
    const double stop = ThreadSeconds();
    best = std::max(best, burst.flops() / (stop - start));
    start = stop;
  }
  return best;
}

// The sum of the rates of `threads` threads.
template <typename RateOfThread>
double SumOfRates(int threads, const RateOfThread& rate) {
  ThreadPool pool(threads);
  std::vector<double> rates(static_cast<size_t>(pool.threads()));
  pool.Run([&](int thread) { rates[static_cast<size_t>(thread)] = rate(); });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

double MeasurePeakFlops(Isa isa, int threads, double seconds) {
  const KernelSet& kernels = KernelsOf(isa, TileUse::kNever);
  return SumOfRates(threads, [&] { return BestRate(VectorBurst(kernels), seconds); });
}

double MeasureTilePeakFlops(const Tiles& tiles, int threads, double seconds) {
  return SumOfRates(threads, [&] { return BestRate(TileBurst(tiles), seconds); });
}

}  // namespace gp::engine
