#include "worker/bench/step_profile.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "worker/bench/step_bench.h"
#include "worker/engine/model/gpt2.h"

namespace gp::engine {
namespace {

constexpr int kWarmup = 2;
constexpr int kSteps = 5;

}  // namespace

Json ProfileStep(const ModelOptions& options) {
  if (options.kind == runspec::EngineKind::kReference) {
    throw std::invalid_argument(
        "--profile times the operations of gp's engine; the reference engine uses libtorch");
  }
  auto timed = std::make_unique<TimedBackend>(MakeBackend(options).backend);
  TimedBackend& backend = *timed;
  auto model = std::make_unique<Gpt2>(Gpt2Options{options.shape, ArenaOptionsOf(options),
                                                  options.kind == runspec::EngineKind::kFused},
                                      std::move(timed));
  StepBench bench(options, std::move(model), /*fused_optimizer=*/true);
  bench.Run(kWarmup);
  backend.TakeTimes();
  bench.Run(kSteps);
  return OperationsJson(backend.TakeTimes(), kSteps);
}

Json OperationsJson(const std::vector<OperationTime>& times, int count) {
  Json operations = Json::array();
  for (const OperationTime& time : times) {
    operations.push_back(
        {{"name", time.name}, {"calls", time.calls / count}, {"ms", time.ms / count}});
  }
  return operations;
}

void PrintProfile(const Json& operations) {
  double total = 0;
  for (const Json& operation : operations) total += operation["ms"].get<double>();
  fmt::print("\n{:<32} {:>6} {:>10} {:>6}\n", "operation", "calls", "ms a step", "share");
  for (const Json& operation : operations) {
    const double ms = operation["ms"].get<double>();
    fmt::print("{:<32} {:>6} {:>10.3f} {:>5.0f}%\n", operation["name"].get<std::string>(),
               operation["calls"].get<int>(), ms, 100 * ms / total);
  }
  fmt::print("{:>50.3f}\n", total);
}

}  // namespace gp::engine
