#include "coordinator/service/run_file_resolver.h"

#include "coordinator/service/run_labels.h"
#include "gp/v1/run.pb.h"
#include "plan/batch_ramp.h"
#include "runspec/batch_plan.h"
#include "runspec/gpu_settings.h"
#include "runspec/initial_model.h"

namespace gp::coordinator {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

StatusOr<int> KindOf(const runspec::RunSpec& spec) {
  if (spec.kind == "train") return static_cast<int>(v1::RUN_KIND_TRAIN);
  return InvalidArgument("kind: '{}' is not scheduled yet; expected train", spec.kind);
}

bool KeepsDataPosition(const runspec::RunSpec& spec) {
  return spec.init_from != runspec::kFromScratch && spec.KeepsData();
}

StatusOr<Device> DeviceOf(const runspec::RunSpec& spec) {
  // With `auto`, a setting that only GPUs support selects GPUs.
  const bool needs_gpus = !runspec::GpuSettingsOf(spec).empty();
  if (spec.resources.device == "auto" && needs_gpus) return Device::kGpu;
  if (const auto device = DeviceNamed(spec.resources.device)) return *device;
  return InvalidArgument("resources.device: '{}' is not one of cpu, gpu, auto",
                         spec.resources.device);
}

StatusOr<Submission> ToSubmission(const runspec::RunSpec& spec,
                                  const runspec::TrainingStart& start) {
  Submission to;
  ASSIGN_OR_RETURN(to.kind, KindOf(spec));
  ASSIGN_OR_RETURN(const runspec::BatchPlan batch, runspec::PlanBatch(spec));
  to.name = spec.name;
  to.resolved = runspec::ResolvedYaml(spec);
  to.workers = spec.resources.workers;
  to.priority = spec.priority;
  to.run_namespace = spec.run_namespace;
  to.labels = spec.labels;
  to.target_steps = runspec::TargetSteps(spec, start);
  to.target_tokens = runspec::TokensBefore(batch, to.target_steps, start);
  to.keeps_data_position = KeepsDataPosition(spec);
  to.workers_max = spec.resources.max_workers;
  if (batch.logical_shards > 1 && spec.RegroupsInPlace()) {
    to.survivors_min = spec.resources.min_workers;
  }
  to.retries_max = spec.retries.max;
  to.retry_backoff = duration_cast<microseconds>(spec.retries.backoff);
  to.retry_backoff_max = duration_cast<microseconds>(spec.retries.backoff_max);
  to.keep_last = spec.checkpoint.keep_last;
  to.keep_best = spec.checkpoint.keep_best;
  to.keep_every = spec.checkpoint.keep_every;
  to.threads_per_rank = spec.resources.threads;
  to.logical_shards = batch.logical_shards;
  ASSIGN_OR_RETURN(to.device, DeviceOf(spec));
  to.model = ModelLabel(spec.model);
  to.dataset = DatasetLabel(spec.data);
  to.precision = PrecisionLabel(spec.precision);
  return to;
}

}  // namespace

StatusOr<ResolvedRun> SpecResolver::Resolve(const SubmittedRunFile& submitted) const {
  const runspec::RunFileText& file = submitted.file;
  std::vector<std::string> overrides = submitted.overrides;
  if (!submitted.name.empty()) overrides.push_back("name=" + submitted.name);
  runspec::RunFileResult result = runspec::LoadRunFile(
      file.text, file.name, overrides,
      {.base_directory = file.directory, .override_directory = file.directory});
  if (!result.spec) return InvalidArgument("{}", RenderProblems(result.problems));
  result.spec->name = submitted.choose_name(result.spec->run_namespace, result.spec->name);
  ResolvedRun resolved;
  runspec::TrainingStart start;
  if (KeepsDataPosition(*result.spec) && submitted.find_start) {
    start = submitted.find_start(result.spec->init_from);
  }
  ASSIGN_OR_RETURN(resolved.submission, ToSubmission(*result.spec, start));
  resolved.submission.source = file.text;
  resolved.files = runspec::FilesNamedBy(*result.spec);
  for (const ConfigProblem& warning : result.warnings) {
    resolved.warnings.push_back(RenderProblems({warning}, "warning"));
  }
  return resolved;
}

}  // namespace gp::coordinator
