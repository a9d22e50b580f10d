#include "coordinator/settings.h"

#include <utility>

namespace gp::coordinator {
namespace {

// Where the coordinator is reached, and where it keeps what.
daemon::Settings Places(CoordinatorSettings& settings) {
  return {
      {.field = {.path = "server.listen",
                 .doc = "HOST:PORT for gpctl and agents, or unix:PATH of a socket that only this "
                        "user reaches. Port 0: any free one."},
       .slot = &settings.listen,
       .flag = "--listen",
       .value_name = "ADDRESS",
       .check = daemon::CheckListenAddress},
      daemon::MetricsListen(settings.metrics_listen),
      daemon::Insecure(settings.insecure),
      {.field = {.path = "state.dir",
                 .doc = "Where the store (gp.db), points and logs are kept. One coordinator at a "
                        "time uses it."},
       .slot = &settings.state_dir,
       .flag = "--state-dir",
       .value_name = "DIR",
       .required = true},
      {.field = {.path = "storage.root",
                 .doc = "Where runs and their checkpoints are: a path that the coordinator and all "
                        "nodes share."},
       .slot = &settings.storage_root,
       .flag = "--storage-root",
       .value_name = "DIR",
       .required = true},
  };
}

daemon::Settings Limits(CoordinatorSettings& settings) {
  constexpr double kLogBytesLeast = 65536;
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
                 .doc = "From placement until every rank is ready to train; reading and tokenizing "
                        "data takes most of it.",
                 .min = 1},
       .slot = &settings.start_timeout},
      {.field = {.path = "runs.finish_timeout",
                 .doc = "From the sealed final checkpoint until every rank has left.",
                 .min = 1},
       .slot = &settings.finish_timeout},
      {.field = {.path = "logs.points_bytes_max",
                 .doc = "What is kept of one run's metric points. What comes later is dropped, and "
                        "the log says so.",
                 .unit = "bytes",
                 .min = kLogBytesLeast},
       .slot = &settings.points_bytes_max},
      {.field = {.path = "logs.lines_bytes_max",
                 .doc = "What is kept of one run's log lines. What comes later is dropped, and the "
                        "log says so.",
                 .unit = "bytes",
                 .min = kLogBytesLeast},
       .slot = &settings.lines_bytes_max},
  };
}

}  // namespace

daemon::Settings SettingsTable(CoordinatorSettings& settings) {
  daemon::Settings all = Places(settings);
  for (daemon::Setting& setting : Limits(settings)) all.push_back(std::move(setting));
  return all;
}

Status CheckSettings(const CoordinatorSettings& settings) {
  if (settings.lease < 2 * settings.report_interval) {
    return InvalidArgument("agents.lease must be at least twice agents.report_interval");
  }
  RETURN_IF_ERROR(daemon::CheckExposure("server.listen", settings.listen, settings.insecure));
  return daemon::CheckExposure("metrics.listen", settings.metrics_listen, settings.insecure);
}

}  // namespace gp::coordinator
