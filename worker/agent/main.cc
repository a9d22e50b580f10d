// gp-worker: the agent of a node.
#include <iostream>

#include "base/log.h"
#include "worker/agent/daemon.h"
#include "worker/agent/metrics.h"
#include "worker/agent/options.h"

int main(int argc, char** argv) {
  using namespace gp::agent;
  const ParsedOptions parsed = ParseOptions(argc, argv, std::cout, std::cerr);
  if (!parsed.options) return parsed.exit_code;
  if (parsed.options->print_metrics) {
    std::cout << AgentMetrics::List(GP_VERSION);
    return kExitOk;
  }
  if (parsed.options->print_gpus) return PrintGpus(parsed.options->settings, std::cout);
  if (parsed.options->check_config) {
    std::cout << "settings are good\n";
    return kExitOk;
  }
  gp::InitLogging("gp-worker");
  const gp::Status status = RunWorker(*parsed.options);
  if (status.ok()) return kExitOk;
  std::cerr << "gp-worker: " << gp::Message(status) << "\n";
  return kExitError;
}
