#include "worker/bench/memory_bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "worker/engine/backend/cpu/huge_pages.h"
#include "worker/engine/backend/cpu/thread_pool.h"

namespace gp::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Repeats `pass` for `seconds`; returns the bytes per second of the fastest pass.
template <typename Pass>
double BestRate(double bytes, double seconds, const Pass& pass) {
  double best = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto start = Clock::now();
    pass();
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    best = std::max(best, bytes / elapsed.count());
  } while (Clock::now() < end);
  return best;
}

typedef uint64_t Line __attribute__((vector_size(64)));

// Adds vectors, so that memory and not the additions limit the rate.
uint64_t SumOf(const Line* first, const Line* last) {
  Line sum{};
  for (; first != last; ++first) sum += *first;
  return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

}  // namespace

double MeasureMemoryBandwidth(int threads, double seconds) {
  constexpr size_t kCount = size_t{8} << 20;
  std::vector<float> a(kCount), b(kCount, 1.0f), c(kCount, 2.0f);
  ThreadPool pool(threads);
  const size_t share = kCount / static_cast<size_t>(pool.threads());
  return BestRate(3.0 * sizeof(float) * static_cast<double>(kCount), seconds, [&] {
    pool.Run([&](int thread) {
      const size_t first = share * static_cast<size_t>(thread);
      for (size_t i = first; i < first + share; ++i) a[i] = b[i] + 3.0f * c[i];
    });
  });
}

double MeasureMemoryReads(int threads, double seconds) {
  constexpr int64_t kBytes = int64_t{256} << 20;
  const HugePages pages(kBytes);
  std::memset(pages.data(), 1, kBytes);  // a page has no memory until it is written
  const auto* lines = static_cast<const Line*>(pages.data());
  constexpr int64_t kLines = kBytes / static_cast<int64_t>(sizeof(Line));
  ThreadPool pool(threads);
  std::vector<uint64_t> sums(static_cast<size_t>(pool.threads()));
  return BestRate(static_cast<double>(kBytes), seconds, [&] {
    pool.Run([&](int thread) {
      sums[static_cast<size_t>(thread)] += SumOf(lines + kLines * thread / pool.threads(),
                                                 lines + kLines * (thread + 1) / pool.threads());
    });
  });
}

}  // namespace gp::engine
