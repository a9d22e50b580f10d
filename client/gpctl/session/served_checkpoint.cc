#include "client/gpctl/session/served_checkpoint.h"

#include "base/file.h"
#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/session/checkpoint_reference.h"
#include "formats/checkpoint_directory.h"
#include "rpc/listen_address.h"
#include "storage/local_storage.h"

namespace gp::gpctl {
namespace {

// The model name: the run's, or the directory's if no run wrote the checkpoint or the run's name
// contains '=', which gp-gateway's NAME=DIR does not allow.
std::string NameIn(const formats::CheckpointManifest& manifest, const std::string& directory) {
  const std::string& name = manifest.run_name;
  return name.empty() || name.find('=') != std::string::npos ? BaseNameOf(directory) : name;
}

// The checkpoint in `directory`, which is a checkpoint's directory or a run's.
StatusOr<ServedCheckpoint> ServedDirectory(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string checkpoint,
                   formats::FindCheckpointIn(LocalStorage(), directory));
  ASSIGN_OR_RETURN(const auto manifest, formats::ReadManifest(LocalStorage(), checkpoint));
  const std::string name = NameIn(manifest, directory);
  const bool moves = checkpoint != directory;
  return ServedCheckpoint{.name = name,
                          .model = moves ? name : fmt::format("{}@{}", name, manifest.step),
                          .directory = directory};
}

}  // namespace

StatusOr<ServedCheckpoint> FindServed(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const auto parsed,
                   ParseCheckpointReference(reference, session.console().working_directory));
  if (!parsed.directory.empty()) return ServedDirectory(parsed.directory);
  ASSIGN_OR_RETURN(const v1::Run run, FindRun(parsed, session));
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint, FindCheckpoint(parsed, session));
  return ServedCheckpoint{.name = run.name(),
                          .model = fmt::format("{}@{}", run.name(), checkpoint.step()),
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
