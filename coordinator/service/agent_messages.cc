#include "coordinator/service/agent_messages.h"

#include <google/protobuf/util/time_util.h>

#include <set>

#include "base/file.h"
#include "contract/agent_protocol.h"
#include "coordinator/service/agent_limits.h"
#include "coordinator/service/convert.h"

namespace gp::coordinator {
namespace {

using google::protobuf::util::TimeUtil;

// The absolute path, without a slash at the end.
std::string Normal(const std::string& path) {
  std::string normal = AbsolutePath(path, "/");
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

std::string StorageProblem(const v1::AgentHello& hello, const AgentServiceOptions& options) {
  if (Normal(hello.storage_root()) != Normal(options.storage_root)) {
    return fmt::format("its storage root is {}, the coordinator's is {}; start both with one path",
                       hello.storage_root(), options.storage_root);
  }
  if (hello.storage_probe().empty()) {
    return fmt::format("it cannot read {}/.gp-probe, which the coordinator wrote; share that path",
                       options.storage_root);
  }
  if (hello.storage_probe() != options.storage_probe) {
    return fmt::format("its {} is another directory than the coordinator's; share that path",
                       options.storage_root);
  }
  return "";
}

// Whether the node may send telemetry of this epoch: the run must be placed on it. Telemetry that
// an agent kept while disconnected may be of an older epoch, whose placement is no longer known;
// then every node that ever hosted the run may send it.
bool MayTell(const Cluster& cluster, const NodeId& node, const RunId& id, Epoch epoch) {
  const auto run = cluster.FindRun(id);
  if (run == nullptr || epoch > run->epoch) return false;
  return epoch == run->epoch ? IsPlacedOn(*run, node) : run->hosts.contains(node);
}

Line ToLine(const v1::LogLine& from, const std::string& source, uint64_t source_sequence) {
  Line to;
  to.at = FromProto(from.at());
  to.rank = from.rank();
  to.epoch = from.epoch();
  to.text = from.text();
  to.source = source;
  to.source_sequence = source_sequence;
  return to;
}

}  // namespace

Status CheckHello(const v1::AgentHello& hello, const AgentServiceOptions& options) {
  if (hello.protocol() < contract::kAgentProtocolMin ||
      hello.protocol_min() > contract::kAgentProtocol) {
    return FailedPrecondition(
        "agent {} speaks protocols {} to {}, coordinator {} speaks {} to {}; upgrade the older one",
        hello.version(), hello.protocol_min(), hello.protocol(), options.version,
        contract::kAgentProtocolMin, contract::kAgentProtocol);
  }
  if (hello.node_id().empty()) return InvalidArgument("the hello has no node id");
  RETURN_IF_ERROR(CheckLimits(hello));
  if (hello.coordinator_generation_max() > options.generation) {
    return FailedPrecondition(
        "this coordinator is stale: its generation is {}, the node has seen {}; is its state "
        "directory an old copy?",
        options.generation, hello.coordinator_generation_max());
  }
  std::set<std::string> slots;
  for (const v1::Slot& slot : hello.slots()) {
    if (!slots.insert(slot.slot_id()).second) {
      return InvalidArgument("slot '{}' is listed twice", slot.slot_id());
    }
  }
  return OkStatus();
}

v1::Welcome MakeWelcome(const AgentServiceOptions& options) {
  v1::Welcome welcome;
  welcome.set_protocol(contract::kAgentProtocol);
  welcome.set_version(options.version);
  welcome.set_coordinator_generation(options.generation);
  *welcome.mutable_report_interval() =
      TimeUtil::NanosecondsToDuration(options.report_interval.count());
  *welcome.mutable_lease() = TimeUtil::NanosecondsToDuration(options.lease.count());
  return welcome;
}

NodeConnected ToConnected(const v1::AgentHello& hello, uint64_t session,
                          const AgentServiceOptions& options) {
  NodeConnected connected;
  connected.node = NodeId(hello.node_id());
  connected.session = session;
  connected.name = hello.name().empty() ? hello.node_id() : hello.name();
  connected.incarnation = hello.incarnation();
  connected.version = hello.version();
  for (const v1::Slot& slot : hello.slots()) connected.slots.push_back(FromProto(slot));
  connected.data_address = hello.data_address();
  connected.storage_problem = StorageProblem(hello, options);
  connected.ranks = FromProto(hello.ranks());
  connected.gpu_driver = hello.gpu_driver();
  connected.gpu_problem = CutText(hello.gpu_problem());
  if (hello.has_data_roots()) {
    const auto& paths = hello.data_roots().paths();
    connected.data_roots.emplace(paths.begin(), paths.end());
  }
  return connected;
}

NodeReported ToReported(const v1::AgentReport& report, const NodeId& node, uint64_t session) {
  NodeReported reported{node, session, report.revision(), FromProto(report.ranks()), {}};
  for (const auto& [slot, problem] : report.slot_problems()) {
    reported.slot_problems.emplace(slot, CutText(problem));
  }
  if (report.has_load()) {
    const v1::MachineLoad& load = report.load();
    reported.load = MachineLoad{.runnable_threads = load.runnable_threads(),
                                .cores = load.cores(),
                                .swap_bytes_per_second = load.swap_bytes_per_second(),
                                .busy_cores = load.memory_bytes() > 0 ? load.busy_cores() : -1,
                                .memory_bytes = load.memory_bytes(),
                                .available_memory_bytes = load.available_memory_bytes(),
                                .storage_bytes = load.storage_bytes(),
                                .free_storage_bytes = load.free_storage_bytes()};
  }
  for (const auto& [slot, use] : report.slot_use()) {
    reported.slot_use.emplace(slot, ResourceUse{use.cores(), use.memory_bytes()});
  }
  reported.leaving = report.leaving();
  return reported;
}

v1::DesiredState ToDesired(const Cluster& cluster, const Node& node,
                           const AgentServiceOptions& options) {
  v1::DesiredState desired;
  desired.set_coordinator_generation(options.generation);
  desired.set_revision(node.desired_revision);
  for (const Assignment& assignment : AssignmentsOf(cluster, node.id)) {
    *desired.add_assignments() = ToProto(assignment, options.group_key);
  }
  return desired;
}

TelemetryBatch ToBatch(const v1::Telemetry& telemetry, const std::string& source,
                       const NodeId& node, const Cluster& cluster) {
  TelemetryBatch batch;
  uint64_t sequence = telemetry.first_sequence();
  for (const v1::TelemetryItem& item : telemetry.items()) {
    const uint64_t item_sequence = sequence++;
    const RunId run(item.run_id());
    const Epoch epoch = item.has_point() ? item.point().epoch() : item.line().epoch();
    if (!MayTell(cluster, node, run, epoch)) continue;
    if (item.has_point()) batch.points[run].push_back(FromProto(item.point()));
    if (item.has_line()) batch.lines[run].push_back(ToLine(item.line(), source, item_sequence));
  }
  return batch;
}

}  // namespace gp::coordinator
