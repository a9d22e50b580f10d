// gp-coordinator: the control plane.
#include "base/clock.h"
#include "coordinator/daemon.h"
#include "coordinator/metrics.h"
#include "coordinator/settings.h"
#include "coordinator/state_backup.h"
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
       .actions = {{"--backup", "DIR",
                    "Copy state.dir to DIR, also while a coordinator uses it, and leave",
                    [&](const std::string& target) {
                      return BackUpState(settings.state_dir, target, gp::SystemClock());
                    }},
                   {"--restore", "DIR", "Make state.dir from the backup in DIR and leave",
                    [&](const std::string& backup) {
                      return RestoreState(settings.state_dir, backup, gp::SystemClock());
                    }}},
       .run = [&](const auto& runtime) { return RunCoordinator(settings, runtime); }},
      argc, argv);
}
