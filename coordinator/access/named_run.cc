#include "coordinator/access/named_run.h"

#include <fmt/chrono.h>

#include "coordinator/state/run_reference.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

// `reference` without its namespace.
std::string_view NamePart(std::string_view reference) {
  return reference.substr(reference.find('/') + 1);
}

bool IsBeginningOfId(const Run& run, std::string_view reference) {
  const std::string_view name = NamePart(reference);
  return name != "@last" && name != run.id.value() && name != run.submission->name;
}

}  // namespace

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
  // The name of a deleted run does not mean another run whose id begins like it.
  const bool by_prefix = run.ok() && IsBeginningOfId(**run, reference);
  if (by_prefix || run.status().code() == StatusCode::kNotFound) {
    const auto deleted = FindNamedDeletedRun(access, cluster, reference);
    if (deleted != nullptr && (!by_prefix || deleted->name == NamePart(reference))) {
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
