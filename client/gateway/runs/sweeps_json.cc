#include "client/gateway/runs/sweeps_json.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "client/api/run_client.h"
#include "client/api/run_state_name.h"
#include "client/api/sweep_ranking.h"
#include "client/api/sweep_state_name.h"

namespace gp::gateway {
namespace {

using OrderedJson = nlohmann::ordered_json;
using client::Candidate;

OrderedJson FiniteOrNull(bool present, double value) {
  return present && std::isfinite(value) ? OrderedJson(value) : OrderedJson();
}

OrderedJson TimeOrNull(const google::protobuf::Timestamp& time) {
  return FiniteOrNull(time.seconds() != 0, UnixSeconds(time));
}

OrderedJson SweepFields(const v1::Sweep& sweep) {
  return {{"name", sweep.name()},
          {"namespace", sweep.namespace_()},
          {"state", client::StateName(sweep.state())},
          {"ended", client::HasEnded(sweep.state())},
          {"reason", sweep.reason()},
          {"submitted_by", sweep.submitted_by()},
          {"submitted_at", TimeOrNull(sweep.submitted_at())},
          {"ended_at", TimeOrNull(sweep.ended_at())},
          {"max_parallel", sweep.max_parallel()},
          {"early_stop", sweep.early_stop()},
          {"trial_count", sweep.trial_count()},
          {"ended_trials", sweep.ended_trials()}};
}

OrderedJson TrialFields(const v1::SweepTrial& trial) {
  const std::map<std::string, std::string> keys(trial.keys().begin(), trial.keys().end());
  const bool has_run = !trial.run_id().empty();
  return {{"number", trial.number()},
          {"keys", keys},
          {"state", client::StateName(trial.state())},
          {"run", has_run ? OrderedJson(trial.run_id()) : OrderedJson()},
          {"run_name", trial.run_name()},
          {"reason", trial.reason()},
          {"validation_loss", FiniteOrNull(trial.has_validation_loss(), trial.validation_loss())},
          {"diverged", trial.diverged()},
          {"step", trial.step()},
          {"full_steps", trial.full_steps()}};
}

// The difference from the first candidate, if both trained the same share of their budgets, and
// whether it is within the noise of the seeds.
void AddDifference(const Candidate& first, const Candidate& candidate, OrderedJson& fields) {
  const bool comparable = first.has_loss() && candidate.share == first.share;
  fields["comparable"] = comparable;
  const client::MeanDifference difference =
      comparable ? client::Compare(first, candidate) : client::MeanDifference();
  fields["difference"] = FiniteOrNull(comparable, difference.difference);
  fields["is_noise"] = comparable && difference.standard_error && !difference.is_clear();
}

OrderedJson CandidateFields(const Candidate& first, const Candidate& candidate) {
  OrderedJson fields = {{"keys", candidate.keys}, {"trials", OrderedJson::array()}};
  for (const v1::SweepTrial* trial : candidate.trials) fields["trials"].push_back(trial->number());
  fields["mean"] = FiniteOrNull(candidate.has_loss(), candidate.mean);
  fields["deviation"] =
      FiniteOrNull(candidate.deviation.has_value(), candidate.deviation.value_or(0));
  fields["steps"] = candidate.steps;
  AddDifference(first, candidate, fields);
  return fields;
}

}  // namespace

OrderedJson SweepsDocument(const v1::ListSweepsResponse& list) {
  OrderedJson document = {{"sweeps", OrderedJson::array()}};
  for (const v1::Sweep& sweep : list.sweeps()) document["sweeps"].push_back(SweepFields(sweep));
  return document;
}

OrderedJson SweepDocument(const v1::Sweep& sweep) {
  OrderedJson fields = SweepFields(sweep);
  const std::vector<Candidate> candidates = client::RankCandidates(sweep);
  const v1::SweepTrial* best = client::BestTrial(candidates);
  fields["best"] = best == nullptr ? OrderedJson() : OrderedJson(best->number());
  fields["candidates"] = OrderedJson::array();
  for (const Candidate& candidate : candidates) {
    fields["candidates"].push_back(CandidateFields(candidates.front(), candidate));
  }
  fields["trials"] = OrderedJson::array();
  for (const v1::SweepTrial& trial : sweep.trials()) fields["trials"].push_back(TrialFields(trial));
  return {{"sweep", std::move(fields)}};
}

}  // namespace gp::gateway
