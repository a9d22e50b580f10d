#include "worker/engine/trainer/stop_signals.h"

#include <signal.h>
#include <time.h>

#include <utility>

namespace gp::engine {
namespace {

// How long destruction may take.
constexpr timespec kSlice = {0, 100'000'000};

sigset_t BothSignals() {
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGTERM);
  sigaddset(&both, SIGINT);
  return both;
}

}  // namespace

void BlockStopSignals() {
  const sigset_t both = BothSignals();
  pthread_sigmask(SIG_BLOCK, &both, nullptr);
}

StopSignals::StopSignals(std::function<void(const std::string& signal)> stop)
    : thread_([stop = std::move(stop)](const std::stop_token& done) {
        const sigset_t both = BothSignals();
        while (!done.stop_requested()) {
          const int number = sigtimedwait(&both, nullptr, &kSlice);
          if (number > 0) stop(number == SIGTERM ? "SIGTERM" : "SIGINT");
        }
      }) {}

}  // namespace gp::engine
