#include "client/gpctl/faults/trainers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <string>

#include "base/file.h"

namespace gp::gpctl {
namespace {

// The parent in the text of /proc/<pid>/stat; 0 for a process that has ended. The name of the
// program is in parentheses and may contain spaces and parentheses itself.
int ParentIn(const std::string& stat) {
  std::istringstream rest(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  char state = 'Z';
  int parent = 0;
  rest >> state >> parent;
  return state == 'Z' || state == 'X' ? 0 : parent;
}

int NumberOf(const std::string& name) {
  int number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? number : 0;
}

}  // namespace

std::vector<int> TrainersOf(int agent_pid) {
  std::vector<int> trainers;
  for (const std::string& name : ListDirectory("/proc").value_or(std::vector<std::string>())) {
    const int pid = NumberOf(name);
    if (pid == 0) continue;
    const auto stat = ReadFile(JoinPath(JoinPath("/proc", name), "stat"));
    if (stat.ok() && ParentIn(*stat) == agent_pid) trainers.push_back(pid);
  }
  std::sort(trainers.begin(), trainers.end());
  return trainers;
}

bool WritesRecords(int trainer_pid) {
  std::error_code error;  // the process may end meanwhile
  std::filesystem::directory_iterator file(fmt::format("/proc/{}/fd", trainer_pid), error);
  for (; !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(file->path(), gone);
    if (!gone && target.filename() == "metrics.jsonl") return true;
  }
  return false;
}

}  // namespace gp::gpctl
