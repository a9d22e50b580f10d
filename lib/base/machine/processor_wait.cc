#include "base/machine/processor_wait.h"

#include <fcntl.h>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "base/read_at.h"

namespace gp {
namespace {

// Threads begin rarely, and listing them takes longer than reading their times.
constexpr int kCallsOfList = 64;

// "<nanoseconds on a core> <nanoseconds runnable without one> <time slices>".
std::optional<uint64_t> WaitedOf(std::string_view schedstat) {
  const size_t space = schedstat.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view second = schedstat.substr(space + 1);
  uint64_t waited_ns = 0;
  const auto [end, error] =
      std::from_chars(second.data(), second.data() + second.size(), waited_ns);
  if (error != std::errc() || end == second.data() + second.size()) return std::nullopt;
  return waited_ns;
}

std::optional<uint64_t> ReadWaited(const FileDescriptor& schedstat) {
  char text[96];
  const auto size = ReadAt(schedstat.get(), 0, text, "schedstat");
  return size.ok() ? WaitedOf({text, *size}) : std::nullopt;
}

}  // namespace

ProcessorWait::ProcessorWait(std::string root) : tasks_(JoinPath(root, "proc/self/task")) {}

void ProcessorWait::OpenNewThreads() {
  for (const std::string& number : ListDirectory(tasks_).value_or(std::vector<std::string>())) {
    if (threads_.contains(number)) continue;
    const std::string path = JoinPath(JoinPath(tasks_, number), "schedstat");
    FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.valid()) threads_.emplace(number, Thread{.schedstat = std::move(file)});
  }
}

std::optional<double> ProcessorWait::Take() {
  if (calls_++ % kCallsOfList == 0) OpenNewThreads();
  uint64_t waited_ns = 0;
  for (auto it = threads_.begin(); it != threads_.end();) {
    const auto now = ReadWaited(it->second.schedstat);
    if (!now) {  // the thread has ended
      it = threads_.erase(it);
      continue;
    }
    if (*now > it->second.waited_ns) waited_ns += *now - it->second.waited_ns;
    it->second.waited_ns = *now;
    ++it;
  }
  if (threads_.empty()) return std::nullopt;
  return 1e-9 * static_cast<double>(waited_ns);
}

}  // namespace gp
