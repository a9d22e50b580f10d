#include "worker/engine/backend/cpu/measured_peak.h"

#include <time.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/thread_pool.h"

namespace gp::engine {
namespace {

// k of the product: A and B of one tile fill half of a first-level cache.
constexpr int64_t kDepth = 128;
constexpr int kTilesPerBurst = 400;

// The operands of one tile, for one thread.
struct Operands {
  std::vector<float> a = std::vector<float>(kTileRowsMax * kDepth, 0.5f);
  std::vector<float> b = std::vector<float>(kTileVectorsMax * 16 * kDepth, 0.5f);
  std::vector<float> c = std::vector<float>(kTileRowsMax * kTileVectorsMax * 16);
};

void Burst(const KernelSet& kernels, Operands& operands) {
  const TileKernel tile = kernels.tile_f32.rows[kernels.tile_rows - 1][kernels.tile_vectors - 1];
  const int64_t columns = int64_t{kernels.width} * kernels.tile_vectors;
  for (int i = 0; i < kTilesPerBurst; ++i) {
    tile(kDepth, operands.a.data(), kDepth, operands.b.data(), columns, operands.c.data(), columns,
         false);
  }
}

// Processor time of this thread. Wall time would count the time in which another process has the
// core.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Floating-point operations per second of this thread's best burst.
double BestRate(const KernelSet& kernels, double seconds) {
  const double flops =
      2.0 * kDepth * kernels.tile_rows * kernels.width * kernels.tile_vectors * kTilesPerBurst;
  Operands operands;
  double best = 0;
  const double end = ThreadSeconds() + seconds;
  for (double start = ThreadSeconds(); start < end;) {
    Burst(kernels, operands);
    const double stop = ThreadSeconds();
    best = std::max(best, flops / (stop - start));
    start = stop;
  }
  return best;
}

}  // namespace

double MeasurePeakFlops(Isa isa, int threads, double seconds) {
  const KernelSet& kernels = KernelsOf(isa);
  ThreadPool pool(threads);
  std::vector<double> rates(static_cast<size_t>(pool.threads()));
  pool.Run([&](int thread) { rates[static_cast<size_t>(thread)] = BestRate(kernels, seconds); });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace gp::engine
