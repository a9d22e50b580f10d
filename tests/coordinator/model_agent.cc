#include "coordinator/model_agent.h"

#include <algorithm>

namespace gp::coordinator {
namespace {

bool IsFor(const Assignment& assignment, const RankReport& rank) {
  return assignment.run->id == rank.run && assignment.epoch == rank.epoch &&
         assignment.rank == rank.rank;
}

// Whether the process of `rank` continues as the assignment.
bool Continues(const Assignment& assignment, const RankReport& rank) {
  return !assignment.incarnation.empty() && assignment.incarnation == rank.incarnation &&
         assignment.run->id == rank.run && assignment.slot == rank.slot &&
         assignment.epoch > rank.epoch;
}

}  // namespace

ModelAgent::ModelAgent(std::string name, int slot_count, int gpu_count)
    : id_(std::move(name)), slot_count_(slot_count), gpu_count_(gpu_count) {}

RankReport* ModelAgent::Find(const RunId& run, int rank) {
  for (RankReport& report : ranks_) {
    if (report.run == run && report.rank == rank) return &report;
  }
  return nullptr;
}

NodeConnected ModelAgent::Hello(uint64_t session) {
  session_ = session;
  NodeConnected hello;
  hello.node = id_;
  hello.session = session;
  hello.name = id_.value();
  hello.incarnation = std::to_string(incarnation_);
  hello.storage_problem = storage_problem;
  for (int i = 0; i < slot_count_; ++i) {
    hello.slots.push_back({SlotId(std::to_string(i)), "cpu", {i}, 0});
  }
  for (int i = 0; i < gpu_count_; ++i) {
    const std::string number = std::to_string(i);
    hello.slots.push_back({SlotId("gpu-" + number), "GPU-" + number, {i}, uint64_t{80} << 30});
  }
  hello.gpu_problem = gpu_problem;
  hello.ranks = ranks_;
  return hello;
}

NodeReported ModelAgent::Report() const {
  NodeReported report{id_, session_, revision_, ranks_, slot_problems_};
  report.leaving = leaving;
  if (!leaving) return report;
  for (int i = 0; i < slot_count_; ++i)
    report.slot_problems[SlotId(std::to_string(i))] = "stopping";
  return report;
}

void ModelAgent::Obey(uint64_t revision, const std::vector<Assignment>& assignments) {
  if (revision < revision_) return;
  revision_ = revision;
  assignments_ = assignments;
  ContinueRanks();
  std::erase_if(ranks_, [&](const RankReport& rank) { return AssignmentFor(rank) == nullptr; });
  for (const Assignment& assignment : assignments_) {
    const bool known = std::any_of(ranks_.begin(), ranks_.end(),
                                   [&](const RankReport& rank) { return IsFor(assignment, rank); });
    if (known || SlotIsBusy(assignment.slot)) continue;
    RankReport rank{.run = assignment.run->id,
                    .epoch = assignment.epoch,
                    .rank = assignment.rank,
                    .slot = assignment.slot,
                    .phase = RankPhase::kStarting};
    if (assignment.stop || (assignment.run->group && !assignment.joins)) {
      rank.phase = RankPhase::kExited;
      rank.cause = assignment.stop ? ExitCause::kStopped : ExitCause::kError;
      rank.message = "not started";
    }
    if (const auto problem = slot_problems_.find(assignment.slot);
        problem != slot_problems_.end()) {
      rank.phase = RankPhase::kExited;
      rank.cause = ExitCause::kError;
      rank.message = problem->second;
    }
    rank.incarnation = assignment.incarnation;
    // Those of real trainers are random, so no two nodes have the same ones.
    if (rank.incarnation.empty()) {
      rank.incarnation = fmt::format("{}-{}", id_, ++trainers_started_);
    }
    ranks_.push_back(std::move(rank));
  }
}

void ModelAgent::ContinueRanks() {
  for (const Assignment& assignment : assignments_) {
    for (RankReport& rank : ranks_) {
      if (!Continues(assignment, rank)) continue;
      rank.epoch = assignment.epoch;
      rank.rank = assignment.rank;
      if (rank.alive()) rank.phase = RankPhase::kListening;
    }
  }
}

const Assignment* ModelAgent::AssignmentFor(const RankReport& rank) const {
  for (const Assignment& assignment : assignments_) {
    if (IsFor(assignment, rank)) return &assignment;
  }
  return nullptr;
}

void ModelAgent::LoseGpu(int number) {
  const SlotId slot("gpu-" + std::to_string(number));
  slot_problems_[slot] = "the GPU is lost";
  for (RankReport& rank : ranks_) {
    if (rank.slot != slot || !rank.alive()) continue;
    rank.phase = RankPhase::kExited;
    rank.cause = ExitCause::kError;
    rank.message = "killed: the GPU is lost";
  }
}

void ModelAgent::Crash() {
  ++incarnation_;
  revision_ = 0;
  ranks_.clear();
  assignments_.clear();
}

bool ModelAgent::SlotIsBusy(const SlotId& slot) const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [&](const RankReport& rank) { return rank.slot == slot && rank.alive(); });
}

}  // namespace gp::coordinator
