#include "worker/bench/ladder_climb.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "plan/flops.h"
#include "worker/bench/core_set.h"
#include "worker/bench/process_memory.h"
#include "worker/bench/step_bench.h"

namespace gp::engine {
namespace {

using MeasuredJson = nlohmann::json;

// The first step chooses algorithms, the second one records graphs, the third one replays them.
constexpr int kDeviceWarmup = 3;

// Runs in the child process: measures the steps of a rung and returns them as JSON.
MeasuredJson MeasureHere(const LadderSettings& settings, const LadderOptions& ladder) {
  const ModelOptions& options = settings.model;
  UseCores(options.threads);
  const double peak_flops = MeasureFlops(options, ladder.peak_side);
  StepBench bench(options, settings.fused_optimizer);
  bench.Run(options.device.on ? kDeviceWarmup : 1);
  std::vector<double> ms;
  for (const StepTimes& step : bench.Run(ladder.steps)) ms.push_back(step.total_ms());
  const int64_t bytes =
      options.device.on ? bench.model().backend().allocated_bytes() : PeakResidentBytes();
  return {{"ms", ms}, {"resident_bytes", bytes}, {"peak_flops", peak_flops}};
}

[[noreturn]] void RunChild(const std::function<MeasuredJson()>& work, int output) {
  MeasuredJson answer;
  try {
    answer = work();
  } catch (const std::exception& error) {
    answer = {{"error", error.what()}};
  }
  const bool written = WriteAll(output, answer.dump(), "the ladder").ok();
  _exit(written ? 0 : 1);
}

std::string ReadToEnd(int file) {
  std::string text;
  char chunk[4096];
  for (ssize_t count = 0; (count = read(file, chunk, sizeof chunk)) > 0;) {
    text.append(chunk, static_cast<size_t>(count));
  }
  return text;
}

StatusOr<MeasuredJson> RunInChild(const std::function<MeasuredJson()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return ErrnoStatus(errno, "create", "a pipe");
  const FileDescriptor output(ends[0]);
  FileDescriptor input(ends[1]);
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork", "a rung's process");
  if (child == 0) RunChild(work, input.get());
  input.Close();
  const MeasuredJson answer = MeasuredJson::parse(ReadToEnd(output.get()), nullptr, false);
  waitpid(child, nullptr, 0);
  if (!answer.is_object()) return ResourceExhausted("the process of this rung was killed");
  if (answer.contains("error")) return Internal("{}", answer["error"].get<std::string>());
  return answer;
}

void AddNumbers(const ModelOptions& options, const MeasuredJson& measured, RungResult& result) {
  result.step_ms = Summarize(measured["ms"].get<std::vector<double>>());
  result.sequences = options.micro_batch;
  result.threads = options.threads;
  const auto tokens = static_cast<double>(options.micro_batch * options.sequence);
  result.tokens_per_second = 1e3 * tokens / result.step_ms.median;
  result.resident_bytes = measured["resident_bytes"].get<int64_t>();
  const double flops_per_token = runspec::TrainingFlopsPerToken(options.shape, options.sequence);
  result.mfu = runspec::ModelFlopsUtilization(result.tokens_per_second, flops_per_token,
                                              measured["peak_flops"].get<double>());
}

// `below` holds the settings of the last rung that was kept.
RungResult Climb(const LadderRung& rung, const LadderOptions& options, LadderSettings& below,
                 double rate_below, double rate_first) {
  RungResult result{.name = rung.name, .setting = rung.setting, .reason = rung.reason};
  if (!rung.change) return result;
  LadderSettings settings = below;
  rung.change(settings);
  const StatusOr<MeasuredJson> measured =
      RunInChild([&] { return MeasureHere(settings, options); });
  if (!measured.ok()) {
    result.reason = Message(measured.status());
    return result;
  }
  AddNumbers(settings.model, *measured, result);
  if (rate_below > 0) result.gain = result.tokens_per_second / rate_below;
  if (rate_first > 0) result.total = result.tokens_per_second / rate_first;
  result.kept = !rung.only_if_faster || result.gain > 1;
  if (result.kept) below = settings;
  return result;
}

}  // namespace

StatusOr<LadderDevice> FindLadderDevice() {
  ASSIGN_OR_RETURN(const MeasuredJson found, RunInChild([]() -> MeasuredJson {
                     const DeviceInfo device = FindDevice();
                     return {{"name", device.name},
                             {"why_none", device.why_none},
                             {"free_bytes", device.free_bytes}};
                   }));
  LadderDevice device{found["name"].get<std::string>(), found["free_bytes"].get<int64_t>()};
  if (device.name.empty()) return InvalidArgument("{}", found["why_none"].get<std::string>());
  return device;
}

StatusOr<std::vector<RungResult>> ClimbLadder(const ModelOptions& model,
                                              const LadderMachine& machine,
                                              const LadderOptions& options) {
  LadderSettings below = LadderStart(model);
  std::vector<RungResult> results;
  double rate_first = 0;
  double rate_below = 0;
  for (const LadderRung& rung : MakeLadder(model, machine)) {
    fmt::print(stderr, "ladder: {}\n", rung.name);
    results.push_back(Climb(rung, options, below, rate_below, rate_first));
    const RungResult& result = results.back();
    if (result.tokens_per_second == 0 || !result.kept) continue;
    rate_below = result.tokens_per_second;
    if (rate_first == 0) rate_first = rate_below;
  }
  if (rate_first == 0) return Internal("no rung could be measured: {}", results.front().reason);
  return results;
}

}  // namespace gp::engine
