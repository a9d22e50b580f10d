#include "worker/engine/bench/memory_bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "worker/engine/backend/cpu/thread_pool.h"

namespace gp::engine {

double MeasureMemoryBandwidth(int threads, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kCount = size_t{8} << 20;
  std::vector<float> a(kCount), b(kCount, 1.0f), c(kCount, 2.0f);
  ThreadPool pool(threads);
  const size_t share = kCount / static_cast<size_t>(pool.threads());
  double best = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto start = Clock::now();
    pool.Run([&](int thread) {
      const size_t first = share * static_cast<size_t>(thread);
      for (size_t i = first; i < first + share; ++i) a[i] = b[i] + 3.0f * c[i];
    });
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    best = std::max(best, 3.0 * sizeof(float) * static_cast<double>(kCount) / elapsed.count());
  } while (Clock::now() < end);
  return best;
}

}  // namespace gp::engine
