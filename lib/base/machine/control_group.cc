#include "base/machine/control_group.h"

#include <sstream>

#include "base/file.h"

namespace gp {
namespace {

constexpr uint64_t kListBytesMax = 1 << 20;

// Whether the list `controllers` ("cpu,cpuacct") contains `controller`.
bool Contains(const std::string& controllers, const std::string& controller) {
  std::istringstream words(controllers);
  std::string word;
  while (std::getline(words, word, ',')) {
    if (word == controller) return true;
  }
  return false;
}

void AddWithParents(ControlGroup::Version version, const std::string& mount, std::string path,
                    std::vector<ControlGroup>& groups) {
  while (true) {
    groups.push_back({version, path, mount + path});
    const size_t slash = path.rfind('/');
    if (path.size() <= 1 || slash == std::string::npos) return;
    path = slash == 0 ? "/" : path.substr(0, slash);
  }
}

}  // namespace

std::vector<ControlGroup> ControlGroups(const std::string& controller, const std::string& root) {
  const auto text = ReadFile(JoinPath(root, "proc/self/cgroup"), kListBytesMax);
  std::istringstream lines(text.ok() ? *text : "");
  std::vector<ControlGroup> groups;
  std::string line;
  // A line is "0::/path" for version 2 or "4:cpu,cpuacct:/path" for version 1.
  while (std::getline(lines, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const std::string mount = JoinPath(root, "sys/fs/cgroup");
    if (controllers.empty()) {
      AddWithParents(ControlGroup::Version::kV2, mount, path, groups);
    } else if (Contains(controllers, controller)) {
      AddWithParents(ControlGroup::Version::kV1, JoinPath(mount, controller), path, groups);
    }
  }
  return groups;
}

}  // namespace gp
