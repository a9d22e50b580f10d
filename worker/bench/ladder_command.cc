// `gp-bench ladder`: climbs the ladder on this machine and draws it.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/machine/available_memory.h"
#include "worker/bench/batch_fill.h"
#include "worker/bench/bench_command.h"
#include "worker/bench/core_set.h"
#include "worker/bench/ladder_chart.h"
#include "worker/bench/ladder_climb.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/report.h"

namespace gp::engine {
namespace {

struct LadderFlags {
  ModelFlags model;
  LadderOptions options;
  int64_t tokens_max = 4096;
  std::string chart;  // "": none
};

Json ToJson(const RungResult& rung) {
  Json json = {{"name", rung.name}};
  if (!rung.setting.empty()) json["setting"] = rung.setting;
  if (!rung.reason.empty()) {
    json["not_climbed"] = rung.reason;
    return json;
  }
  json.update({{"step_ms", ToJson(rung.step_ms)},
               {"sequences", rung.sequences},
               {"threads", rung.threads},
               {"tokens_per_second", rung.tokens_per_second},
               {"resident_bytes", rung.resident_bytes},
               {"mfu", rung.mfu},
               {"gain", rung.gain},
               {"gain_over_first", rung.total},
               {"kept", rung.kept}});
  return json;
}

std::string Subtitle(const LadderFlags& flags, const ModelOptions& model,
                     const std::string& machine) {
  return fmt::format(
      "GPT-2 {}, {} sequences of {} tokens, {}. × is the gain over the previous rung.",
      flags.model.model, model.micro_batch, model.sequence, machine);
}

// The machine to measure, and its name.
StatusOr<std::pair<LadderMachine, std::string>> FindMachine(const LadderFlags& flags,
                                                            const ModelOptions& model) {
  LadderMachine machine{.cores = model.threads, .tokens_per_step_max = flags.tokens_max};
  if (model.device.on) {
    ASSIGN_OR_RETURN(const LadderDevice device, FindLadderDevice());
    machine.memory_bytes = device.free_bytes / 10 * 9;
    return std::pair(machine, device.name);
  }
  machine.memory_bytes = ReadAvailableMemory().bytes / 10 * 7;
  machine.fill_ms = MeasureBatchFill(model.micro_batch, model.sequence);
  return std::pair(machine, std::string("one core until the last rung"));
}

void PrintLadder(const std::vector<RungResult>& rungs, const std::string& subtitle) {
  fmt::print("{}\n\n{:<28} {:<36} {:>10} {:>9} {:>7} {:>5} {:>6} {:>7}\n", subtitle, "rung",
             "setting", "ms", "tok/s", "GB", "MFU", "gain", "total");
  for (const RungResult& rung : rungs) {
    if (!rung.reason.empty()) {
      fmt::print("{:<28} not measured: {}\n", rung.name, rung.reason);
      continue;
    }
    fmt::print("{:<28} {:<36} {:>10.1f} {:>9.0f} {:>7.2f} {:>4.0f}% {:>5.2f}x {:>6.2f}x{}\n",
               rung.name, rung.setting, rung.step_ms.median, rung.tokens_per_second,
               static_cast<double>(rung.resident_bytes) / 1e9, 100 * rung.mfu, rung.gain,
               rung.total, rung.kept ? "" : "  not kept");
  }
}

Status RunLadder(const LadderFlags& flags) {
  const ModelOptions model = MakeModelOptions(flags.model);
  ASSIGN_OR_RETURN(const auto found, FindMachine(flags, model));
  const auto& [machine, name] = found;
  ASSIGN_OR_RETURN(const std::vector<RungResult> rungs, ClimbLadder(model, machine, flags.options));
  const std::string subtitle = Subtitle(flags, model, name);
  if (!flags.chart.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(flags.chart, LadderChart(rungs, subtitle)));
  }
  if (!flags.model.json()) {
    PrintLadder(rungs, subtitle);
    return OkStatus();
  }
  Json report = MakeDocument("Ladder");
  report.update({{"model", flags.model.model},
                 {"batch", model.micro_batch},
                 {"sequence", model.sequence},
                 {"machine", name},
                 {"cores", machine.cores},
                 {"rungs", Json::array()}});
  for (const RungResult& rung : rungs) report["rungs"].push_back(ToJson(rung));
  PrintJson(report);
  return OkStatus();
}

}  // namespace

BenchRun AddLadderCommand(const Command& app) {
  auto flags = std::make_shared<LadderFlags>();
  flags->model.batch = 2;
  flags->model.sequence = 256;
  AddShapeFlags(app, flags->model);
  AddDeviceFlag(app, flags->model);
  app.Option("--steps", flags->options.steps, "measured steps of a rung").Positive().ShowDefault();
  app.Option("--tokens-max", flags->tokens_max,
             "most tokens per step when searching the largest batch")
      .Positive()
      .ShowDefault();
  AddPeakFlag(app, flags->options.peak_side);
  app.Option("--chart", flags->chart, "also draw it into this SVG file").Path();
  return [flags] { return RunLadder(*flags); };
}

}  // namespace gp::engine
