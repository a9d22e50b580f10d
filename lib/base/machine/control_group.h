// The control groups (cgroup v2 and v1) of this process, whose limits containers, Slurm and systemd
// set. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace gp {

struct ControlGroup {
  enum class Version { kV1, kV2 };
  Version version = Version::kV2;
  std::string path;       // "/", "/slice/unit"
  std::string directory;  // where its files are; it may not exist
};

// Every group that limits this process through `controller` ("memory", "cpu"), from its own up to
// the root of each hierarchy. In a container the lower ones are often hidden: their directories do
// not exist. Reads below `root` (proc/ and sys/fs/cgroup/); only tests change it.
std::vector<ControlGroup> ControlGroups(const std::string& controller,
                                        const std::string& root = "/");

}  // namespace gp
