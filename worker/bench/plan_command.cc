// `gp-bench plan`: the arena of a model tensor by tensor, as the engine will allocate it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "plan/training_plan.h"
#include "worker/bench/bench_command.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/report.h"

namespace gp::engine {
namespace {

double MiB(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void PrintPlan(const runspec::ArenaPlan& plan, int64_t arena_bytes) {
  fmt::print("{:>14}  {:>12}  {:<5}  {:<22} {}\n", "offset", "MiB", "type", "shape", "tensor");
  for (const runspec::ArenaTensor& tensor : plan.tensors) {
    fmt::print("{:>14}  {:>12.2f}  {:<5}  {:<22} {}\n", tensor.offset_bytes, MiB(tensor.size_bytes),
               tensor.type, fmt::format("{}", fmt::join(tensor.shape, " x ")), tensor.name);
  }
  fmt::print("arena {:.1f} MiB; with gradients, optimizer and batch {:.1f} MiB\n", MiB(arena_bytes),
             MiB(plan.total_bytes));
}

void PrintJsonPlan(const runspec::ArenaPlan& plan, int64_t arena_bytes) {
  Json tensors = Json::array();
  for (const runspec::ArenaTensor& tensor : plan.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"type", tensor.type},
                       {"shape", tensor.shape},
                       {"offset_bytes", tensor.offset_bytes},
                       {"size_bytes", tensor.size_bytes}});
  }
  Json report = MakeDocument("ArenaPlan");
  report["tensors"] = tensors;
  report["arena_bytes"] = arena_bytes;
  report["training_bytes"] = plan.total_bytes;
  PrintJson(report);
}

Status RunPlan(const ModelFlags& flags) {
  const ModelOptions options = MakeModelOptions(flags);
  const runspec::ArenaOptions arena = ArenaOptionsOf(options);
  const runspec::ArenaPlan plan = runspec::MakeTrainingPlan(options.shape, {.arena = arena});
  const int64_t arena_bytes = runspec::MakeArenaPlan(options.shape, arena).total_bytes;
  flags.json() ? PrintJsonPlan(plan, arena_bytes) : PrintPlan(plan, arena_bytes);
  return OkStatus();
}

}  // namespace

BenchRun AddPlanCommand(const Command& app) {
  auto flags = std::make_shared<ModelFlags>();
  AddModelFlags(app, *flags);
  return [flags] { return RunPlan(*flags); };
}

}  // namespace gp::engine
