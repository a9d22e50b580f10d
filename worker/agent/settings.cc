#include "worker/agent/settings.h"

#include <utility>

#include "rpc/listen_address.h"
#include "worker/agent/gpu/visible_devices.h"

namespace gp::agent {
namespace {

using daemon::Settings;

Status CheckCoordinator(std::string_view text) {
  ASSIGN_OR_RETURN(const auto address, rpc::ParseListenAddress(text));
  if (address.is_socket() || address.port != 0) return OkStatus();
  return InvalidArgument("{}: port 0 cannot be connected to", text);
}

Settings NodeSettings(WorkerSettings& settings) {
  return {
      {.field = {.path = "node.name", .doc = "Shown by gpctl. Empty: the host's name."},
       .slot = &settings.node_name,
       .flag = "--name",
       .value_name = "TEXT"},
      {.field = {.path = "node.data_address",
                 .doc = "Host or address on which this node's trainers listen for their peers. "
                        "Trainers of other nodes must reach it. Empty: the address from which this "
                        "machine reaches the coordinator; loopback when it uses a socket."},
       .slot = &settings.data_address,
       .flag = "--data-address",
       .value_name = "HOST"},
      {.field = {.path = "node.slots",
                 .doc = "How many trainers run at once; the cores are divided among them. 0: one "
                        "for each core that this process may use, by its affinity and by the "
                        "CPU limit of its control groups.",
                 .min = 0,
                 .max = 1024},
       .slot = &settings.slots,
       .flag = "--slots",
       .value_name = "COUNT"},
  };
}

Settings ServiceSettings(WorkerSettings& settings) {
  return {
      {.field = {.path = "coordinator.address",
                 .doc = "HOST:PORT, or unix:PATH, where the coordinator listens."},
       .slot = &settings.coordinator,
       .flag = "--coordinator",
       .value_name = "ADDRESS",
       .check = CheckCoordinator},
      {.field = {.path = "coordinator.join_token_file",
                 .doc = "File of a join token, which 'gpctl token create --join' prints. The node "
                        "joins with it at its first start and does not need it afterwards.",
                 .is_path = true},
       .slot = &settings.join_token_file,
       .flag = "--join-token-file",
       .value_name = "FILE"},
      {.field = {.path = "coordinator.ca",
                 .doc = "PEM file of certificate authorities; one of them must have signed the "
                        "coordinator's certificate. Empty: the one named in the join token.",
                 .is_path = true},
       .slot = &settings.coordinator_ca},
      {.field = {.path = "coordinator.reconnect_max",
                 .doc = "The longest pause between two attempts to reach the coordinator. Training "
                        "continues meanwhile."},
       .slot = &settings.reconnect_max},
      {.field = {.path = "state.dir",
                 .doc = "Where this node keeps its identity and its certificate.",
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
      {.field = {.path = "data.roots",
                 .doc = "Directories with the files that runs may read: text, shards, tokenizers, "
                        "models, questions. Symbolic links in them must not point outside. Empty: "
                        "if coordinator.address is a Unix socket, runs of that socket's owner may "
                        "read every file; other runs may read none.",
                 .is_path = true},
       .slot = &settings.data_roots,
       .flag = "--data-root",
       .value_name = "DIR"},
  };
}

Settings TrainerSettings(WorkerSettings& settings) {
  return {
      {.field = {.path = "trainer.program",
                 .doc = "The program that trains. Empty: gp-trainer beside gp-worker.",
                 .is_path = true},
       .slot = &settings.trainer_program,
       .flag = "--trainer",
       .value_name = "PATH"},
      {.field =
           {.path = "trainer.user",
            .doc =
                "The user that trainers run as, when gp-worker runs as root. It must be able to "
                "write below storage.root, like the coordinator's user. Empty: gp-worker's own."},
       .slot = &settings.trainer_user},
      {.field = {.path = "trainer.memory_max",
                 .doc = "Memory limit of each trainer; the kernel kills a trainer that exceeds it, "
                        "and its run shows why. gp-worker must be allowed to create control groups "
                        "(version 2), as its systemd unit allows. 0: no limit.",
                 .unit = "bytes",
                 .min = 0},
       .slot = &settings.trainer_memory_max},
      {.field =
           {.path = "trainer.environment",
            .doc = "Names of environment variables that trainers may see, beside PATH, HOME, USER, "
                   "LANG, LC_ALL, TZ, TMPDIR, XDG_CACHE_HOME (where `gp-bench tune` keeps what it "
                   "measured) and GP_ISA_MAX (the fastest kernels to use: generic, avx2, avx512, "
                   "avx512_bf16; or amx, which no run uses unless it is named here: "
                   "docs/benchmarks/amx.md)."},
       .slot = &settings.trainer_environment},
      {.field = {.path = "trainer.start_timeout",
                 .doc = "Longest time from the start of a trainer until it listens for its peers."},
       .slot = &settings.start_timeout},
      {.field = {.path = "trainer.stop_grace",
                 .doc = "After a stop request, how long a trainer may take to finish its step and "
                        "save a checkpoint. Then it must exit at once; SIGKILL follows 3 s later. "
                        "Set systemd's TimeoutStopSec, or the like, to a longer time."},
       .slot = &settings.stop_grace},
  };
}

Settings GpuSettings(WorkerSettings& settings) {
  return {
      {.field =
           {.path = "gpu.devices",
            .doc =
                "Which GPUs of this machine become slots: all, none, or numbers (as in nvidia-smi) "
                "and UUIDs, as in CUDA_VISIBLE_DEVICES, which limits them further if it is set."},
       .slot = &settings.gpu_devices,
       .flag = "--gpus",
       .value_name = "LIST",
       .check = VisibleDevices::Check},
      {.field = {.path = "gpu.library",
                 .doc = "NVIDIA's management library, which comes with the driver. Without it the "
                        "node has no GPUs.",
                 .is_path = true},
       .slot = &settings.gpu_library},
      {.field = {.path = "gpu.trainer",
                 .doc = "The program that trains on GPUs. Empty: gp-trainer-cuda beside "
                        "gp-worker.",
                 .is_path = true},
       .slot = &settings.gpu_trainer_program,
       .flag = "--gpu-trainer",
       .value_name = "PATH"},
      {.field = {.path = "gpu.nccl_interface",
                 .doc = "The network interface of NCCL between nodes (NCCL_SOCKET_IFNAME), "
                        "\"eth0\" or \"=ib0\". Empty: NCCL chooses. Trainers on GPUs see every "
                        "NCCL_ variable of this program's environment."},
       .slot = &settings.nccl_interface},
      {.field =
           {.path = "gpu.check_interval",
            .doc =
                "How often the GPUs are polled, for the metrics and to notice one that is lost."},
       .slot = &settings.gpu_check_interval},
  };
}

Settings ObservationSettings(WorkerSettings& settings) {
  Settings table = daemon::TlsPair(
      settings.tls_certificate, settings.tls_key,
      "the node's own, security/node.pem of state.dir. Only metrics.listen serves it.");
  const Settings more = {
      daemon::MetricsPublic(settings.metrics_public),
      daemon::MetricsKeysFile(settings.metrics_keys_file),
      {.field = {.path = "telemetry.items_max",
                 .doc = "How many metric points, and as many log lines, are kept while the "
                        "coordinator is away. Above this number, the oldest are dropped and "
                        "counted, and the run's log says how many.",
                 .min = 1000,
                 .max = 10'000'000},
       .slot = &settings.telemetry_items_max},
      daemon::MetricsListen(settings.metrics_listen),
      {.field = {.path = "network.insecure",
                 .doc = "Reach the coordinator without TLS, and let other machines reach "
                        "metrics.listen without it: others can read the traffic and impersonate "
                        "the coordinator."},
       .slot = &settings.insecure,
       .flag = "--insecure"},
  };
  table.insert(table.end(), more.begin(), more.end());
  return table;
}

}  // namespace

Settings SettingsTable(WorkerSettings& settings) {
  Settings all;
  for (auto* part :
       {NodeSettings, ServiceSettings, TrainerSettings, GpuSettings, ObservationSettings}) {
    for (daemon::Setting& setting : part(settings)) all.push_back(std::move(setting));
  }
  return all;
}

Status CheckSettings(const WorkerSettings& settings) {
  for (const std::string& root : settings.data_roots) {
    if (root.starts_with('/')) continue;
    return InvalidArgument("data.roots: '{}' is a relative path; write an absolute path", root);
  }
  RETURN_IF_ERROR(daemon::CheckTlsPair(settings.tls_certificate, settings.tls_key));
  return daemon::CheckMetricsAccess(MetricsAccessOf(settings));
}

daemon::MetricsAccess MetricsAccessOf(const WorkerSettings& settings) {
  const bool has_node_certificate =
      !settings.insecure && !settings.coordinator.starts_with("unix:");
  return {.listen = settings.metrics_listen,
          .is_public = settings.metrics_public,
          .insecure = settings.insecure,
          .has_certificate = has_node_certificate || !settings.tls_certificate.empty()};
}

}  // namespace gp::agent
