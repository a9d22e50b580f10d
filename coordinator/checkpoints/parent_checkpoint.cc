#include "coordinator/checkpoints/parent_checkpoint.h"

#include "coordinator/state/start_description.h"
#include "coordinator/store/run_texts.h"
#include "plan/batch_ramp.h"
#include "runspec/batch_plan.h"
#include "runspec/run_file.h"

namespace gp::coordinator {
namespace {

// Counts like the trainer that wrote the checkpoint: with the batch of its leg.
int64_t TokensOf(const KnownCheckpoint& known) {
  const Submission& submission = SubmissionOfLeg(*known.run, known.checkpoint.leg);
  const auto file = runspec::LoadRunFile(submission.resolved, submission.name);
  if (!file.spec) return 0;
  const auto plan = runspec::PlanBatch(*file.spec);
  if (!plan.ok()) return 0;
  return runspec::TokensBefore(*plan, known.checkpoint.step, StartOf(submission));
}

}  // namespace

StatusOr<std::optional<ParentCheckpoint>> FindParent(const Cluster& cluster, Store& store,
                                                     const std::string& directory) {
  auto known = FindCheckpointAt(cluster, directory);
  if (!known) return std::optional<ParentCheckpoint>();
  ASSIGN_OR_RETURN(known->run, WithTexts(store, known->run));
  return std::optional(ParentCheckpoint{known->run->id, known->checkpoint.leg,
                                        known->checkpoint.step, TokensOf(*known)});
}

runspec::TrainingStart StartOf(const Submission& submission) {
  if (!submission.keeps_data_position) return {};
  return {.step = submission.parent_step, .tokens = submission.parent_tokens};
}

}  // namespace gp::coordinator
