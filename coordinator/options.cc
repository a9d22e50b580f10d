#include "coordinator/options.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "base/file.h"
#include "rpc/listen_address.h"

namespace gp::coordinator {
namespace {

constexpr size_t kConfigBytesMax = 1 << 20;

// What was given as flags; what was not given leaves the setting alone.
struct Flags {
  std::string config;
  std::optional<std::string> listen;
  std::optional<std::string> metrics_listen;
  std::optional<std::string> state_dir;
  std::optional<std::string> storage_root;
  bool version = false;
};

void Declare(CLI::App& app, Flags& flags, CoordinatorOptions& options) {
  app.add_option("--config", flags.config, "Settings file; see configs/coordinator.yaml")
      ->type_name("FILE");
  app.add_option("--state-dir", flags.state_dir, "Where the store, points and logs are kept")
      ->type_name("DIR");
  app.add_option("--storage-root", flags.storage_root,
                 "Where runs and checkpoints are; the same path on every node")
      ->type_name("DIR");
  app.add_option("--listen", flags.listen, "Where gpctl and agents connect; port 0: any free one")
      ->type_name("HOST:PORT");
  app.add_option("--metrics-listen", flags.metrics_listen, "Where Prometheus scrapes; port 0: any")
      ->type_name("HOST:PORT");
  app.add_option("--address-file", options.address_file,
                 "Written once it serves: address, metrics, pid as JSON")
      ->type_name("FILE");
  app.add_flag("--check-config", options.check_config, "Check settings and leave");
  app.add_flag("--print-metrics", options.print_metrics, "Print the metrics it exports and leave");
  app.add_flag("--version", flags.version, "Print the version and leave");
}

// False when the file has problems; they were told on `err`.
bool ReadConfig(const std::string& path, CoordinatorSettings& settings, std::ostream& err) {
  const auto text = ReadFile(path, kConfigBytesMax);
  if (!text.ok()) {
    err << "error: --config: " << Message(text.status()) << "\n";
    return false;
  }
  const auto problems = ReadSettings(*text, path, settings);
  if (!problems.empty()) err << RenderProblems(problems);
  return problems.empty();
}

void Override(const std::optional<std::string>& flag, std::string& setting) {
  if (flag) setting = *flag;
}

void Override(const Flags& flags, CoordinatorSettings& settings) {
  Override(flags.listen, settings.listen);
  Override(flags.metrics_listen, settings.metrics_listen);
  Override(flags.state_dir, settings.state_dir);
  Override(flags.storage_root, settings.storage_root);
}

Status Check(const CoordinatorSettings& settings) {
  if (settings.state_dir.empty()) {
    return InvalidArgument("no state directory: give --state-dir DIR or state.dir in --config");
  }
  if (settings.storage_root.empty()) {
    return InvalidArgument("no storage root: give --storage-root DIR or storage.root in --config");
  }
  if (settings.lease < 2 * settings.report_interval) {
    return InvalidArgument("agents.lease must be at least twice agents.report_interval");
  }
  RETURN_IF_ERROR(WithContext(rpc::ParseListenAddress(settings.listen).status(), "--listen"));
  return WithContext(rpc::ParseListenAddress(settings.metrics_listen).status(), "--metrics-listen");
}

}  // namespace

ParsedOptions ParseOptions(int argc, const char* const* argv, std::ostream& out,
                           std::ostream& err) {
  CLI::App app("gp-coordinator: takes runs, places them and records their checkpoints.",
               "gp-coordinator");
  Flags flags;
  CoordinatorOptions options;
  Declare(app, flags, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help
    app.exit(error, out, err);
    return {std::nullopt, asked ? kExitOk : kExitUsage};
  }
  if (flags.version) {
    out << "gp-coordinator " << GP_VERSION << "\n";
    return {std::nullopt, kExitOk};
  }
  if (!flags.config.empty() && !ReadConfig(flags.config, options.settings, err)) {
    return {std::nullopt, kExitUsage};
  }
  Override(flags, options.settings);
  if (options.print_metrics) return {options, kExitOk};
  if (const Status status = Check(options.settings); !status.ok()) {
    err << "error: " << Message(status) << "\n";
    return {std::nullopt, kExitUsage};
  }
  return {options, kExitOk};
}

}  // namespace gp::coordinator
