#include "worker/agent/machine_load.h"

#include <unistd.h>

#include <chrono>
#include <sstream>

#include "base/file.h"

namespace gp::agent {
namespace {

// Reports may follow every step, but the load is a mean over a minute, so it is read less often.
constexpr std::chrono::nanoseconds kInterval = std::chrono::seconds(5);
constexpr uint64_t kProcBytesMax = 1 << 20;

double RunnableThreads(const std::string& loadavg) {
  double mean_of_a_minute = 0;
  std::istringstream(loadavg) >> mean_of_a_minute;
  return mean_of_a_minute;
}

// Nullopt when the file was not read or lacks the number.
std::optional<uint64_t> SwappedPages(const std::string& vmstat) {
  std::optional<uint64_t> pages;
  uint64_t count = 0;
  std::istringstream lines(vmstat);
  for (std::string name; lines >> name >> count;) {
    if (name == "pswpin" || name == "pswpout") pages = pages.value_or(0) + count;
  }
  return pages;
}

}  // namespace

const v1::MachineLoad& MachineLoad::Read(MonotonicTime now) {
  const bool first = load_.cores() == 0;
  if (!first && now - read_at_ < kInterval) return load_;
  const auto text = [this](const char* name) {
    return ReadFile(JoinPath(proc_, name), kProcBytesMax).value_or("");
  };
  const std::optional<uint64_t> pages = SwappedPages(text("vmstat"));
  load_.set_swap_bytes_per_second(0);
  if (pages && swapped_pages_ && *pages > *swapped_pages_) {
    const double bytes =
        static_cast<double>(*pages - *swapped_pages_) * static_cast<double>(sysconf(_SC_PAGESIZE));
    load_.set_swap_bytes_per_second(bytes / std::chrono::duration<double>(now - read_at_).count());
  }
  load_.set_runnable_threads(RunnableThreads(text("loadavg")));
  load_.set_cores(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  swapped_pages_ = pages;
  read_at_ = now;
  return load_;
}

}  // namespace gp::agent
