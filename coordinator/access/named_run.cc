#include "coordinator/access/named_run.h"

#include <fmt/chrono.h>

#include "coordinator/state/run_reference.h"
#include "rpc/status.h"

namespace gp::coordinator {

std::string DeletionText(const DeletedRun& run) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(run.deleted_at.time_since_epoch());
  std::string text = fmt::format("run '{}' ({}) was deleted by {} at {:%Y-%m-%dT%H:%M:%SZ}",
                                 run.name, run.id, run.deleted_by, fmt::gmtime(seconds.count()));
  if (!run.kept_checkpoints.empty()) text += "; its checkpoints are in " + run.run_directory;
  return text;
}

StatusOr<std::shared_ptr<const Run>> FindNamedRun(AdmittedCall& access, const Cluster& cluster,
                                                  const std::string& reference) {
  access.Describe(reference);
  const auto sees = [&access](const Run& run) {
    return access.RoleIn(NamespaceOf(run)).has_value();
  };
  auto run = ResolveRun(cluster, reference, sees);
  if (run.status().code() == StatusCode::kNotFound) {
    const auto deleted = FindNamedDeletedRun(access, cluster, reference);
    if (deleted != nullptr) {
      return rpc::WithReason(NotFound("{}", DeletionText(*deleted)), rpc::kRunDeleted);
    }
  }
  RETURN_IF_ERROR(run.status());
  access.Describe(NamespaceOf(**run) + "/" + (*run)->id.value());
  RETURN_IF_ERROR(access.Authorize(NamespaceOf(**run)));
  return run;
}

std::shared_ptr<const DeletedRun> FindNamedDeletedRun(const AdmittedCall& access,
                                                      const Cluster& cluster,
                                                      const std::string& reference) {
  return FindDeletedRun(cluster, reference, [&access](const std::string& run_namespace) {
    return access.RoleIn(run_namespace).has_value();
  });
}

}  // namespace gp::coordinator
