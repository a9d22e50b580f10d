#include "client/gpctl/commands/service/service_text.h"

#include <fmt/ranges.h>

#include "base/text/counted_noun.h"
#include "client/gpctl/session/live_contexts.h"
#include "client/gpctl/terminal/hint.h"

namespace gp::gpctl {
namespace {

// The URL of a program of the service; empty if the program does not run.
std::string Url(const ProcessIdentity& process, const std::string& address,
                const std::string& problem) {
  return process.pid == 0 || !problem.empty() ? "" : "http://" + address;
}

std::string GatewayLine(const ServiceRecord& record) {
  if (!record.gateway_problem.empty()) {
    return fmt::format("gateway      not running: {}\n", record.gateway_problem);
  }
  if (record.gateway.pid == 0) return "";  // started by an older version
  return fmt::format("gateway      http://{}   playground /, runs /runs\n", record.gateway_address);
}

std::string MonitoringLine(const ServiceRecord& record) {
  if (!record.monitoring_problem.empty()) {
    return fmt::format("Prometheus   not running: {}\n", record.monitoring_problem);
  }
  if (record.monitoring.pid == 0) return "";
  return fmt::format("Prometheus   http://{}   alerts /alerts\n", record.monitoring_address);
}

std::string ListenLine(const ServiceRecord& record) {
  if (record.listen.empty()) return "";
  return fmt::format("listens      {}   for others: TLS and a token\n", record.listen);
}

std::string DataLine(const ServiceRecord& record, const ServiceDirectory& directory,
                     const Session& session) {
  if (!record.data_roots.empty()) {
    return fmt::format("data         {}   run files may name files below it\n",
                       fmt::join(record.data_roots, ", "));
  }
  if (record.listen.empty()) return "";
  return fmt::format("data         runs of others may not name files; '{}' and '{}' change that\n",
                     session.HintFor(directory.root(), "down"),
                     session.HintFor(directory.root(),
                                     fmt::format("up --listen {} --data-root DIR", record.listen)));
}

}  // namespace

Json ServiceFields(const ServiceDirectory& directory, const ServiceRecord& record) {
  return {
      {"state_dir", directory.root()},
      {"address", record.address},
      {"listen", record.listen},
      {"storage_root", record.storage_root},
      {"coordinator_metrics", record.coordinator_metrics},
      {"worker_metrics", record.worker_metrics},
      {"gateway", Url(record.gateway, record.gateway_address, record.gateway_problem)},
      {"gateway_metrics", record.gateway_metrics},
      {"gateway_problem", record.gateway_problem},
      {"monitoring", Url(record.monitoring, record.monitoring_address, record.monitoring_problem)},
      {"monitoring_problem", record.monitoring_problem},
      {"workers", record.workers},
      {"cores", record.cores},
      {"gpus", record.gpus},
      {"gpu_problem", record.gpu_problem},
      {"data_roots", record.data_roots},
      {"supervisor_pid", record.supervisor.pid},
      {"coordinator_pid", record.coordinator.pid},
      {"worker_pid", record.worker.pid},
      {"gateway_pid", record.gateway.pid},
      {"monitoring_pid", record.monitoring.pid}};
}

std::string ServiceText(const ServiceDirectory& directory, const ServiceRecord& record,
                        const Session& session) {
  std::string text = fmt::format("coordinator  {}   metrics http://{}/metrics\n", record.address,
                                 record.coordinator_metrics) +
                     ListenLine(record) + DataLine(record, directory, session) +
                     fmt::format("worker       {} on {}   metrics http://{}/metrics\n",
                                 CountedNoun(record.workers, "slot"),
                                 CountedNoun(record.cores, "core"), record.worker_metrics);
  for (const std::string& gpu : record.gpus) text += fmt::format("GPU          {}\n", gpu);
  if (!record.gpu_problem.empty()) {
    text += fmt::format("GPU          not used: {}\n", record.gpu_problem);
  }
  const std::string file = FreeRunFileName(session.console());
  const auto hint = [&](const std::string& command) {
    return session.HintFor(directory.root(), command);
  };
  return text + GatewayLine(record) + MonitoringLine(record) +
         fmt::format("state        {}   logs in {}\n", directory.root(), directory.Path("logs")) +
         NextText({hint("init " + file), hint("submit " + file + " --wait")}) +
         fmt::format("{:<13}{}\n", "stop", hint("down"));
}

}  // namespace gp::gpctl
