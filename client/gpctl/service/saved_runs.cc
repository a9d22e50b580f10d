#include "client/gpctl/service/saved_runs.h"

#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "base/text/counted_noun.h"
#include "client/gpctl/terminal/number_text.h"
#include "formats/checkpoint_directory.h"

namespace gp::gpctl {
namespace {

constexpr int kRunsMax = 1000;

// The step in "step-00000250-e3-<incarnation>"; -1 if the name is not of that epoch.
int64_t StepIn(const std::string& name, uint64_t epoch) {
  long long step = 0;
  unsigned long long of = 0;
  const bool read = std::sscanf(name.c_str(), "step-%lld-e%llu-", &step, &of) == 2;
  return read && of == epoch ? step : -1;
}

std::string SavedSentence(const StoppedRun& run) {
  const int64_t saved = SavedStep(run);
  if (saved < 0) {
    return fmt::format("{} has no checkpoint and starts over; it was at step {}.", run.name,
                       WithThousands(run.step));
  }
  if (saved >= run.step) return fmt::format("{} saved step {}.", run.name, WithThousands(saved));
  return fmt::format("{} continues from step {}; it was at step {}, so it trains {} again.",
                     run.name, WithThousands(saved), WithThousands(run.step),
                     CountedNoun(run.step - saved, "step"));
}

}  // namespace

StatusOr<std::vector<StoppedRun>> RunsWithRanks(client::RunClient& client) {
  v1::ListRequest request;
  request.set_limit(kRunsMax);
  for (const v1::RunState state : {v1::RUN_STATE_STARTING, v1::RUN_STATE_RUNNING}) {
    request.add_states(state);
  }
  ASSIGN_OR_RETURN(const v1::ListResponse listed, client.List(request));
  std::vector<StoppedRun> runs;
  for (const v1::Run& run : listed.runs()) {
    runs.push_back({.run_id = run.run_id(),
                    .name = run.name(),
                    .directory = run.run_directory(),
                    .epoch = run.epoch(),
                    .step = run.progress().step(),
                    .checkpoint = run.latest_checkpoint_step()});
  }
  return runs;
}

int64_t SavedStep(const StoppedRun& run) {
  const std::string checkpoints = JoinPath(run.directory, "checkpoints");
  int64_t saved = run.checkpoint;
  for (const std::string& name : ListDirectory(checkpoints).value_or(std::vector<std::string>())) {
    const std::string directory = JoinPath(checkpoints, name);
    const bool whole = FileExists(JoinPath(directory, "manifest.json")) &&
                       !FileExists(formats::QuarantineMark(directory));
    if (whole) saved = std::max(saved, StepIn(name, run.epoch));
  }
  return saved;
}

std::string SavedText(const std::vector<StoppedRun>& runs) {
  std::string text;
  for (const StoppedRun& run : runs) text += SavedSentence(run) + "\n";
  return text;
}

}  // namespace gp::gpctl
