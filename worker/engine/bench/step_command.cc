#include "worker/engine/bench/step_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "worker/engine/backend/cpu/measured_peak.h"
#include "worker/engine/bench/peer_process.h"
#include "worker/engine/bench/sample_summary.h"
#include "worker/engine/bench/step_bench.h"

namespace gp::engine {
namespace {

using nlohmann::ordered_json;

struct Measurement {
  std::vector<StepTimes> ours;
  std::vector<double> peer_ms;
  std::vector<double> ratios;  // peer's median over ours, block by block
};

const char* PrecisionName(const ModelOptions& options) {
  return options.precision == runspec::Precision::kBf16 ? "bf16" : "fp32";
}

// The nearest directory above the executable that holds `path`.
std::optional<std::string> FindAbove(const std::string& path) {
  std::error_code error;
  auto directory = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (; directory.has_relative_path(); directory = directory.parent_path()) {
    if (std::filesystem::exists(directory / path, error)) return (directory / path).string();
  }
  return std::nullopt;
}

StatusOr<PeerProcess> StartPeer(const StepCommand& command) {
  const auto script = FindAbove("tests/bench/peers/" + command.peer + "_step.py");
  if (!script.has_value()) {
    return NotFound(
        "tests/bench/peers/{}_step.py was not found above gp-bench; run gp-bench from a "
        "build inside the source tree",
        command.peer);
  }
  std::string python = command.python;
  if (python.empty()) python = FindAbove(".deps/peers/bin/python").value_or("python3");
  const runspec::ModelShape& s = command.options.shape;
  return PeerProcess::Start(
      {python, *script, fmt::format("--layers={}", s.layers), fmt::format("--heads={}", s.heads),
       fmt::format("--channels={}", s.channels), fmt::format("--context={}", s.context),
       fmt::format("--vocabulary={}", s.vocabulary_padded),
       fmt::format("--bias={}", s.bias ? 1 : 0),
       fmt::format("--gelu={}", s.gelu == runspec::Gelu::kTanh ? "tanh" : "erf"),
       fmt::format("--batch={}", command.options.micro_batch),
       fmt::format("--sequence={}", command.options.sequence),
       fmt::format("--threads={}", command.options.threads),
       fmt::format("--precision={}", PrecisionName(command.options))});
}

std::vector<double> Totals(const std::vector<StepTimes>& steps) {
  std::vector<double> totals;
  for (const StepTimes& step : steps) totals.push_back(step.total_ms());
  return totals;
}

template <typename Field>
double MedianOf(const std::vector<StepTimes>& steps, Field field) {
  std::vector<double> values;
  for (const StepTimes& step : steps) values.push_back(step.*field);
  return Summarize(values).median;
}

// Alternates blocks, so that both sides meet the same weather on the machine.
Status Measure(const StepCommand& command, StepBench& bench, PeerProcess* peer,
               Measurement& result) {
  for (int i = 0; i < command.warmup_steps; ++i) bench.Step();
  if (peer != nullptr) RETURN_IF_ERROR(peer->RunSteps(command.warmup_steps).status());
  for (int done = 0; done < command.steps; done += command.block_steps) {
    const int count = std::min(command.block_steps, command.steps - done);
    std::vector<StepTimes> block;
    for (int i = 0; i < count; ++i) block.push_back(bench.Step());
    result.ours.insert(result.ours.end(), block.begin(), block.end());
    if (peer == nullptr) continue;
    ASSIGN_OR_RETURN(const std::vector<double> theirs, peer->RunSteps(count));
    result.peer_ms.insert(result.peer_ms.end(), theirs.begin(), theirs.end());
    result.ratios.push_back(Summarize(theirs).median / Summarize(Totals(block)).median);
  }
  return OkStatus();
}

ordered_json ToJson(const SampleSummary& summary) {
  return {{"median", summary.median}, {"quartile_1", summary.low}, {"quartile_3", summary.high}};
}

ordered_json MakeReport(const StepCommand& command, StepBench& bench, const Measurement& result,
                        double peak_flops) {
  const ModelOptions& options = command.options;
  const SampleSummary step = Summarize(Totals(result.ours));
  const double tokens_per_second = 1e3 * static_cast<double>(bench.tokens()) / step.median;
  const double flops = runspec::TrainingFlopsPerToken(options.shape, options.sequence);
  return {{"model", command.model},
          {"batch", options.micro_batch},
          {"sequence", options.sequence},
          {"precision", PrecisionName(options)},
          {"threads", options.threads},
          {"kernels", bench.model().backend().name()},
          {"steps", result.ours.size()},
          {"step_ms", ToJson(step)},
          {"forward_ms", MedianOf(result.ours, &StepTimes::forward_ms)},
          {"backward_ms", MedianOf(result.ours, &StepTimes::backward_ms)},
          {"optimizer_ms", MedianOf(result.ours, &StepTimes::optimizer_ms)},
          {"tokens_per_second", tokens_per_second},
          {"loss", bench.loss()},
          {"peak_gflops_measured", peak_flops / 1e9},
          {"mfu", tokens_per_second * flops / peak_flops}};
}

void AddPeer(const StepCommand& command, const PeerProcess& peer, const Measurement& result,
             ordered_json& report) {
  const double ours = Summarize(Totals(result.ours)).median;
  const SampleSummary theirs = Summarize(result.peer_ms);
  report["peer"] = {{"name", command.peer},
                    {"description", peer.description()},
                    {"step_ms", ToJson(theirs)},
                    {"ratio_of_medians", theirs.median / ours},
                    {"ratio_by_block", ToJson(Summarize(result.ratios))}};
}

std::string Spread(const ordered_json& summary) {
  return fmt::format("{:.1f} ms ({:.1f} to {:.1f})", summary["median"].get<double>(),
                     summary["quartile_1"].get<double>(), summary["quartile_3"].get<double>());
}

void PrintText(const ordered_json& r) {
  const auto number = [&](const char* key) { return r[key].get<double>(); };
  fmt::print("model {}, batch {} x {} tokens, {}, {} threads, {} kernels, {} steps\n",
             r["model"].get<std::string>(), r["batch"].get<int64_t>(), r["sequence"].get<int64_t>(),
             r["precision"].get<std::string>(), r["threads"].get<int>(),
             r["kernels"].get<std::string>(), r["steps"].get<size_t>());
  fmt::print("step       {}   median and quartiles\n", Spread(r["step_ms"]));
  fmt::print("phases     forward {:.1f}  backward {:.1f}  optimizer {:.1f} ms\n",
             number("forward_ms"), number("backward_ms"), number("optimizer_ms"));
  fmt::print("rate       {:.0f} tokens/s, MFU {:.0f}% of a measured peak of {:.0f} GFLOP/s fp32\n",
             number("tokens_per_second"), 100 * number("mfu"), number("peak_gflops_measured"));
  if (!r.contains("peer")) return;
  const ordered_json& peer = r["peer"];
  const ordered_json& blocks = peer["ratio_by_block"];
  fmt::print("peer       {}: {}\n", Spread(peer["step_ms"]),
             peer["description"].get<std::string>());
  fmt::print("ratio      {:.2f}x as fast as {} (blocks {:.2f} to {:.2f})\n",
             peer["ratio_of_medians"].get<double>(), peer["name"].get<std::string>(),
             blocks["quartile_1"].get<double>(), blocks["quartile_3"].get<double>());
}

}  // namespace

Status RunStepCommand(const StepCommand& command) {
  std::optional<PeerProcess> peer;
  if (!command.peer.empty()) {
    ASSIGN_OR_RETURN(PeerProcess started, StartPeer(command));
    peer.emplace(std::move(started));
  }
  const double peak_flops = MeasurePeakFlops(command.options.isa, command.options.threads);
  StepBench bench(command.options);
  Measurement result;
  RETURN_IF_ERROR(Measure(command, bench, peer ? &*peer : nullptr, result));
  ordered_json report = MakeReport(command, bench, result, peak_flops);
  if (peer) AddPeer(command, *peer, result, report);
  if (command.json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    PrintText(report);
  }
  return OkStatus();
}

}  // namespace gp::engine
