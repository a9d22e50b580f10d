#include "client/gpctl/service/monitoring.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "rpc/listen_address.h"

namespace gp::gpctl {
namespace {

constexpr std::string_view kRules =
#include "client/gpctl/rules.yml.inc"
    ;
constexpr std::string_view kAlerts =
#include "client/gpctl/alerts.yml.inc"
    ;

// Prometheus listens on loopback only.
sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string Job(const std::string& name, const std::string& target) {
  if (target.empty()) return "";
  return fmt::format("  - job_name: {}\n    static_configs:\n      - targets: [\"{}\"]\n", name,
                     target);
}

std::string Configuration(const ServiceRecord& record) {
  return "# Written by 'gpctl up --monitoring' at every start.\n"
         "global:\n  scrape_interval: 5s\n  evaluation_interval: 5s\n"
         "rule_files: [rules.yml, alerts.yml]\n"
         "scrape_configs:\n" +
         Job("gp-coordinator", record.coordinator_metrics) +
         Job("gp-worker", record.worker_metrics) +
         Job("gp-gateway", record.gateway.pid == 0 ? "" : record.gateway_metrics);
}

}  // namespace

StatusOr<std::string> FindPrometheus() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = JoinPath(folder, "prometheus");
    std::error_code error;
    if (access(program.c_str(), X_OK) != 0) continue;
    const auto real = std::filesystem::canonical(program, error);
    if (!error) return real.string();
  }
  return NotFound(
      "--monitoring runs Prometheus, and there is no program 'prometheus' on $PATH; 'sudo apt "
      "install prometheus' installs it on Debian and Ubuntu");
}

StatusOr<std::string> WithFreePort(const std::string& address) {
  ASSIGN_OR_RETURN(rpc::ListenAddress wanted, rpc::ParseListenAddress(address));
  if (wanted.port != 0) return address;
  const FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in bound = Loopback(0);
  socklen_t size = sizeof(bound);
  auto* raw = reinterpret_cast<sockaddr*>(&bound);
  if (bind(probe.get(), raw, size) != 0 || getsockname(probe.get(), raw, &size) != 0) {
    return ErrnoStatus(errno, "find a free port on", address);
  }
  wanted.port = ntohs(bound.sin_port);
  return wanted.Text();
}

Status WriteMonitoringFiles(const ServiceDirectory& directory, const ServiceRecord& record) {
  const std::string folder = directory.Path("monitoring");
  RETURN_IF_ERROR(MakeDirectories(folder, 0700));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder, "rules.yml"), kRules, 0600));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder, "alerts.yml"), kAlerts, 0600));
  return WriteFileAtomically(JoinPath(folder, "prometheus.yml"), Configuration(record), 0600);
}

std::vector<std::string> PrometheusArguments(const ServiceDirectory& directory,
                                             const std::string& listen) {
  const std::string folder = directory.Path("monitoring");
  return {"--config.file=" + JoinPath(folder, "prometheus.yml"),
          "--storage.tsdb.path=" + JoinPath(folder, "data"),
          "--storage.tsdb.retention.time=15d",
          "--storage.tsdb.retention.size=1GB",
          "--web.listen-address=" + listen,
          "--log.level=warn"};
}

bool AcceptsConnections(const std::string& address) {
  const auto place = rpc::ParseListenAddress(address);
  if (!place.ok()) return false;
  const FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in peer = Loopback(place->port);
  return connect(client.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) == 0;
}

}  // namespace gp::gpctl
