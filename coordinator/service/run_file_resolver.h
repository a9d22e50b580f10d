// RunFileResolver: converts a submitted run file into the Submission that the coordinator stores.
// An interface, so that tests of the control plane do not need the schema of run files.
// Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "coordinator/state/run.h"
#include "plan/training_start.h"
#include "runspec/named_file.h"
#include "runspec/run_file.h"

namespace gp::coordinator {

struct ResolvedRun {
  Submission submission;  // PrepareSubmit and RunService fill in what the file does not say
  std::vector<runspec::NamedFile> files;
  std::vector<std::string> warnings;
};

struct SubmittedRunFile {
  runspec::RunFileText file;
  std::vector<std::string> overrides;
  std::string name;  // overrides the file's name when not empty
  // Returns the name that the run gets, for its namespace and the wanted name.
  std::function<std::string(const std::string& run_namespace, const std::string& name)> choose_name;
  // Returns where the run's counters begin if it keeps the position in the data of the checkpoint
  // in this directory. Absent: at 0.
  std::function<runspec::TrainingStart(const std::string& init_from)> find_start = nullptr;
};

class RunFileResolver {
 public:
  virtual ~RunFileResolver() = default;
  // InvalidArgument carries every located problem.
  virtual StatusOr<ResolvedRun> Resolve(const SubmittedRunFile& submitted) const = 0;
};

// The implementation that reads run files with runspec.
class SpecResolver final : public RunFileResolver {
 public:
  // `find_notify_targets`: absent, a run may name any notification target.
  explicit SpecResolver(runspec::FindNotifyTargets find_notify_targets = nullptr)
      : find_notify_targets_(std::move(find_notify_targets)) {}

  StatusOr<ResolvedRun> Resolve(const SubmittedRunFile& submitted) const override;

 private:
  const runspec::FindNotifyTargets find_notify_targets_;
};

}  // namespace gp::coordinator
