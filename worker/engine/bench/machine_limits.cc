#include "worker/engine/bench/machine_limits.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "worker/engine/backend/cpu/measured_peak.h"
#include "worker/engine/bench/memory_bandwidth.h"
#include "worker/engine/bench/model_flags.h"
#include "worker/engine/bench/noise.h"

namespace gp::engine {
namespace {

constexpr int64_t kSide = 8192;  // of the product: 1.1 TFLOP
constexpr int64_t kCopyBytes = int64_t{1} << 30;
constexpr int kRepeats = 8;
constexpr int kTries = 5;

// The least of several, after one that warms up.
double BestSeconds(Backend& backend, const std::function<void()>& run) {
  run();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    best = std::min(best, MillisecondsOf(backend, kRepeats, run));
  }
  return best * 1e-3;
}

double DeviceFlops(const ModelOptions& options) {
  const std::unique_ptr<Backend> backend = MakeBackend(options).backend;
  NoiseSource noise(*backend);
  const DataType type = ComputeTypeOf(options);
  const LinearForward product{.shape = {kSide, kSide, kSide},
                              .y = noise.Values(kSide * kSide, type),
                              .x = noise.Values(kSide * kSide, type),
                              .w = noise.Values(kSide * kSide, type),
                              .may_be_fp8 = true};
  const double seconds = BestSeconds(*backend, [&] { backend->Forward(product); });
  return 2.0 * kSide * kSide * kSide / seconds;
}

double DeviceBandwidth(const ModelOptions& options) {
  const std::unique_ptr<Backend> backend = MakeBackend(options).backend;
  void* from = backend->Allocate(kCopyBytes);
  void* to = backend->Allocate(kCopyBytes);
  const double seconds = BestSeconds(*backend, [&] { backend->Copy(to, from, kCopyBytes); });
  return 2.0 * kCopyBytes / seconds;
}

}  // namespace

double MillisecondsOf(Backend& backend, int count, const std::function<void()>& run) {
  backend.Mark(0);
  for (int i = 0; i < count; ++i) run();
  backend.Mark(1);
  backend.Synchronize();
  return backend.MillisecondsBetween(0, 1) / count;
}

double MeasureFlops(const ModelOptions& options) {
  if (options.device.on) return DeviceFlops(options);
  return MeasurePeakFlops(options.isa, options.threads);
}

double MeasureBandwidth(const ModelOptions& options) {
  if (options.device.on) return DeviceBandwidth(options);
  return MeasureMemoryBandwidth(options.threads);
}

}  // namespace gp::engine
