#include "client/gpctl/commands/sweep/sweep_json.h"

#include "client/api/run_state_name.h"
#include "client/api/sweep_ranking.h"
#include "client/api/sweep_state_name.h"
#include "client/gpctl/commands/sweep/sweep_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

Json CandidateFields(const client::Candidate& candidate) {
  Json fields = {{"keys", candidate.keys}, {"trials", Json::array()}};
  for (const v1::SweepTrial* trial : candidate.trials) fields["trials"].push_back(trial->number());
  if (!candidate.has_loss()) return fields;
  fields["steps"] = candidate.steps;
  fields["val_loss_mean"] = candidate.mean;
  if (candidate.deviation) fields["val_loss_deviation"] = *candidate.deviation;
  return fields;
}

void AddTime(const char* key, const google::protobuf::Timestamp& time, Json& fields) {
  if (time.seconds() != 0) fields[key] = DateTimeText(time.seconds());
}

}  // namespace

Json TrialFields(const v1::SweepTrial& trial) {
  Json fields = {
      {"number", trial.number()},
      {"keys", std::map<std::string, std::string>(trial.keys().begin(), trial.keys().end())},
      {"state", client::StateName(trial.state())}};
  if (!trial.run_id().empty()) {
    fields["run_id"] = trial.run_id();
    fields["run_name"] = trial.run_name();
    fields["run_state"] = client::StateName(trial.run_state());
    fields["reason"] = trial.reason();
    fields["step"] = trial.step();
    fields["target_steps"] = trial.target_steps();
  }
  if (trial.has_validation_loss()) {
    fields["val_loss"] = trial.validation_loss();
    fields["val_loss_step"] = trial.validation_step();
  }
  if (trial.diverged()) fields["diverged"] = true;
  return fields;
}

Json SweepFields(const v1::Sweep& sweep) {
  Json fields = {{"name", sweep.name()},
                 {"namespace", sweep.namespace_()},
                 {"state", client::StateName(sweep.state())},
                 {"reason", sweep.reason()},
                 {"submitted_by", sweep.submitted_by()},
                 {"max_parallel", sweep.max_parallel()},
                 {"early_stop", sweep.early_stop()},
                 {"trial_count", sweep.trial_count()},
                 {"ended_trials", sweep.ended_trials()}};
  AddTime("submitted_at", sweep.submitted_at(), fields);
  AddTime("ended_at", sweep.ended_at(), fields);
  if (sweep.rungs_size() > 0) {
    fields["rungs"] = std::vector<int64_t>(sweep.rungs().begin(), sweep.rungs().end());
  }
  if (sweep.trials_size() == 0) return fields;
  const client::StepCount steps = client::CountSteps(sweep);
  fields["steps_trained"] = steps.trained;
  fields["steps_full"] = steps.full;
  fields["candidates"] = Json::array();
  for (const client::Candidate& candidate : client::RankCandidates(sweep)) {
    fields["candidates"].push_back(CandidateFields(candidate));
  }
  fields["trials"] = Json::array();
  for (const v1::SweepTrial& trial : sweep.trials()) fields["trials"].push_back(TrialFields(trial));
  return fields;
}

}  // namespace gp::gpctl
