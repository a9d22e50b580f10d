#include "coordinator/state/assignment.h"

#include <algorithm>
#include <string_view>

namespace gp::coordinator {
namespace {

constexpr size_t kDirectoryNameBytesMax = 128;

// Answers only for the checkpoints that the rank's report still lists, so that the answer does not
// grow with the run. The agent lists a checkpoint until it has its answer.
void AddSealResults(const Run& run, const RankReport* report, Assignment& assignment) {
  if (report == nullptr) return;
  for (const contract::WrittenCheckpoint& written : report->written) {
    const std::string refusal = SealRefusal(run, written);
    if (!refusal.empty()) {
      assignment.refused_seals.push_back({written.step, refusal});
    } else if (run.FindCheckpoint(written.step) != nullptr) {
      assignment.sealed_steps.push_back(written.step);
    }
  }
}

// The NCCL id that rank 0's running process reported last; it is not stored. Empty if there is none
// yet, or if the group does not sum on GPUs.
std::string NcclIdOf(const Cluster& cluster, const Run& run) {
  if (!run.group || !SumsOnGpus(run)) return "";
  const RankReport* leader = FindReport(cluster, run, run.placement.front());
  return leader != nullptr && leader->alive() ? leader->nccl_id : "";
}

Assignment Make(const Cluster& cluster, const std::shared_ptr<const Run>& run,
                const Placement& placement, const Node& node) {
  Assignment assignment{.run = run,
                        .epoch = run->epoch,
                        .rank = placement.rank,
                        .slot = placement.slot,
                        .incarnation = placement.incarnation};
  if (run->resume_step >= 0) {
    const SealedCheckpoint* resume = run->FindCheckpoint(run->resume_step);
    if (resume != nullptr) assignment.resume = *resume;
  }
  if (run->state == RunState::kCancelling) {
    assignment.stop = true;
    assignment.stop_now = run->cancel_now;
    assignment.stop_reason = run->reason;
  } else if (!run->drained_because.empty()) {
    assignment.stop = true;
    assignment.stop_reason = run->drained_because;
  } else if (run->state == RunState::kFinishing && placement.joins) {
    assignment.stop = assignment.stop_now = true;  // it may wait for a group that does not form
    assignment.stop_reason = "the run has finished";
  }
  assignment.regroups = GoesOnInPlace(*run);
  assignment.nccl_id = NcclIdOf(cluster, *run);
  AddSealResults(*run, FindReport(node, *run, placement), assignment);
  return assignment;
}

Assignment MakeForJoiner(const std::shared_ptr<const Run>& run, const Joiner& joiner) {
  Assignment assignment{.run = run,
                        .epoch = joiner.epoch,
                        .rank = joiner.place.rank,
                        .slot = joiner.place.slot,
                        .joins = true};
  if (const SealedCheckpoint* latest = run->LatestCheckpoint()) assignment.resume = *latest;
  return assignment;
}

// Whether `directory` is a direct child of the run's checkpoints/ with a name that a trainer gives:
// "step-…" in letters, digits, '-' and '_'. So it cannot lead out of checkpoints/, and it cannot be
// the mark of a checkpoint in quarantine.
bool IsInsideRun(const Run& run, const std::string& directory) {
  const std::string parent = run.submission->run_directory + "/checkpoints/";
  if (!directory.starts_with(parent)) return false;
  const std::string_view name = std::string_view(directory).substr(parent.size());
  const auto plain = [](const char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return name.starts_with("step-") && name.size() <= kDirectoryNameBytesMax &&
         std::all_of(name.begin(), name.end(), plain);
}

}  // namespace

std::vector<Assignment> AssignmentsOf(const Cluster& cluster, const NodeId& id) {
  std::vector<Assignment> assignments;
  const auto node = cluster.FindNode(id);
  if (node == nullptr) return assignments;
  for (const auto& [sequence, run_id] : cluster.busy) {
    const auto run = cluster.FindRun(run_id);
    if (!run->holds_slots) continue;
    for (const Placement& placement : run->placement) {
      if (placement.node == id) assignments.push_back(Make(cluster, run, placement, *node));
    }
    for (const Joiner& joiner : run->joiners) {
      if (joiner.place.node == id) assignments.push_back(MakeForJoiner(run, joiner));
    }
  }
  return assignments;
}

std::string SealRefusal(const Run& run, const contract::WrittenCheckpoint& written) {
  if (const SealedCheckpoint* same = run.FindCheckpoint(written.step)) {
    if (same->manifest_digest == written.manifest_digest) return "";
    return fmt::format("step {} was sealed before, in epoch {}", written.step, same->epoch);
  }
  if (!run.checkpoints.empty() && run.checkpoints.back().step > written.step) {
    return fmt::format("step {} is older than the sealed step {}", written.step,
                       run.checkpoints.back().step);
  }
  if (written.step < 0) return fmt::format("there is no step {}", written.step);
  if (!IsInsideRun(run, written.directory)) {
    return fmt::format("{} is not a directory of this run's checkpoints", written.directory);
  }
  return "";
}

}  // namespace gp::coordinator
