#include "worker/engine/bench/plan_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace gp::engine {
namespace {

double MiB(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void PrintText(const runspec::ArenaPlan& plan, int64_t training_bytes) {
  fmt::print("{:>14}  {:>12}  {:<5}  {:<22} {}\n", "offset", "MiB", "type", "shape", "tensor");
  for (const runspec::ArenaTensor& tensor : plan.tensors) {
    fmt::print("{:>14}  {:>12.2f}  {:<5}  {:<22} {}\n", tensor.offset_bytes, MiB(tensor.size_bytes),
               tensor.type, fmt::format("{}", fmt::join(tensor.shape, " x ")), tensor.name);
  }
  fmt::print("arena {:.1f} MiB; with gradients and AdamW's moments {:.1f} MiB\n",
             MiB(plan.total_bytes), MiB(training_bytes));
}

void PrintJson(const runspec::ArenaPlan& plan, int64_t training_bytes) {
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const runspec::ArenaTensor& tensor : plan.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"type", tensor.type},
                       {"shape", tensor.shape},
                       {"offset_bytes", tensor.offset_bytes},
                       {"size_bytes", tensor.size_bytes}});
  }
  const nlohmann::ordered_json report = {
      {"tensors", tensors}, {"arena_bytes", plan.total_bytes}, {"training_bytes", training_bytes}};
  fmt::print("{}\n", report.dump(2));
}

}  // namespace

void RunPlanCommand(const runspec::ModelShape& shape, const runspec::ArenaOptions& options,
                    bool json) {
  const runspec::ArenaPlan plan = runspec::MakeArenaPlan(shape, options);
  const int64_t training_bytes = runspec::TrainingBytes(shape, options, 1);
  if (json) {
    PrintJson(plan, training_bytes);
  } else {
    PrintText(plan, training_bytes);
  }
}

}  // namespace gp::engine
