// gpctl version.
#include <grpcpp/grpcpp.h>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"

namespace gp::gpctl {
namespace {

Json ServerFields(const std::string& address, const v1::VersionResponse& server) {
  return {{"address", address},
          {"version", server.version()},
          {"protocol", server.protocol()},
          {"coordinator_generation", server.coordinator_generation()},
          {"storage_root", server.storage_root()},
          {"insecure", server.insecure()}};
}

// Prints the client's version, and the server's when one is configured. An error of a configured
// server is reported.
StatusOr<ExitCode> Version(bool client_only, Session& session) {
  Json document = Document("Version");
  document["client"] = {{"version", GP_VERSION}, {"grpc", grpc::Version()}};
  std::string text = fmt::format("gpctl        {}\n", GP_VERSION);
  const bool configured = session.ServerAddress().ok();
  Status status;
  if (!client_only && configured) {
    ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
    const auto server = client->Version();
    status = server.status();
    if (server.ok()) {
      document["server"] = ServerFields(client->address(), *server);
      text += fmt::format("coordinator  {}  at {}\n", server->version(), client->address());
    }
  }
  session.console().out << (session.json() ? Pretty(document) : text);
  RETURN_IF_ERROR(status);
  return ExitCode::kOk;
}

}  // namespace

void AddVersionCommand(CommandSet& commands) {
  const Command command =
      commands.Add("version", kOtherGroup, "Print the versions of gpctl and of the coordinator");
  auto client_only = std::make_shared<bool>(false);
  command.Switch("--client", *client_only, "only gpctl's own");
  commands.Bind(command,
                [client_only](Session& session) { return Version(*client_only, session); });
}

}  // namespace gp::gpctl
