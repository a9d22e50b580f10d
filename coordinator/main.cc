// gp-coordinator: the control plane.
#include "base/clock.h"
#include "coordinator/checkpoints/state_backup.h"
#include "coordinator/daemon.h"
#include "coordinator/settings.h"
#include "coordinator/telemetry/metrics.h"
#include "daemon/program.h"

int main(int argc, char** argv) {
  using namespace gp::coordinator;
  CoordinatorSettings settings;
  return gp::daemon::Main(
      {.name = "gp-coordinator",
       .summary = "accepts runs, places them on nodes and records their checkpoints.",
       .version = GP_VERSION,
       .settings = SettingsTable(settings),
       .check = [&] { return CheckSettings(settings); },
       .switches = {{"--adopt",
                     "For this start, accept the current storage.root: its file system was "
                     "replaced or lost",
                     &settings.adopt_storage}},
       .metrics = [] { return CoordinatorMetrics::List(GP_VERSION); },
       .actions = {{"--backup", "DIR",
                    "Copy state.dir to DIR, also while a coordinator uses it, and exit",
                    [&](const std::string& target) {
                      return BackUpState(settings.state_dir, target, gp::SystemClock());
                    }},
                   {"--restore", "DIR", "Create state.dir from the backup in DIR and exit",
                    [&](const std::string& backup) {
                      return RestoreState({.state_dir = settings.state_dir,
                                           .backup = backup,
                                           .storage_root = settings.storage_root},
                                          gp::SystemClock());
                    }}},
       .run = [&](const auto& runtime) { return RunCoordinator(settings, runtime); }},
      argc, argv);
}
