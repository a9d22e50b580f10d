#include "base/stop_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace gp {
namespace {

sigset_t SetOf(const std::vector<int>& numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

FileDescriptor ArrivalsOf(const std::vector<int>& numbers) {
  const sigset_t set = SetOf(numbers);
  FileDescriptor arrivals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  GP_CHECK(arrivals.valid(), "signalfd: errno {}", errno);
  return arrivals;
}

std::string NameOf(uint32_t number) {
  const char* name = sigabbrev_np(static_cast<int>(number));
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

// The signal's name; empty when another waiter took the signal.
std::string TakeSignal(int arrivals) {
  signalfd_siginfo signal{};
  const ssize_t got = read(arrivals, &signal, sizeof signal);
  return got == static_cast<ssize_t>(sizeof signal) ? NameOf(signal.ssi_signo) : "";
}

// Waits until one of the two is readable. True when it is `end`.
bool AwaitEnd(int arrivals, int end) {
  std::array<pollfd, 2> watched = {{{end, POLLIN, 0}, {arrivals, POLLIN, 0}}};
  while (poll(watched.data(), watched.size(), -1) < 0) {
    GP_CHECK(errno == EINTR, "poll for signals: errno {}", errno);
  }
  return watched[0].revents != 0;
}

}  // namespace

void BlockStopSignals(const std::vector<int>& numbers) {
  const sigset_t set = SetOf(numbers);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

std::string AwaitStopSignal(const std::vector<int>& numbers) {
  const sigset_t set = SetOf(numbers);
  int number = 0;
  sigwait(&set, &number);
  return NameOf(static_cast<uint32_t>(number));
}

StopSignals::StopSignals(std::function<void(const std::string& name)> stop,
                         const std::vector<int>& numbers)
    : arrivals_(ArrivalsOf(numbers)), end_(eventfd(0, EFD_CLOEXEC)) {
  GP_CHECK(end_.valid(), "eventfd: errno {}", errno);
  thread_ = std::thread([this, stop = std::move(stop)] { Watch(stop); });
}

StopSignals::~StopSignals() {
  [[maybe_unused]] const int written = eventfd_write(end_.get(), 1);
  thread_.join();
}

void StopSignals::Watch(const std::function<void(const std::string& name)>& stop) const {
  while (!AwaitEnd(arrivals_.get(), end_.get())) {
    const std::string name = TakeSignal(arrivals_.get());
    if (!name.empty()) stop(name);
  }
}

}  // namespace gp
