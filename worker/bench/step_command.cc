// `gp-bench step`: measures our step and prints the report. The caller may add a peer, whose steps
// alternate with ours.
#include "worker/bench/step_command.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "plan/flops.h"
#include "worker/bench/bench_command.h"
#include "worker/bench/core_set.h"
#include "worker/bench/machine_limits.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/paired_samples.h"
#include "worker/bench/process_memory.h"
#include "worker/bench/step_bench.h"
#include "worker/bench/step_profile.h"

namespace gp::engine {
namespace {

struct StepFlags {
  ModelFlags model;
  PairedOptions paired;
  bool profile = false;
};

template <typename Field>
double MedianOf(const std::vector<StepTimes>& steps, Field field) {
  std::vector<double> values;
  for (const StepTimes& step : steps) values.push_back(step.*field);
  return Summarize(values).median;
}

// Adds the attention kernels that a device uses, and notes about those that it does not use.
void AddChoices(const DeviceChoices& choices, Json& report) {
  report["attention"] = choices.attention.empty() ? "math" : choices.attention;
  report["notes"] = choices.notes;
}

Json MakeReport(const StepFlags& flags, const ModelOptions& options, StepBench& bench,
                const std::vector<StepTimes>& steps, const PairedSamples& samples,
                double peak_flops) {
  const SampleSummary step = Summarize(samples.ours_ms);
  const double tokens_per_second = 1e3 * static_cast<double>(bench.tokens()) / step.median;
  const double flops_per_token =
      runspec::TrainingFlopsPerToken(options.shape, options.sequence, options.trained);
  const double mfu = runspec::ModelFlopsUtilization(tokens_per_second, flops_per_token, peak_flops);
  Json report = MakeDocument("StepBench");
  report.update({{"model", flags.model.model},
                 {"batch", options.micro_batch},
                 {"sequence", options.sequence},
                 {"precision", PrecisionName(options)},
                 {"device", DeviceName(options)},
                 {"threads", options.threads},
                 {"kernels", bench.model().backend().name()},
                 {"steps", samples.ours_ms.size()},
                 {"step_ms", ToJson(step)},
                 {"forward_ms", MedianOf(steps, &StepTimes::forward_ms)},
                 {"backward_ms", MedianOf(steps, &StepTimes::backward_ms)},
                 {"optimizer_ms", MedianOf(steps, &StepTimes::optimizer_ms)},
                 {"tokens_per_second", tokens_per_second},
                 {"loss", bench.loss()},
                 {"engine_bytes", bench.model().backend().allocated_bytes()},
                 {"peak_resident_bytes", PeakResidentBytes()},
                 {"peak_gflops_measured", peak_flops / 1e9},
                 {"mfu", mfu}});
  return report;
}

void PrintStep(const Json& r) {
  const auto number = [&](const char* key) { return r[key].get<double>(); };
  fmt::print("model {}, batch {} x {} tokens, {}, {} threads, {} kernels, {} steps\n",
             r["model"].get<std::string>(), r["batch"].get<int64_t>(), r["sequence"].get<int64_t>(),
             r["precision"].get<std::string>(), r["threads"].get<int>(),
             r["kernels"].get<std::string>(), r["steps"].get<size_t>());
  fmt::print("step       {} ms   median and quartiles\n", SpreadText(r["step_ms"]));
  fmt::print("phases     forward {:.1f}  backward {:.1f}  optimizer {:.1f} ms\n",
             number("forward_ms"), number("backward_ms"), number("optimizer_ms"));
  fmt::print("rate       {:.0f} tokens/s, MFU {:.0f}% of a measured peak of {:.0f} GFLOP/s {}\n",
             number("tokens_per_second"), 100 * number("mfu"), number("peak_gflops_measured"),
             r["device"] == "cpu" ? "fp32" : r["precision"].get<std::string>());
  fmt::print("memory     {:.2f} GB allocated by the engine, {:.2f} GB peak resident\n",
             number("engine_bytes") / 1e9, number("peak_resident_bytes") / 1e9);
  if (r.contains("attention")) {
    fmt::print("attention  {}\n", r["attention"].get<std::string>());
    for (const Json& note : r["notes"]) fmt::print("           {}\n", note.get<std::string>());
  }
  if (r.contains("peer")) PrintPeer(r["peer"]);
  if (r.contains("operations")) PrintProfile(r["operations"]);
}

Status RunStep(const StepFlags& flags, const StepPeer& added) {
  const ModelOptions options = MakeModelOptions(flags.model);
  UseCores(options.threads);
  std::unique_ptr<Peer> peer;
  if (!added.name.empty()) {
    ASSIGN_OR_RETURN(peer, added.start(options));
  }
  const double peak_flops = MeasureFlops(options, flags.model.peak_side);
  const Json operations = flags.profile ? ProfileStep(options) : Json();
  DeviceChoices choices;
  StepBench bench(options, MakeLanguageModel(options, &choices), /*fused_optimizer=*/true);
  std::vector<StepTimes> steps;
  const auto run = [&](int count) {
    std::vector<double> ms;
    for (const StepTimes& step : bench.Run(count)) {
      steps.push_back(step);
      ms.push_back(step.total_ms());
    }
    return ms;
  };
  ASSIGN_OR_RETURN(const PairedSamples samples, MeasurePaired(flags.paired, run, peer.get()));
  steps.erase(steps.begin(), steps.begin() + flags.paired.warmup);
  Json report = MakeReport(flags, options, bench, steps, samples, peak_flops);
  if (options.device.on) AddChoices(choices, report);
  if (peer) report["peer"] = PeerJson(added.name, *peer, samples);
  if (flags.profile) report["operations"] = operations;
  flags.model.json() ? PrintJson(report) : PrintStep(report);
  return OkStatus();
}

}  // namespace

BenchRun AddStepCommand(const Command& app) {
  return AddStepCommandWithPeer(app, std::make_shared<StepPeer>());
}

BenchRun AddStepCommandWithPeer(const Command& app, std::shared_ptr<const StepPeer> peer) {
  auto flags = std::make_shared<StepFlags>();
  AddModelFlags(app, flags->model);
  AddEngineFlags(app, flags->model);
  AddPairedFlags(app, flags->paired);
  app.Switch("--profile", flags->profile, "also time each operation of a step separately");
  return [flags, peer = std::move(peer)] { return RunStep(*flags, *peer); };
}

}  // namespace gp::engine
