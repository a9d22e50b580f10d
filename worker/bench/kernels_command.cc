// `gp-bench kernels`: times each operation of the backend at a model's shapes, in milliseconds and
// as a fraction of this machine's measured peak.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "worker/bench/bench_command.h"
#include "worker/bench/core_set.h"
#include "worker/bench/kernel_cases.h"
#include "worker/bench/machine_limits.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/report.h"
#include "worker/engine/backend/cpu/kernels/amx_support.h"

namespace gp::engine {
namespace {

struct KernelsFlags {
  ModelFlags model;
  std::string filter;
  double seconds = 0.1;  // how long each operation is measured
};

struct MachineLimits {
  double flops = 0;
  double tile_flops = 0;  // of AMX; 0: none
  double bytes_per_second = 0;
};

// Whether tile registers compute the model's products.
bool UsesTiles(const ModelOptions& options) {
  return !options.device.on && ResolveIsa(options.isa) == Isa::kAmx && Amx().usable &&
         ComputeTypeOf(options) == DataType::kBfloat16;
}

// Calls per sample. On a device there are enough of them to make the launch overhead negligible.
int CallsOfSample(double ms, bool on_device) {
  constexpr double kSampleMs = 2;
  return on_device ? std::max(1, static_cast<int>(std::ceil(kSampleMs / std::max(ms, 1e-3)))) : 1;
}

// Takes at least five samples after one warm-up call, and as many as fit into `seconds`.
SampleSummary Time(Backend& backend, const KernelCase& kernel, double seconds, bool on_device) {
  kernel.run();
  const int calls = CallsOfSample(MillisecondsOf(backend, 1, kernel.run), on_device);
  std::vector<double> samples;
  double total = 0;
  while (samples.size() < 5 || total < 1e3 * seconds) {
    samples.push_back(MillisecondsOf(backend, calls, kernel.run));
    total += calls * samples.back();
  }
  return Summarize(samples);
}

// Products by tile registers are compared with their peak, everything else with fp32's.
Json Row(const KernelCase& kernel, const SampleSummary& ms, const MachineLimits& limits,
         bool uses_tiles) {
  Json row = {{"name", kernel.name},
              {"shape", kernel.shape},
              {"calls_per_step", kernel.calls_per_step},
              {"ms", ToJson(ms)}};
  const double seconds = ms.median * 1e-3;
  if (kernel.flops > 0) {
    row["gflops"] = kernel.flops / seconds / 1e9;
    const double peak = uses_tiles && kernel.product ? limits.tile_flops : limits.flops;
    row["of_peak"] = kernel.flops / seconds / peak;
  } else {
    row["gigabytes_per_second"] = kernel.bytes / seconds / 1e9;
    row["of_peak"] = kernel.bytes / seconds / limits.bytes_per_second;
  }
  return row;
}

// "AMX peak 7200 GFLOP/s bf16", or why there is none.
std::string TilePeakText(const Json& report) {
  if (report["device"] != "cpu") return "";
  const double peak = report["amx_peak_gflops_measured"].get<double>();
  if (peak > 0) return fmt::format("measured AMX peak {:.0f} GFLOP/s bf16\n", peak);
  return fmt::format("no AMX: {}\n", report["why_no_amx"].get<std::string>());
}

void PrintKernels(const Json& report) {
  fmt::print("model {}, {} rows, {}, {} threads, {} kernels\n", report["model"].get<std::string>(),
             report["rows"].get<int64_t>(), report["precision"].get<std::string>(),
             report["threads"].get<int>(), report["kernels"].get<std::string>());
  fmt::print(
      "measured peak {:.0f} GFLOP/s {}, memory {:.1f} GB/s (data in a cache can exceed it)\n",
      report["peak_gflops_measured"].get<double>(),
      report["device"] == "cpu" ? "fp32" : report["precision"].get<std::string>(),
      report["gigabytes_per_second_measured"].get<double>());
  fmt::print("{}\n", TilePeakText(report));
  fmt::print("{:<24} {:<22} {:>9} {:>15} {:>8} {:>6} {:>9}\n", "operation", "shape", "ms", "rate",
             "of peak", "calls", "ms a step");
  double total = 0;
  for (const Json& row : report["operations"]) {
    const double ms = row["ms"]["median"].get<double>();
    const int calls = row["calls_per_step"].get<int>();
    const bool compute = row.contains("gflops");
    const double rate = row[compute ? "gflops" : "gigabytes_per_second"].get<double>();
    fmt::print("{:<24} {:<22} {:>9.3f} {:>15} {:>7.0f}% {:>6} {:>9.2f}\n",
               row["name"].get<std::string>(), row["shape"].get<std::string>(), ms,
               fmt::format("{:.1f} {}", rate, compute ? "GFLOP/s" : "GB/s"),
               100 * row["of_peak"].get<double>(), calls, ms * calls);
    total += ms * calls;
  }
  fmt::print("{:>99.2f}\n", total);
}

Status RunKernels(const KernelsFlags& flags) {
  const ModelOptions options = MakeModelOptions(flags.model);
  UseCores(options.threads);
  const MachineLimits limits{MeasureFlops(options, flags.model.peak_side),
                             MeasureTileFlops(options),
                             MeasureBandwidth(options, flags.model.peak_side)};
  KernelCases kernels(options);
  Json rows = Json::array();
  for (const KernelCase& kernel : kernels.cases()) {
    if (kernel.name.find(flags.filter) == std::string::npos) continue;
    const SampleSummary ms = Time(kernels.backend(), kernel, flags.seconds, options.device.on);
    rows.push_back(Row(kernel, ms, limits, UsesTiles(options)));
  }
  Json report = MakeDocument("KernelBench");
  report.update({{"model", flags.model.model},
                 {"rows", options.micro_batch * options.sequence},
                 {"precision", PrecisionName(options)},
                 {"device", DeviceName(options)},
                 {"threads", options.threads},
                 {"kernels", kernels.backend().name()},
                 {"amx_peak_gflops_measured", limits.tile_flops / 1e9},
                 {"why_no_amx", options.device.on ? "" : Amx().why_not},
                 {"peak_gflops_measured", limits.flops / 1e9},
                 {"gigabytes_per_second_measured", limits.bytes_per_second / 1e9},
                 {"operations", rows}});
  flags.model.json() ? PrintJson(report) : PrintKernels(report);
  return OkStatus();
}

}  // namespace

BenchRun AddKernelsCommand(const Command& app) {
  auto flags = std::make_shared<KernelsFlags>();
  AddModelFlags(app, flags->model);
  AddEngineFlags(app, flags->model);
  app.Option("--filter", flags->filter, "only operations whose name contains this");
  app.Option("--seconds", flags->seconds, "seconds to measure each operation")
      .Positive()
      .ShowDefault();
  return [flags] { return RunKernels(*flags); };
}

}  // namespace gp::engine
