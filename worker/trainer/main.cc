// gp-trainer, and gp-trainer-cuda for a GPU: trains one rank of a run, under an agent (--link) or
// alone (--spec FILE).
#include <signal.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/command_line.h"
#include "base/log.h"
#include "base/machine/open_files.h"
#include "base/machine/parent_process.h"
#include "base/standard_output.h"
#include "base/stop_signals.h"
#include "confinement/confinement.h"
#include "contract/channel.h"
#include "worker/checkpoint/storage_broker.h"
#include "worker/trainer/device_support.h"
#include "worker/trainer/exit_code.h"
#include "worker/trainer/managed_training.h"
#include "worker/trainer/overfit.h"
#include "worker/trainer/run_files.h"
#include "worker/trainer/run_storage.h"
#include "worker/trainer/standalone_training.h"

namespace gp::engine {
namespace {

void AddRunFiles(Command root, Flag link, RunFiles& files) {
  root.Option("--data-root", files.data_roots,
              "Directory below which a run may name files; may be repeated")
      .Needs(link)
      .OneValueEach();
  root.Option("--storage-root", files.storage_root, "Directory that holds all runs").Needs(link);
  root.Option("--run-directory", files.run_directory,
              "The run's directory, below --storage-root; nothing else may be written")
      .Needs(link);
  root.Option("--from-checkpoint", files.checkpoint,
              "The checkpoint below --storage-root that the run begins with")
      .Needs(link);
  root.Switch("--gpu", files.gpu, "Allow access to the GPU devices and /dev/shm").Needs(link);
}

int NotConfined(const Status& status) {
  std::fprintf(stderr, GP_PROGRAM ": cannot confine itself: %s\n", Message(status).c_str());
  return ProcessStatus(ExitCode::kFailure);
}

// Confines this process to `files` and returns the storage to use from then on; nullptr if `files`
// confine nothing.
StatusOr<std::shared_ptr<RunStorage>> ConfineTo(const RunFiles& files) {
  if (files.run_directory.empty()) return nullptr;
  ASSIGN_OR_RETURN(auto broker, StartStorageBroker([&files] {
                     InitLogging(GP_PROGRAM, LogLevel::kError);  // logs each operation otherwise
                     return files.ConfineToRunDirectory();
                   }));
  RETURN_IF_ERROR(files.Confine());
  return std::make_shared<RunStorage>(files.run_directory, std::move(broker));
}

int TrainManaged(const RunFiles& files) {
  if (!DieWithParent()) {
    std::fprintf(stderr, GP_PROGRAM ": the agent is gone\n");
    return ProcessStatus(ExitCode::kFailure);
  }
  auto storage = ConfineTo(files);
  if (!storage.ok()) return NotConfined(storage.status());
  return RunManaged(FileDescriptor(link::kEngineDescriptor), files, *std::move(storage),
                    SystemClock());
}

// Confined like a run's trainer, so that it reports what a run will find.
int PrintSupport() {
  InitLogging(GP_PROGRAM, LogLevel::kWarning);  // prints only the JSON
  const Status confined = confinement::Confine({.gpus = true});
  if (!confined.ok()) return NotConfined(confined);
  std::printf("%s\n", DeviceSupport().c_str());
  return ProcessStatus(ExitCode::kOk);
}

int Main(int argc, char** argv) {
  const CommandLine line(
      "Trains a GPT-2 model: alone from a run file, or as one rank under gp-worker.");
  const Command root = line.root();
  StandaloneOptions options;
  RunFiles files;
  bool managed = false;
  bool overfit = false;
  bool support = false;
  root.Version(GP_PROGRAM " " GP_VERSION);
  root.Switch("--support", support, "Print as JSON what this program can compute on");
  const Flag link_flag =
      root.Switch("--link", managed, "Run as a rank of the agent on file descriptor 3");
  AddRunFiles(root, link_flag, files);
  const Flag spec =
      root.Option("--spec", options.spec_path, "Run file (YAML)").Path().Excludes(link_flag);
  root.Option("--out", options.out_directory,
              "Directory of records and checkpoints (default: runs/NAME)")
      .Path()
      .Needs(spec);
  root.Option("--set", options.overrides, "Override a key of the run file: path=value")
      .Needs(spec)
      .OneValueEach();
  root.Switch("--overfit", overfit, "Overfit one batch instead; writes no records").Needs(spec);
  if (const auto exit_code = line.Parse(argc, argv)) return *exit_code;
  if (support) return PrintSupport();
  if (!managed && options.spec_path.empty()) {
    std::fprintf(stderr, GP_PROGRAM ": --spec FILE is missing; see " GP_PROGRAM " --help\n");
    return ProcessStatus(ExitCode::kUsage);
  }
  if (managed) return TrainManaged(files);
  if (overfit) return RunOverfit(options, SystemClock());
  return RunStandalone(options, SystemClock());
}

}  // namespace
}  // namespace gp::engine

int main(int argc, char** argv) {
  gp::InitLogging(GP_PROGRAM);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit returns an error
  gp::BlockStopSignals();
  const gp::Status files = gp::AllowManyOpenFiles();
  if (!files.ok()) {
    std::fprintf(stderr, GP_PROGRAM ": %s\n", gp::Message(files).c_str());
    return gp::ProcessStatus(gp::ExitCode::kFailure);
  }
  gp::StandardOutput output;
  return output.Finish(GP_PROGRAM, gp::engine::Main(argc, argv));
}
