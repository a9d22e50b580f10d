// gp-coordinator: the control plane.
#include "coordinator/daemon.h"
#include "coordinator/metrics.h"
#include "coordinator/settings.h"
#include "daemon/program.h"

int main(int argc, char** argv) {
  using namespace gp::coordinator;
  CoordinatorSettings settings;
  return gp::daemon::Main(
      {.name = "gp-coordinator",
       .summary = "takes runs, places them and records their checkpoints.",
       .version = GP_VERSION,
       .settings = SettingsTable(settings),
       .check = [&] { return CheckSettings(settings); },
       .metrics = [] { return CoordinatorMetrics::List(GP_VERSION); },
       .run = [&](const auto& runtime) { return RunCoordinator(settings, runtime); }},
      argc, argv);
}
