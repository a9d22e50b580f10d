#include "coordinator/announcer.h"

#include "base/log.h"
#include "coordinator/service/convert.h"

namespace gp::coordinator {
namespace {

void LogNode(const Cluster& cluster, const Event& event) {
  LogInfo(std::string(Kind(event)), {{"node", cluster.NodeName(NodeOf(event))},
                                     {"actor", event.actor},
                                     {"reason", Describe(event)}});
}

void Log(const Cluster& cluster, const StoredEvent& stored) {
  if (stored.event.run.empty()) return LogNode(cluster, stored.event);
  if (const auto deleted = cluster.FindDeleted(stored.event.run)) {
    return LogInfo(fmt::format("run {}", Kind(stored.event)), {{"run", deleted->id},
                                                               {"name", deleted->name},
                                                               {"actor", stored.event.actor},
                                                               {"reason", Describe(stored.event)}});
  }
  const auto run = cluster.FindRun(stored.event.run);
  LogInfo(fmt::format("run {}", Kind(stored.event)), {{"run", run->id},
                                                      {"name", run->submission->name},
                                                      {"epoch", run->epoch},
                                                      {"state", Name(run->state)},
                                                      {"reason", Describe(stored.event)}});
}

}  // namespace

void Announcer::OnBatch(const PublishedBatch& batch) {
  for (const StoredEvent& stored : batch.events) Log(*batch.cluster, stored);
  metrics_.Published(batch.cluster, batch.events);
  directories_.Published(batch.cluster, batch.events);
  verifier_.Published(batch);
  for (const StoredEvent& stored : batch.events) {
    if (recorder_ == nullptr || !std::holds_alternative<RunDeleted>(stored.event.body)) continue;
    recorder_->Forget(stored.event.run);
  }
  for (const RunId& run : batch.runs) hub_.Notify(run);
  for (const NodeId& node : batch.nodes) hub_.Notify(node);
}

void Announcer::OnRecorded(const RunId& run, const Progress& progress) {
  metrics_.Recorded(run, progress);
  hub_.Notify(run);
}

}  // namespace gp::coordinator
