// gp-coordinator: the control plane.
#include <iostream>

#include "base/log.h"
#include "coordinator/daemon.h"
#include "coordinator/metrics.h"
#include "coordinator/options.h"

int main(int argc, char** argv) {
  using namespace gp::coordinator;
  const ParsedOptions parsed = ParseOptions(argc, argv, std::cout, std::cerr);
  if (!parsed.options) return parsed.exit_code;
  if (parsed.options->print_metrics) {
    std::cout << CoordinatorMetrics::List(GP_VERSION, "");
    return kExitOk;
  }
  if (parsed.options->check_config) {
    std::cout << "settings are good\n";
    return kExitOk;
  }
  gp::InitLogging("gp-coordinator");
  const gp::Status status = RunCoordinator(*parsed.options);
  if (status.ok()) return kExitOk;
  std::cerr << "gp-coordinator: " << gp::Message(status) << "\n";
  return kExitError;
}
