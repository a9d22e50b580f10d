#include "coordinator/store/stored_paths.h"

#include "base/file.h"
#include "coordinator/state/initial_model.h"

namespace gp::coordinator {
namespace {

// The submission that the event contains; null if it contains none.
Submission* SubmissionIn(Event& event) {
  if (auto* submitted = std::get_if<RunSubmitted>(&event.body)) return &submitted->submission;
  auto* requested = std::get_if<LegRequested>(&event.body);
  return requested == nullptr ? nullptr : &requested->submission;
}

// The path below the storage root that the event contains; null if it contains none.
std::string* PathIn(Event& event) {
  if (Submission* submission = SubmissionIn(event)) return &submission->run_directory;
  if (auto* sealed = std::get_if<CheckpointSealed>(&event.body)) {
    return &sealed->checkpoint.directory;
  }
  auto* retired = std::get_if<CheckpointRetired>(&event.body);
  return retired == nullptr ? nullptr : &retired->directory;
}

// The submissions of a sweep's trials have paths, too.
template <typename Convert>
Event WithTrials(Event event, const Convert& convert) {
  auto* submitted = std::get_if<SweepSubmitted>(&event.body);
  if (submitted == nullptr) return event;
  SweepSpec spec = *submitted->spec;
  for (SweepTrial& trial : spec.trials) {
    Event one = convert({.run = trial.run, .body = RunSubmitted{std::move(trial.submission)}});
    trial.submission = std::get<RunSubmitted>(std::move(one.body)).submission;
  }
  submitted->spec = std::make_shared<const SweepSpec>(std::move(spec));
  return event;
}

bool IsBelow(const std::string& path, const std::string& root) {
  return !root.empty() && path.starts_with(root + "/");
}

// Makes the path of the model that a submitted run starts from relative, if it is below `root`: a
// checkpoint of another run.
void CutFromInitialModel(Event& event, const std::string& root) {
  Submission* submission = SubmissionIn(event);
  if (submission == nullptr) return;
  const std::string model = InitialModelOf(*submission);
  if (IsBelow(model, root)) SetInitialModel(*submission, model.substr(root.size() + 1));
}

}  // namespace

Event WithRelativePath(Event event, const std::string& root) {
  std::string* path = PathIn(event);
  if (path != nullptr && IsBelow(*path, root)) path->erase(0, root.size() + 1);
  CutFromInitialModel(event, root);
  return WithTrials(std::move(event),
                    [&](Event trial) { return WithRelativePath(std::move(trial), root); });
}

Event WithAbsolutePath(Event event, const std::string& root) {
  std::string* path = PathIn(event);
  if (path != nullptr && !root.empty() && !path->empty() && !path->starts_with('/')) {
    *path = JoinPath(root, *path);
  }
  Submission* submission = root.empty() ? nullptr : SubmissionIn(event);
  const std::string model = submission == nullptr ? "" : InitialModelOf(*submission);
  if (model.starts_with("runs/")) SetInitialModel(*submission, JoinPath(root, model));
  return WithTrials(std::move(event),
                    [&](Event trial) { return WithAbsolutePath(std::move(trial), root); });
}

std::string CutRoot(Event& event) {
  std::string* path = PathIn(event);
  if (path == nullptr) return "";
  const std::string of_run = "/runs/" + event.run.value();
  const size_t at = (*path + "/").find(of_run + "/");
  if (at == std::string::npos) return "";
  std::string root = path->substr(0, at);
  path->erase(0, at + 1);
  CutFromInitialModel(event, root);
  return root;
}

}  // namespace gp::coordinator
