#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "client/gpctl/gpctl.h"

namespace {

// SIGINT, SIGTERM and SIGHUP are taken by one thread, so that no code runs inside a signal handler.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// The first signal asks; the second one ends the process.
void TakeSignals(const sigset_t& signals, gp::client::Interruption& interruption) {
  int number = 0;
  sigwait(&signals, &number);
  interruption.Request();
  sigwait(&signals, &number);
  _exit(130);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = BlockStopSignals();
  gp::InitLogging("gpctl");
  gp::client::Interruption interruption;
  std::thread([signals, &interruption] { TakeSignals(signals, interruption); }).detach();
  gp::gpctl::Console console = gp::gpctl::SystemConsole(interruption);
  const int code = gp::gpctl::RunGpctl(std::vector<std::string>(argv + 1, argv + argc), console);
  std::fflush(nullptr);
  // The signal thread never returns; static objects hold nothing that must be released.
  _exit(code);
}
