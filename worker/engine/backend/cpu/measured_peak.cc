#include "worker/engine/backend/cpu/measured_peak.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "worker/engine/backend/cpu/kernel_set.h"
#include "worker/engine/backend/cpu/thread_pool.h"

namespace gp::engine {
namespace {

constexpr int64_t kDepth =
    128;  // of the product: A and B of a tile fill half of a first-level cache
constexpr int kTilesPerBurst = 400;

// One thread's operands, a tile's worth.
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

}  // namespace

double MeasurePeakFlops(Isa isa, int threads, double seconds) {
  using Clock = std::chrono::steady_clock;
  const KernelSet& kernels = KernelsOf(isa);
  ThreadPool pool(threads);
  std::vector<Operands> operands(static_cast<size_t>(pool.threads()));
  const double flops = 2.0 * kDepth * kernels.tile_rows * kernels.width * kernels.tile_vectors *
                       kTilesPerBurst * pool.threads();
  double best = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    const auto start = Clock::now();
    pool.Run([&](int thread) { Burst(kernels, operands[static_cast<size_t>(thread)]); });
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    best = std::max(best, flops / elapsed.count());
  }
  return best;
}

}  // namespace gp::engine
