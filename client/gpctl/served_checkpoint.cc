#include "client/gpctl/served_checkpoint.h"

#include "base/file.h"
#include "client/gpctl/checkpoint_reference.h"
#include "client/gpctl/service/service_directory.h"
#include "rpc/listen_address.h"

namespace gp::gpctl {

StatusOr<ServedCheckpoint> FindServed(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const auto parsed,
                   ParseCheckpointReference(reference, session.console().working_directory));
  if (!parsed.directory.empty()) {
    return ServedCheckpoint{.model = BaseNameOf(parsed.directory), .directory = parsed.directory};
  }
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(parsed.run));
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint, FindCheckpoint(parsed, session));
  return ServedCheckpoint{.model = fmt::format("{}@{}", run.name(), checkpoint.step()),
                          .id = fmt::format("{}@{}", run.run_id(), checkpoint.step()),
                          .directory = checkpoint.directory()};
}

std::optional<std::string> FindGateway(const Session& session) {
  const auto service = session.Service();
  if (!service.ok() || service->state_dir.empty()) return std::nullopt;
  const auto record = ServiceDirectory(service->state_dir).Load();
  if (!record.ok() || !IsAlive(record->gateway)) return std::nullopt;
  const auto address = rpc::ParseListenAddress(record->gateway_address);
  if (!address.ok()) return std::nullopt;
  return address->Reachable().Text();
}

}  // namespace gp::gpctl
