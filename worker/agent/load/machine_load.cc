#include "worker/agent/load/machine_load.h"

#include <unistd.h>

#include <chrono>
#include <sstream>

#include "base/file.h"
#include "base/machine/proc_field.h"

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

// The processor time of all cores that was neither idle nor spent waiting for a disk, since boot.
// Nullopt when the file was not read.
std::optional<uint64_t> BusyTicks(const std::string& stat) {
  std::istringstream line(stat.substr(0, stat.find('\n')));
  std::string name;
  uint64_t user = 0;
  uint64_t nice = 0;
  uint64_t system = 0;
  uint64_t idle = 0;
  uint64_t waiting = 0;
  uint64_t interrupts = 0;
  uint64_t soft_interrupts = 0;
  if (!(line >> name >> user >> nice >> system >> idle >> waiting) || name != "cpu") {
    return std::nullopt;
  }
  line >> interrupts >> soft_interrupts;
  return user + nice + system + interrupts + soft_interrupts;
}

// "MemTotal:  16318472 kB"; 0 when it is not there.
uint64_t MemoryField(const std::string& meminfo, const std::string& name) {
  return 1024 * std::strtoull(ProcField(meminfo, name).c_str(), nullptr, 10);
}

}  // namespace

bool MachineLoad::IsOld(MonotonicTime now) const {
  return load_.cores() == 0 || now - read_at_ >= kInterval;
}

const v1::MachineLoad& MachineLoad::Read(MonotonicTime now) {
  if (!IsOld(now)) return load_;
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
  const std::optional<uint64_t> busy = BusyTicks(text("stat"));
  load_.set_busy_cores(-1);
  if (busy && busy_ticks_ && *busy >= *busy_ticks_) {
    const double seconds = std::chrono::duration<double>(now - read_at_).count();
    load_.set_busy_cores(static_cast<double>(*busy - *busy_ticks_) /
                         static_cast<double>(sysconf(_SC_CLK_TCK)) / seconds);
  }
  const std::string meminfo = text("meminfo");
  load_.set_memory_bytes(MemoryField(meminfo, "MemTotal"));
  load_.set_available_memory_bytes(MemoryField(meminfo, "MemAvailable"));
  load_.set_runnable_threads(RunnableThreads(text("loadavg")));
  load_.set_cores(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  swapped_pages_ = pages;
  busy_ticks_ = busy;
  read_at_ = now;
  return load_;
}

}  // namespace gp::agent
