#include "client/gateway/runs/run_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace gp::gateway {
namespace {

constexpr int kLargestPage = 1000;
// Every how many surveys the runs beyond the first page are listed: they change rarely.
constexpr uint64_t kOlderEvery = 30;
// The number of runs whose checkpoints one survey fetches. If more runs have changed, the next
// survey follows without a pause.
constexpr size_t kAskedMax = 50;

std::string CheckpointState(const v1::Run& run) {
  return fmt::format("{} {} {} {}", run.epoch(), static_cast<int>(run.state()),
                     run.latest_checkpoint_step(), run.best_checkpoint_step());
}

// The order in which runs are kept and fetched: runs that have not ended rank above ended ones, and
// among these newer ones above older ones.
using Rank = std::tuple<bool, double, std::string>;

Rank RankOf(const v1::Run& run) {
  return {!client::IsTerminal(run.state()), UnixSeconds(run.submitted_at()), run.run_id()};
}

bool CoordinatorIsGone(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kCancelled;
}

ServedCheckpoint ToServed(const v1::Checkpoint& from) {
  ServedCheckpoint to{.step = from.step(),
                      .directory = from.directory(),
                      .manifest_digest = from.manifest_digest(),
                      .sealed_at = from.sealed_at().seconds(),
                      .best = from.best()};
  if (from.has_validation_loss()) to.validation_loss = from.validation_loss();
  return to;
}

}  // namespace

StatusOr<RunSurvey::Finding> RunSurvey::Run() {
  Finding finding;
  ASSIGN_OR_RETURN(finding.page, FirstPage());
  const std::string& next_page = finding.page.next_page_token();
  if (next_page.empty()) ForgetUnlisted(finding.page);
  if (!next_page.empty()) RETURN_IF_ERROR(ReadNewestEnded());
  if (round_ % kOlderEvery == 0) RETURN_IF_ERROR(ReadOlderRuns(next_page));
  ASSIGN_OR_RETURN(const v1::NodesResponse nodes, client_.Nodes());
  finding.nodes.assign(nodes.nodes().begin(), nodes.nodes().end());
  ASSIGN_OR_RETURN(finding.complete, AskForCheckpoints());
  ++round_;
  for (const auto& [id, known] : known_) {
    if (!known.sealed.checkpoints.empty()) finding.sealed.push_back(known.sealed);
  }
  std::stable_sort(
      finding.sealed.begin(), finding.sealed.end(),
      [](const ServedRun& a, const ServedRun& b) { return a.submitted_at > b.submitted_at; });
  return finding;
}

StatusOr<v1::ListResponse> RunSurvey::FirstPage() {
  v1::ListRequest request;
  request.set_include_finished(true);
  request.set_limit(kBoardRuns);
  return Read(request);
}

Status RunSurvey::ReadNewestEnded() {
  v1::ListRequest request;
  request.set_include_finished(true);
  request.set_limit(kBoardRuns);
  for (const auto state :
       {v1::RUN_STATE_SUCCEEDED, v1::RUN_STATE_FAILED, v1::RUN_STATE_CANCELLED}) {
    request.add_states(state);
  }
  return Read(request).status();
}

// Ended runs come last, newest first, so reading stops after kRunsMax runs, the board's limit.
Status RunSurvey::ReadOlderRuns(std::string page_token) {
  v1::ListRequest request;
  request.set_include_finished(true);
  request.set_limit(kLargestPage);
  request.set_page_token(std::move(page_token));
  while (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(const v1::ListResponse page, Read(request));
    const bool is_full = known_.size() >= kRunsMax && !page.runs().empty() &&
                         client::IsTerminal(page.runs().rbegin()->state());
    if (is_full) break;
    request.set_page_token(page.next_page_token());
  }
  return OkStatus();
}

StatusOr<v1::ListResponse> RunSurvey::Read(const v1::ListRequest& request) {
  ASSIGN_OR_RETURN(v1::ListResponse page, client_.List(request));
  for (const v1::Run& run : page.runs()) Note(run);
  ForgetOldest();
  return page;
}

void RunSurvey::Note(const v1::Run& run) {
  if (run.latest_checkpoint_step() >= 0) {
    known_[run.run_id()].run = run;
  } else {
    known_.erase(run.run_id());
  }
}

void RunSurvey::ForgetUnlisted(const v1::ListResponse& all) {
  std::set<std::string> listed;
  for (const v1::Run& run : all.runs()) listed.insert(run.run_id());
  std::erase_if(known_, [&](const auto& known) { return !listed.contains(known.first); });
}

void RunSurvey::ForgetOldest() {
  if (known_.size() <= kRunsMax) return;
  std::vector<Rank> ranks;  // runs with the lowest ranks are forgotten
  for (const auto& [id, known] : known_) ranks.push_back(RankOf(known.run));
  const auto kept = ranks.end() - static_cast<ptrdiff_t>(kRunsMax);
  std::nth_element(ranks.begin(), kept, ranks.end());
  for (auto rank = ranks.begin(); rank != kept; ++rank) known_.erase(std::get<2>(*rank));
}

// Fetches the checkpoints of runs whose state has changed, the newest run first, because a name
// means its newest run. If none has changed, fetches those of the run fetched longest ago, because
// checkpoints are pruned without an event.
StatusOr<bool> RunSurvey::AskForCheckpoints() {
  std::vector<std::pair<Rank, Known*>> changed;
  Known* oldest = nullptr;
  for (auto& [id, known] : known_) {
    if (known.asked != CheckpointState(known.run)) {
      changed.emplace_back(RankOf(known.run), &known);
    } else if (oldest == nullptr || known.round < oldest->round) {
      oldest = &known;
    }
  }
  std::sort(changed.rbegin(), changed.rend());
  const bool complete = changed.size() <= kAskedMax;
  if (!complete) changed.resize(kAskedMax);
  for (const auto& [rank, known] : changed) RETURN_IF_ERROR(AskFor(*known));
  if (changed.empty() && oldest != nullptr) RETURN_IF_ERROR(AskFor(*oldest));
  return complete;
}

Status RunSurvey::AskFor(Known& known) {
  const v1::Run& run = known.run;
  const auto response = client_.Checkpoints(run.run_id());
  if (CoordinatorIsGone(response.status())) return response.status();
  known.asked = CheckpointState(run);
  known.round = round_;
  known.sealed = {};
  if (!response.ok()) return OkStatus();  // the run was deleted after it was listed
  known.sealed = {
      .id = run.run_id(), .name = run.name(), .submitted_at = UnixSeconds(run.submitted_at())};
  for (const v1::Checkpoint& checkpoint : response->checkpoints()) {
    known.sealed.checkpoints.push_back(ToServed(checkpoint));
  }
  return OkStatus();
}

}  // namespace gp::gateway
