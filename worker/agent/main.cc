// gp-worker: the agent of a node.
#include "daemon/program.h"
#include "worker/agent/daemon.h"
#include "worker/agent/metrics.h"
#include "worker/agent/settings.h"

int main(int argc, char** argv) {
  using namespace gp::agent;
  WorkerSettings settings;
  return gp::daemon::Main(
      {.name = "gp-worker",
       .summary = "runs the trainers of one node for its coordinator.",
       .version = GP_VERSION,
       .settings = SettingsTable(settings),
       .check = [&] { return CheckSettings(settings); },
       .metrics = [] { return AgentMetrics::List(GP_VERSION); },
       .reports = {{"--print-gpus", "Print the GPUs of this node as JSON, and exit",
                    [&] { return DescribeGpus(settings); }}},
       .run = [&](const auto& runtime) { return RunWorker(settings, runtime); }},
      argc, argv);
}
