#include "client/gateway/runs/run_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gp::gateway {
namespace {

// Runs beyond these have to be named by their directories.
constexpr size_t kRunsMax = 1000;
// Older runs are listed in one survey of this many: they change little.
constexpr uint64_t kOlderEvery = 30;
// More changes than this wait for the next round.
constexpr int kAskedMax = 20;

std::string CheckpointState(const v1::Run& run) {
  return fmt::format("{} {} {} {}", run.epoch(), static_cast<int>(run.state()),
                     run.latest_checkpoint_step(), run.best_checkpoint_step());
}

bool CoordinatorIsGone(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kCancelled;
}

SealedCheckpoint ToSealed(const v1::Checkpoint& from) {
  SealedCheckpoint to{.step = from.step(),
                      .directory = from.directory(),
                      .manifest_digest = from.manifest_digest(),
                      .sealed_at = UnixSeconds(from.sealed_at()),
                      .latest = from.latest(),
                      .best = from.best()};
  if (from.has_validation_loss()) to.validation_loss = from.validation_loss();
  return to;
}

}  // namespace

StatusOr<RunSurvey::Finding> RunSurvey::Take() {
  Finding finding;
  std::string next_page;
  ASSIGN_OR_RETURN(finding.runs, Page(next_page));
  for (const v1::Run& run : finding.runs) Note(run);
  if (round_ % kOlderEvery == 0) RETURN_IF_ERROR(ReadOlderRuns(std::move(next_page)));
  ASSIGN_OR_RETURN(const v1::NodesResponse nodes, client_.Nodes());
  finding.nodes.assign(nodes.nodes().begin(), nodes.nodes().end());
  RETURN_IF_ERROR(AskForCheckpoints());
  ++round_;
  for (const auto& [id, known] : known_) {
    if (!known.sealed.checkpoints.empty()) finding.sealed.push_back(known.sealed);
  }
  std::stable_sort(
      finding.sealed.begin(), finding.sealed.end(),
      [](const SealedRun& a, const SealedRun& b) { return a.submitted_at > b.submitted_at; });
  return finding;
}

StatusOr<std::vector<v1::Run>> RunSurvey::Page(std::string& page_token) {
  v1::ListRequest request;
  request.set_include_finished(true);
  request.set_limit(kBoardRuns);
  request.set_page_token(page_token);
  ASSIGN_OR_RETURN(const v1::ListResponse page, client_.List(request));
  page_token = page.next_page_token();
  return std::vector<v1::Run>(page.runs().begin(), page.runs().end());
}

Status RunSurvey::ReadOlderRuns(std::string page_token) {
  while (!page_token.empty() && known_.size() < kRunsMax) {
    ASSIGN_OR_RETURN(const auto runs, Page(page_token));
    for (const v1::Run& run : runs) Note(run);
  }
  return OkStatus();
}

void RunSurvey::Note(const v1::Run& run) {
  if (known_.size() >= kRunsMax && !known_.contains(run.run_id())) return;
  known_[run.run_id()].run = run;
}

// Those whose checkpoints have changed, and the one that was not asked for longest: older
// checkpoints are pruned without a word.
Status RunSurvey::AskForCheckpoints() {
  int asked = 0;
  Known* oldest = nullptr;
  for (auto& [id, known] : known_) {
    if (known.run.latest_checkpoint_step() < 0) {
      known.sealed.checkpoints.clear();
      continue;
    }
    if (known.asked != CheckpointState(known.run)) {
      if (++asked > kAskedMax) continue;
      RETURN_IF_ERROR(AskFor(known));
    } else if (oldest == nullptr || known.round < oldest->round) {
      oldest = &known;
    }
  }
  return oldest == nullptr || asked > 0 ? OkStatus() : AskFor(*oldest);
}

Status RunSurvey::AskFor(Known& known) {
  const v1::Run& run = known.run;
  const auto response = client_.Checkpoints(run.run_id());
  if (CoordinatorIsGone(response.status())) return response.status();
  known.asked = CheckpointState(run);
  known.round = round_;
  known.sealed = {};
  if (!response.ok()) return OkStatus();  // it was forgotten since it was listed
  known.sealed = {
      .run_id = run.run_id(), .name = run.name(), .submitted_at = UnixSeconds(run.submitted_at())};
  for (const v1::Checkpoint& checkpoint : response->checkpoints()) {
    known.sealed.checkpoints.push_back(ToSealed(checkpoint));
  }
  return OkStatus();
}

}  // namespace gp::gateway
