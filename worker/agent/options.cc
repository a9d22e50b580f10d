#include "worker/agent/options.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "base/file.h"
#include "rpc/listen_address.h"
#include "worker/agent/visible_devices.h"

namespace gp::agent {
namespace {

constexpr size_t kConfigBytesMax = 1 << 20;

// What was given as flags; what was not given leaves the setting alone.
struct Flags {
  std::string config;
  std::optional<std::string> name;
  std::optional<std::string> coordinator;
  std::optional<std::string> state_dir;
  std::optional<std::string> storage_root;
  std::optional<std::string> trainer;
  std::optional<std::string> gpus;
  std::optional<std::string> gpu_trainer;
  std::optional<std::string> metrics_listen;
  std::optional<int> slots;
  bool version = false;
};

void Declare(CLI::App& app, Flags& flags, WorkerOptions& options) {
  app.add_option("--config", flags.config, "Settings file; see configs/worker.yaml")
      ->type_name("FILE");
  app.add_option("--coordinator", flags.coordinator, "Where the coordinator listens")
      ->type_name("HOST:PORT");
  app.add_option("--state-dir", flags.state_dir, "Where this node keeps its identity")
      ->type_name("DIR");
  app.add_option("--storage-root", flags.storage_root,
                 "Where runs and checkpoints are; the same path on every node")
      ->type_name("DIR");
  app.add_option("--name", flags.name, "Name of this node (default: the host's name)");
  app.add_option("--slots", flags.slots, "Trainers that run at once (default: one for each core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--trainer", flags.trainer,
                 "Trainer program (default: gp-trainer beside gp-worker)")
      ->type_name("PATH");
  app.add_option("--gpus", flags.gpus,
                 "GPUs to use: all, none, or numbers and UUIDs as in CUDA_VISIBLE_DEVICES")
      ->type_name("LIST");
  app.add_option("--gpu-trainer", flags.gpu_trainer,
                 "Trainer program for GPUs (default: gp-trainer-cuda beside gp-worker)")
      ->type_name("PATH");
  app.add_option("--metrics-listen", flags.metrics_listen, "Where Prometheus scrapes; port 0: any")
      ->type_name("HOST:PORT");
  app.add_option(
         "--address-file", options.address_file,
         "Written once the coordinator has accepted this node: address, metrics, pid as JSON")
      ->type_name("FILE");
  app.add_flag("--check-config", options.check_config, "Check settings and leave");
  app.add_flag("--print-metrics", options.print_metrics, "Print the metrics it exports and leave");
  app.add_flag("--print-gpus", options.print_gpus,
               "Print the GPUs that it would offer, as JSON, and leave");
  app.add_flag("--version", flags.version, "Print the version and leave");
}

// False when the file has problems; they were told on `err`.
bool ReadConfig(const std::string& path, WorkerSettings& settings, std::ostream& err) {
  const auto text = ReadFile(path, kConfigBytesMax);
  if (!text.ok()) {
    err << "error: --config: " << Message(text.status()) << "\n";
    return false;
  }
  const auto problems = ReadSettings(*text, path, settings);
  if (!problems.empty()) err << RenderProblems(problems);
  return problems.empty();
}

template <typename T>
void Override(const std::optional<T>& flag, T& setting) {
  if (flag) setting = *flag;
}

void Override(const Flags& flags, WorkerSettings& settings) {
  Override(flags.name, settings.node_name);
  Override(flags.coordinator, settings.coordinator);
  Override(flags.state_dir, settings.state_dir);
  Override(flags.storage_root, settings.storage_root);
  Override(flags.trainer, settings.trainer_program);
  Override(flags.gpus, settings.gpu_devices);
  Override(flags.gpu_trainer, settings.gpu_trainer_program);
  Override(flags.metrics_listen, settings.metrics_listen);
  Override(flags.slots, settings.slots);
}

Status Check(const WorkerSettings& settings) {
  if (settings.state_dir.empty()) {
    return InvalidArgument("no state directory: give --state-dir DIR or state.dir in --config");
  }
  if (settings.storage_root.empty()) {
    return InvalidArgument("no storage root: give --storage-root DIR or storage.root in --config");
  }
  const auto coordinator = rpc::ParseListenAddress(settings.coordinator);
  RETURN_IF_ERROR(WithContext(coordinator.status(), "--coordinator"));
  if (coordinator->port == 0) {
    return InvalidArgument("--coordinator {}: port 0 cannot be connected to", settings.coordinator);
  }
  return WithContext(rpc::ParseListenAddress(settings.metrics_listen).status(), "--metrics-listen");
}

}  // namespace

ParsedOptions ParseOptions(int argc, const char* const* argv, std::ostream& out,
                           std::ostream& err) {
  CLI::App app("gp-worker: runs the trainers of one node, as its coordinator wishes.", "gp-worker");
  Flags flags;
  WorkerOptions options;
  Declare(app, flags, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help
    app.exit(error, out, err);
    return {std::nullopt, asked ? kExitOk : kExitUsage};
  }
  if (flags.version) {
    out << "gp-worker " << GP_VERSION << "\n";
    return {std::nullopt, kExitOk};
  }
  if (!flags.config.empty() && !ReadConfig(flags.config, options.settings, err)) {
    return {std::nullopt, kExitUsage};
  }
  Override(flags, options.settings);
  const bool prints = options.print_metrics || options.print_gpus;
  const Status gpus =
      WithContext(VisibleDevices::Check(options.settings.gpu_devices), "--gpus (gpu.devices)");
  const Status status = !gpus.ok() || prints ? gpus : Check(options.settings);
  if (!status.ok()) {
    err << "error: " << Message(status) << "\n";
    return {std::nullopt, kExitUsage};
  }
  return {options, kExitOk};
}

}  // namespace gp::agent
