// gp-gateway: serves checkpoints over HTTP.
#include "client/gateway/daemon.h"
#include "client/gateway/metrics.h"
#include "client/gateway/settings.h"
#include "daemon/program.h"

int main(int argc, char** argv) {
  using namespace gp::gateway;
  GatewaySettings settings;
  return gp::daemon::Main(
      {.name = "gp-gateway",
       .summary = "serves checkpoints over HTTP with an OpenAI-compatible API.",
       .version = GP_VERSION,
       .settings = SettingsTable(settings),
       .check =
           [&] {
             const gp::Status status = CheckSettings(settings);
             return status.ok() ? CheckModels(settings) : status;
           },
       .metrics = [] { return GatewayMetrics::List(GP_VERSION); },
       .run = [&](const auto& runtime) { return RunGateway(settings, runtime); }},
      argc, argv);
}
