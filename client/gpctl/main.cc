#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/standard_output.h"
#include "base/stop_signals.h"
#include "client/gpctl/gpctl.h"
#include "client/gpctl/terminal/terminal_mode.h"
#include "rpc/grpc_log.h"

namespace {

const std::vector<int> kSignals = {SIGINT, SIGTERM, SIGHUP};

// The first signal requests the interruption. The second one ends the process, unless code that is
// stopping something handles it.
void WatchSignals(gp::client::Interruption& interruption) {
  while (true) {
    const std::string name = gp::AwaitStopSignal(kSignals);
    if (!interruption.Signal()) {
      gp::gpctl::RestoreTerminal();
      _exit(130);
    }
    if (name != "SIGINT") interruption.Leave();
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  gp::BlockStopSignals(kSignals);
  gp::InitLogging("gpctl");
  gp::rpc::DropGrpcLog();
  gp::client::Interruption interruption;
  std::thread([&interruption] { WatchSignals(interruption); }).detach();
  gp::StandardOutput output;
  gp::gpctl::Console console = gp::gpctl::SystemConsole(interruption);
  console.output_error = [&output] { return output.Flush(); };
  const int code = gp::gpctl::RunGpctl(std::vector<std::string>(argv + 1, argv + argc), console);
  // The signal thread never returns; static objects hold nothing that must be released.
  _exit(code);
}
