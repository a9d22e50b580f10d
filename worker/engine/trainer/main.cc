// gp-trainer, and gp-trainer-cuda for a GPU: trains one rank of a run, under an agent (--link) or
// alone (--spec FILE).
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/clock.h"
#include "base/log.h"
#include "link/channel.h"
#include "worker/engine/trainer/device_support.h"
#include "worker/engine/trainer/exit_code.h"
#include "worker/engine/trainer/linked_training.h"
#include "worker/engine/trainer/lone_training.h"
#include "worker/engine/trainer/overfit.h"
#include "worker/engine/trainer/stop_signals.h"

namespace gp::engine {
namespace {

// The kernel kills this process when its parent ends. A parent that ended before the call is
// noticed by comparing.
bool DieWithParent() {
  const pid_t parent = getppid();
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

int Main(int argc, char** argv) {
  CLI::App app("Trains a GPT-2 model: alone from a run file, or as one rank under gp-worker.");
  LoneOptions options;
  bool linked = false;
  bool overfit = false;
  bool support = false;
  app.set_version_flag("--version", GP_PROGRAM " " GP_VERSION);
  app.add_flag("--support", support, "Print as JSON what this program can compute on");
  auto* link_flag = app.add_flag("--link", linked, "Be driven by the agent over file descriptor 3");
  auto* spec = app.add_option("--spec", options.spec_path, "Run file (YAML)")->excludes(link_flag);
  app.add_option("--out", options.out_directory,
                 "Directory of records and checkpoints (default: runs/NAME)")
      ->needs(spec);
  app.add_option("--set", options.overrides, "Override a key of the run file: path=value")
      ->needs(spec)
      ->allow_extra_args(false);
  app.add_flag("--overfit", overfit, "Learn one batch by heart instead; writes no records")
      ->needs(spec);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ProcessStatus(ExitCode::kOk) : ProcessStatus(ExitCode::kUsage);
  }
  if (support) {
    std::printf("%s\n", DeviceSupport().c_str());
    return ProcessStatus(ExitCode::kOk);
  }
  if (!linked && options.spec_path.empty()) {
    std::fprintf(stderr, GP_PROGRAM ": --spec FILE is missing; see " GP_PROGRAM " --help\n");
    return ProcessStatus(ExitCode::kUsage);
  }
  if (linked && !DieWithParent()) {
    std::fprintf(stderr, GP_PROGRAM ": the agent is gone\n");
    return ProcessStatus(ExitCode::kFailure);
  }
  if (linked) return RunLinked(FileDescriptor(link::kEngineDescriptor), SystemClock());
  if (overfit) return RunOverfit(options, SystemClock());
  return RunAlone(options, SystemClock());
}

}  // namespace
}  // namespace gp::engine

int main(int argc, char** argv) {
  gp::InitLogging(GP_PROGRAM);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond the limit is an error of its write
  gp::engine::BlockStopSignals();
  return gp::engine::Main(argc, argv);
}
