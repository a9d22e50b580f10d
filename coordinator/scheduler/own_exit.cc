#include "coordinator/scheduler/own_exit.h"

#include <fmt/format.h>

#include <algorithm>

namespace gp::coordinator {
namespace {

constexpr int kIdleExitsMax = 3;
// The number of SIGKILL. Only others send it; an out-of-memory kill has a cause of its own.
constexpr int kKillSignal = 9;

}  // namespace

bool IsOwnExit(const RankReport& report) {
  switch (report.cause) {
    case ExitCause::kSignal:
      return report.exit_code != kKillSignal;
    // Without an exit code the trainer was not started; agents kill one whose GPU is lost, or that
    // lost its assignment.
    case ExitCause::kError:
      return report.exit_code != 0 && report.exit_code != kKillSignal;
    case ExitCause::kOutOfMemory:
    case ExitCause::kStalled:
      return true;
    default:
      return false;
  }
}

int64_t LastStepOf(const Cluster& cluster, const Run& run) {
  int64_t last = -1;
  if (run.state != RunState::kRunning) return last;
  for (const Placement& place : run.placement) {
    const RankReport* report = FindReport(cluster, run, place);
    if (report != nullptr) last = std::max(last, report->step);
  }
  return last;
}

std::string EndOfRetries(const Cluster& cluster, const Run& run, int rank, int64_t step) {
  Run after = run;
  const NodeId& node = run.placement.at(static_cast<size_t>(rank)).node;
  NoteOwnExit(step, node, after);
  if (step >= 0 && step == run.exited_step && node != run.exited_on) {
    return fmt::format("; gave up: step {} failed on two nodes, {} and {}", step + 1,
                       cluster.NodeName(run.exited_on), cluster.NodeName(node));
  }
  if (after.idle_exits < kIdleExitsMax) return "";
  return after.exited_step < 0
             ? fmt::format("; gave up: its trainers ended {} times in a row before the first step",
                           after.idle_exits)
             : fmt::format(
                   "; gave up: its trainers ended {} times in a row without getting past "
                   "step {}",
                   after.idle_exits, after.exited_step);
}

}  // namespace gp::coordinator
