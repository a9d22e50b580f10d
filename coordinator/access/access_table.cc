#include "coordinator/access/access_table.h"

#include <algorithm>

#include "coordinator/access/role.h"

namespace gp::coordinator {
namespace {

constexpr AccessRule kTable[] = {
    {"gp.v1.RunService/Submit", Least::kSubmitter, Where::kInNamespace, true, Lane::kSubmits,
     kSubmitBytesMax},
    {"gp.v1.RunService/Get", Least::kViewer, Where::kInNamespace, false, Lane::kQueries},
    {"gp.v1.RunService/List", Least::kViewer, Where::kSomewhere, false, Lane::kQueries},
    {"gp.v1.RunService/Cancel", Least::kSubmitter, Where::kInNamespace, true, Lane::kQueries},
    {"gp.v1.RunService/Pause", Least::kSubmitter, Where::kInNamespace, true, Lane::kQueries},
    {"gp.v1.RunService/Resume", Least::kSubmitter, Where::kInNamespace, true, Lane::kQueries},
    {"gp.v1.RunService/Resize", Least::kSubmitter, Where::kInNamespace, true, Lane::kQueries},
    {"gp.v1.RunService/Continue", Least::kSubmitter, Where::kInNamespace, true, Lane::kSubmits},
    {"gp.v1.RunService/Annotate", Least::kSubmitter, Where::kInNamespace, true, Lane::kQueries},
    {"gp.v1.RunService/Watch", Least::kViewer, Where::kInNamespace, false, Lane::kStreams},
    {"gp.v1.RunService/Logs", Least::kViewer, Where::kInNamespace, false, Lane::kStreams},
    {"gp.v1.RunService/Events", Least::kViewer, Where::kInNamespace, false, Lane::kStreams},
    {"gp.v1.RunService/Metrics", Least::kViewer, Where::kInNamespace, false, Lane::kStreams},
    {"gp.v1.RunService/Curves", Least::kViewer, Where::kInNamespace, false, Lane::kStreams},
    {"gp.v1.RunService/Lineage", Least::kViewer, Where::kInNamespace, false, Lane::kStreams},
    {"gp.v1.RunService/Checkpoints", Least::kViewer, Where::kInNamespace, false, Lane::kQueries},
    {"gp.v1.RunService/RestoreCheckpoint", Least::kOperator, Where::kInNamespace, true,
     Lane::kQueries},
    {"gp.v1.RunService/Nodes", Least::kViewer, Where::kSomewhere, false, Lane::kQueries},
    {"gp.v1.RunService/Version", Least::kViewer, Where::kSomewhere, false, Lane::kNone},
    {"gp.v1.StorageService/DeleteRun", Least::kSubmitter, Where::kInNamespace, true,
     Lane::kQueries},
    {"gp.v1.StorageService/PruneCheckpoints", Least::kSubmitter, Where::kInNamespace, true,
     Lane::kQueries},
    {"gp.v1.StorageService/PinCheckpoint", Least::kSubmitter, Where::kInNamespace, true,
     Lane::kQueries},
    {"gp.v1.StorageService/DiskUsage", Least::kViewer, Where::kSomewhere, false, Lane::kQueries},
    {"gp.v1.SweepService/Submit", Least::kSubmitter, Where::kInNamespace, true, Lane::kSubmits,
     kSubmitBytesMax},
    {"gp.v1.SweepService/Get", Least::kViewer, Where::kInNamespace, false, Lane::kQueries},
    {"gp.v1.SweepService/List", Least::kViewer, Where::kSomewhere, false, Lane::kQueries},
    {"gp.v1.SweepService/Cancel", Least::kSubmitter, Where::kInNamespace, true, Lane::kQueries},
    {"gp.v1.NodeService/Cordon", Least::kOperator, Where::kEverywhere, true, Lane::kQueries},
    {"gp.v1.NodeService/Drain", Least::kOperator, Where::kEverywhere, true, Lane::kQueries},
    {"gp.v1.NodeService/Uncordon", Least::kOperator, Where::kEverywhere, true, Lane::kQueries},
    {"gp.v1.NotificationService/ListNotificationTargets", Least::kOperator, Where::kEverywhere,
     false, Lane::kTokens},
    {"gp.v1.NotificationService/TestNotificationTarget", Least::kOperator, Where::kEverywhere, true,
     Lane::kQueries},
    {"gp.v1.AgentService/Connect", Least::kNode, Where::kEverywhere, true, Lane::kNone},
    {"gp.v1.EnrollmentService/Join", Least::kNobody, Where::kEverywhere, true, Lane::kTokens,
     kEnrollmentBytesMax},
    {"gp.v1.EnrollmentService/Renew", Least::kNode, Where::kEverywhere, true, Lane::kTokens,
     kEnrollmentBytesMax},
    {"gp.v1.EnrollmentService/RevokeNode", Least::kOperator, Where::kEverywhere, true,
     Lane::kTokens, kEnrollmentBytesMax},
    {"gp.v1.AccessService/WhoAmI", Least::kViewer, Where::kSomewhere, false, Lane::kTokens},
    {"gp.v1.AccessService/CreateToken", Least::kAdmin, Where::kSomewhere, true, Lane::kTokens},
    {"gp.v1.AccessService/ListTokens", Least::kAdmin, Where::kSomewhere, false, Lane::kTokens},
    {"gp.v1.AccessService/RevokeToken", Least::kAdmin, Where::kSomewhere, true, Lane::kTokens},
    {"gp.v1.AccessService/Audit", Least::kAdmin, Where::kEverywhere, false, Lane::kStreams},
};

}  // namespace

const char* Name(Least least) {
  switch (least) {
    case Least::kNobody:
      return "none (join token in the request)";
    case Least::kNode:
      return "node";
    case Least::kViewer:
      return Name(Role::kViewer);
    case Least::kSubmitter:
      return Name(Role::kSubmitter);
    case Least::kOperator:
      return Name(Role::kOperator);
    case Least::kAdmin:
      return Name(Role::kAdmin);
  }
  return "?";
}

const char* Name(Where where) {
  switch (where) {
    case Where::kSomewhere:
      return "in any namespace";
    case Where::kInNamespace:
      return "in the run's namespace";
    case Where::kEverywhere:
      return "in every namespace";
  }
  return "?";
}

std::span<const AccessRule> AccessTable() { return kTable; }

const AccessRule* FindRule(std::string_view method) {
  const auto* found = std::find_if(std::begin(kTable), std::end(kTable),
                                   [&](const AccessRule& rule) { return rule.method == method; });
  return found == std::end(kTable) ? nullptr : found;
}

}  // namespace gp::coordinator
