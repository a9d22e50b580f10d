#include "worker/agent/run_files.h"

#include "base/file.h"
#include "runspec/run_file.h"

namespace gp::agent {
namespace {

std::vector<std::string> RootsFor(const v1::Assignment& assignment, const FilePolicy& policy) {
  if (!policy.data_roots.empty()) return policy.data_roots;
  if (policy.owners_coordinator && assignment.of_owner()) return {"/"};
  return {};
}

// init_from if it is a checkpoint <storage_root>/runs/<run>/checkpoints/<name>, which the
// coordinator has found in its catalogue; otherwise empty.
std::string CheckpointOf(const v1::Assignment& assignment, const std::string& runs) {
  const auto loaded = runspec::LoadRunFile(assignment.resolved(), "resolved.yaml");
  if (!loaded.spec) return "";
  const std::string path = AbsolutePath(loaded.spec->init_from, "/");
  const std::string checkpoints = DirectoryOf(path);
  const bool is_checkpoint =
      BaseNameOf(checkpoints) == "checkpoints" && DirectoryOf(DirectoryOf(checkpoints)) == runs;
  return is_checkpoint ? path : "";
}

}  // namespace

StatusOr<std::vector<std::string>> FileArguments(const v1::Assignment& assignment,
                                                 const FilePolicy& policy) {
  const std::string runs = AbsolutePath(JoinPath(policy.storage_root, "runs"), "/");
  const std::string directory = AbsolutePath(assignment.run_directory(), "/");
  if (assignment.run_id().empty() || directory != JoinPath(runs, assignment.run_id())) {
    return InvalidArgument(
        "the coordinator gave run '{}' the directory {}, which is not the run's own beneath {}; "
        "were coordinator and agent started with the same storage.root?",
        assignment.run_id(), assignment.run_directory(), runs);
  }
  std::vector<std::string> arguments = {"--storage-root", policy.storage_root, "--run-directory",
                                        directory};
  for (const std::string& root : RootsFor(assignment, policy)) {
    arguments.insert(arguments.end(), {"--data-root", root});
  }
  if (const std::string checkpoint = CheckpointOf(assignment, runs); !checkpoint.empty()) {
    arguments.insert(arguments.end(), {"--from-checkpoint", checkpoint});
  }
  return arguments;
}

}  // namespace gp::agent
