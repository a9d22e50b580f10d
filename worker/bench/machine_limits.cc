#include "worker/bench/machine_limits.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "plan/gpu_workspace.h"
#include "worker/bench/memory_bandwidth.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/noise.h"
#include "worker/engine/backend/cpu/kernels/amx_support.h"
#include "worker/engine/backend/cpu/measured_peak.h"

namespace gp::engine {
namespace {

constexpr int kRepeats = 8;
constexpr int kTries = 5;
constexpr int64_t kFp8Slack = 64 << 10;  // scales, partial maxima, alignment

// The shortest of kTries measurements, after one warm-up call.
double BestSeconds(Backend& backend, const std::function<void()>& run) {
  run();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    best = std::min(best, MillisecondsOf(backend, kRepeats, run));
  }
  return best * 1e-3;
}

// In FP8 both operands are rounded into scratch memory, whose size depends on the model's batch.
// Raises the batch until both operands fit.
ModelOptions WithRoomFor(ModelOptions options, int64_t side) {
  if (options.precision != runspec::Precision::kFp8) return options;
  const int64_t needed = 2 * side * side + kFp8Slack;
  while (
      runspec::GpuWorkspacePieceOf(options.shape, ArenaOptionsOf(options), "scratch").size_bytes <
      needed) {
    options.micro_batch *= 2;
  }
  return options;
}

double DeviceFlops(const ModelOptions& options, int64_t side) {
  const std::unique_ptr<Backend> backend =
      MakeBackend(WithRoomFor(WithoutTraining(options), side)).backend;
  NoiseSource noise(*backend);
  const DataType type = ComputeTypeOf(options);
  const LinearForward product{.shape = {side, side, side},
                              .y = noise.Values(side * side, type),
                              .x = noise.Values(side * side, type),
                              .w = noise.Values(side * side, type),
                              .may_be_fp8 = true};
  const double seconds = BestSeconds(*backend, [&] { backend->Forward(product); });
  return 2.0 * static_cast<double>(side * side * side) / seconds;
}

double DeviceBandwidth(const ModelOptions& options, int64_t side) {
  const int64_t bytes = 16 * side * side;
  const std::unique_ptr<Backend> backend = MakeBackend(WithoutTraining(options)).backend;
  void* from = backend->Allocate(bytes);
  void* to = backend->Allocate(bytes);
  const double seconds = BestSeconds(*backend, [&] { backend->Copy(to, from, bytes); });
  return 2.0 * static_cast<double>(bytes) / seconds;
}

}  // namespace

double MillisecondsOf(Backend& backend, int count, const std::function<void()>& run) {
  backend.Mark(0);
  for (int i = 0; i < count; ++i) run();
  backend.Mark(1);
  backend.Synchronize();
  return backend.MillisecondsBetween(0, 1) / count;
}

double MeasureFlops(const ModelOptions& options, int64_t peak_side) {
  if (options.device.on) return DeviceFlops(options, peak_side);
  return MeasurePeakFlops(options.isa, options.threads);
}

double MeasureTileFlops(const ModelOptions& options) {
  if (options.device.on || !Amx().usable) return 0;
  return MeasureTilePeakFlops(AmxTiles(), options.threads);
}

double MeasureBandwidth(const ModelOptions& options, int64_t peak_side) {
  if (options.device.on) return DeviceBandwidth(options, peak_side);
  return MeasureMemoryBandwidth(options.threads);
}

double MeasureReadBandwidth(const ModelOptions& options, int64_t peak_side) {
  if (options.device.on) return DeviceBandwidth(options, peak_side);
  return MeasureMemoryReads(options.threads);
}

}  // namespace gp::engine
