#include "coordinator/settings.h"

#include <utility>

#include "coordinator/notifications/target_file.h"

namespace gp::coordinator {
namespace {

// An empty address means that the coordinator does not listen on TCP.
Status CheckListen(std::string_view text) {
  return text.empty() ? OkStatus() : daemon::CheckListenAddress(text);
}

// Addresses and directories of the coordinator.
daemon::Settings Places(CoordinatorSettings& settings) {
  return {
      {.field = {.path = "server.socket",
                 .doc = "Unix socket for gpctl and agents of this user on this machine. Empty: "
                        "coordinator.sock in state.dir.",
                 .is_path = true},
       .slot = &settings.socket,
       .flag = "--socket",
       .value_name = "PATH"},
      {.field = {.path = "server.listen",
                 .doc = "HOST:PORT for gpctl and agents elsewhere, who need a token or a "
                        "certificate; TLS 1.3. Port 0: any free one. Empty: the socket alone."},
       .slot = &settings.listen,
       .flag = "--listen",
       .value_name = "HOST:PORT",
       .check = CheckListen},
      {.field = {.path = "server.advertise",
                 .doc = "More hosts (DNS names or IP addresses) under which other machines reach "
                        "server.listen. A certificate that is made here names them, this "
                        "machine's name and the host of server.listen."},
       .slot = &settings.advertise,
       .flag = "--advertise",
       .value_name = "HOST"},
      daemon::MetricsListen(settings.metrics_listen),
      daemon::MetricsPublic(settings.metrics_public),
      daemon::MetricsKeysFile(settings.metrics_keys_file),
      {.field = {.path = "network.insecure",
                 .doc = "Serve server.listen and metrics.listen without TLS, also where other "
                        "machines reach them: anyone who reaches server.listen may do anything, "
                        "and others can read the traffic."},
       .slot = &settings.insecure,
       .flag = "--insecure"},
      {.field = {.path = "state.dir",
                 .doc = "Where the store (gp.db), points and logs are kept. One coordinator at a "
                        "time uses it.",
                 .is_path = true},
       .slot = &settings.state_dir,
       .flag = "--state-dir",
       .value_name = "DIR",
       .required = true},
      {.field = {.path = "storage.root",
                 .doc = "Where runs and their checkpoints are: a path that the coordinator and all "
                        "nodes share.",
                 .is_path = true},
       .slot = &settings.storage_root,
       .flag = "--storage-root",
       .value_name = "DIR",
       .required = true},
  };
}

daemon::Settings Certificates(CoordinatorSettings& settings) {
  daemon::Settings table = daemon::TlsPair(
      settings.tls_certificate, settings.tls_key,
      "one of this coordinator's own authority, in the directory security of state.dir, which it "
      "renews.");
  const daemon::Settings more = {
      {.field = {.path = "tls.client_ca",
                 .doc = "PEM file of more authorities that may sign the certificates of nodes. "
                        "Empty: this coordinator's own alone.",
                 .is_path = true},
       .slot = &settings.tls_client_ca},
      {.field = {.path = "tls.lifetime",
                 .doc = "Lifetime of a certificate that is made here. It is renewed after two "
                        "thirds of it.",
                 .min = 1},
       .slot = &settings.tls_lifetime},
  };
  table.insert(table.end(), more.begin(), more.end());
  return table;
}

daemon::Settings Limits(CoordinatorSettings& settings) {
  constexpr double kLogBytesLeast = 65536;
  constexpr double kAuditBytesLeast = 1 << 26;
  return {
      {.field = {.path = "agents.lease",
                 .doc = "An agent that is silent for longer is lost, and its runs are restarted "
                        "elsewhere. At least twice agents.report_interval.",
                 .min = 0.5},
       .slot = &settings.lease},
      {.field = {.path = "agents.report_interval",
                 .doc = "How often agents report when nothing changes.",
                 .min = 0.05},
       .slot = &settings.report_interval},
      {.field = {.path = "runs.start_timeout",
                 .doc = "Longest time from placement until every rank is ready to train; reading "
                        "and tokenizing "
                        "data takes most of it.",
                 .min = 1},
       .slot = &settings.start_timeout},
      {.field = {.path = "runs.finish_timeout",
                 .doc =
                     "Longest time from the sealed final checkpoint until every rank has exited.",
                 .min = 1},
       .slot = &settings.finish_timeout},
      {.field = {.path = "gradients.encrypted",
                 .doc = "Ranks on CPUs encrypt what they send to other nodes (TLS 1.3). Applies to "
                        "groups that form after a restart of the coordinator. Ranks on GPUs of "
                        "several nodes cannot encrypt, and fail."},
       .slot = &settings.encrypt_gradients},
      {.field = {.path = "logs.points_bytes_max",
                 .doc = "Limit of one run's stored metric points. Later ones are dropped, and "
                        "the log says so.",
                 .unit = "bytes",
                 .min = kLogBytesLeast},
       .slot = &settings.points_bytes_max},
      {.field = {.path = "logs.lines_bytes_max",
                 .doc = "Limit of one run's stored log lines. Later ones are dropped, and the "
                        "log says so.",
                 .unit = "bytes",
                 .min = kLogBytesLeast},
       .slot = &settings.lines_bytes_max},
      {.field = {.path = "limits.calls_per_second",
                 .doc = "Calls that one token may make; after a pause, a burst of twice as many. "
                        "The owner of the socket and nodes have no such limit.",
                 .min = 1,
                 .max = 1e6},
       .slot = &settings.calls_per_second},
      {.field = {.path = "limits.streams",
                 .doc = "Streams that one token may have open at a time.",
                 .min = 1,
                 .max = 1024},
       .slot = &settings.streams_per_token},
      {.field = {.path = "limits.runs",
                 .doc = "Runs of one user that have not ended. The owner of the socket has no such "
                        "limit.",
                 .min = 1,
                 .max = 20'000},
       .slot = &settings.runs_per_user},
      {.field = {.path = "limits.waiting_runs",
                 .doc = "Runs of one user that wait for slots.",
                 .min = 1,
                 .max = 20'000},
       .slot = &settings.waiting_runs_per_user},
      {.field = {.path = "audit.keep_bytes",
                 .doc = "Limit of the audit log; the oldest files beyond it are removed.",
                 .unit = "bytes",
                 .min = kAuditBytesLeast},
       .slot = &settings.audit_keep_bytes},
  };
}

daemon::Settings Retention(CoordinatorSettings& settings) {
  return {
      {.field = {.path = "retention.ended_runs_age",
                 .doc = "Runs that ended longer ago are deleted, except bases of other runs and "
                        "runs with a pinned checkpoint. 0s: none.",
                 .min = 0},
       .slot = &settings.ended_runs_age},
      {.field = {.path = "retention.ended_runs_count",
                 .doc = "How many ended runs are kept, those that ended last; the others are "
                        "deleted, with the same exceptions. 0: all are kept.",
                 .min = 0},
       .slot = &settings.ended_runs_count},
      {.field = {.path = "retention.disk_watermark",
                 .doc = "When more than this share of the file system of storage.root is used, "
                        "checkpoints of ended runs are removed, except the latest, the best, "
                        "pinned ones and bases of other runs. 0: never.",
                 .min = 0,
                 .max = 0.99},
       .slot = &settings.disk_watermark},
  };
}

daemon::Settings Notifications(CoordinatorSettings& settings) {
  return {
      {.field = {.path = "notifications.targets_file",
                 .doc = "File of webhooks and Slack channels that are notified when a run ends, "
                        "stalls, diverges, improves or waits for long "
                        "(docs/operations/notifications.md). It is read at the start. Empty: "
                        "nothing is sent.",
                 .is_path = true},
       .slot = &settings.notification_targets_file},
  };
}

}  // namespace

daemon::Settings SettingsTable(CoordinatorSettings& settings) {
  daemon::Settings all = Places(settings);
  for (auto part :
       {Certificates(settings), Limits(settings), Retention(settings), Notifications(settings)}) {
    for (daemon::Setting& setting : part) all.push_back(std::move(setting));
  }
  return all;
}

Status CheckSettings(const CoordinatorSettings& settings) {
  if (settings.lease < 2 * settings.report_interval) {
    return InvalidArgument("agents.lease must be at least twice agents.report_interval");
  }
  RETURN_IF_ERROR(daemon::CheckTlsPair(settings.tls_certificate, settings.tls_key));
  if (settings.insecure && !settings.tls_certificate.empty()) {
    return InvalidArgument("network.insecure means no TLS; it excludes tls.certificate");
  }
  if (!settings.notification_targets_file.empty()) {
    RETURN_IF_ERROR(ReadTargets(settings.notification_targets_file).status());
  }
  return daemon::CheckMetricsAccess(MetricsAccessOf(settings));
}

daemon::MetricsAccess MetricsAccessOf(const CoordinatorSettings& settings) {
  return {.listen = settings.metrics_listen,
          .is_public = settings.metrics_public,
          .insecure = settings.insecure,
          .has_certificate = !settings.insecure};
}

}  // namespace gp::coordinator
