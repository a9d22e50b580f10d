// Converts between gp.v1 messages and the coordinator's own types. Pure
// functions; thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/service/group_key.h"
#include "coordinator/state/assignment.h"
#include "coordinator/state/cluster.h"
#include "coordinator/state/queries/run_query.h"
#include "coordinator/store/store.h"
#include "coordinator/telemetry/run_log.h"
#include "gp/v1/agent_service.pb.h"
#include "gp/v1/run.pb.h"
#include "gp/v1/run_service.pb.h"

namespace gp::coordinator {

// Leaves out source, resolved, legs and queue_position.
v1::Run ToProto(const Cluster& cluster, const Run& run, const Progress& progress);
// All legs of the run, the newest last.
void AddLegs(const Run& run, v1::Run& to);
v1::Checkpoint ToProto(const Run& run, const SealedCheckpoint& checkpoint);
v1::Checkpoint ToProto(const Run& run, const QuarantinedCheckpoint& held);
v1::MetricPoint ToProto(const contract::TrainingPoint& point);
v1::LogLine ToProto(const Line& line);
v1::Node ToProto(const Cluster& cluster, const Node& node);
// Includes the secret of the run's group, derived from the key.
v1::Assignment ToProto(const Assignment& assignment, const GroupKey& key);
// `state` is the run's state after the event.
v1::RunEvent ToProto(const StoredEvent& stored, RunState state, Epoch epoch);

// Leaves namespaces and submitted_by empty, because they depend on the caller. InvalidArgument
// names an unknown state, or says that there are too many labels.
StatusOr<RunQuery> FromProto(const v1::ListRequest& request);
// Adds the counts of these namespaces; absent: of all.
void AddStateCounts(const RunCounts& counts, const std::optional<std::set<std::string>>& namespaces,
                    v1::ListResponse& response);
// Clamps the time to the years 1970 to 9999.
Timestamp FromProto(const google::protobuf::Timestamp& time);
// Cuts texts to kTextBytesMax and keeps the newest kWrittenMax checkpoints (agent_limits.h).
RankReport FromProto(const v1::RankStatus& status);
std::vector<RankReport> FromProto(
    const google::protobuf::RepeatedPtrField<v1::RankStatus>& statuses);
Slot FromProto(const v1::Slot& slot);
contract::TrainingPoint FromProto(const v1::MetricPoint& point);

// The reason of an event in a sentence, for RunEvent.reason and the log; empty for volatile events.
std::string Describe(const Event& event);

}  // namespace gp::coordinator
