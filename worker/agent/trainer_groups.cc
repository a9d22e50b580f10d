#include "worker/agent/trainer_groups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/machine/control_group.h"

namespace gp::agent {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 20;

// Writes a control group's file in place, because such files cannot be replaced by another file.
Status WriteControl(const std::string& path, const std::string& text) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  return WriteAll(file.get(), text, path);
}

std::vector<std::string> WordsOf(const std::string& path) {
  std::istringstream words(ReadFile(path, kFileBytesMax).value_or(""));
  std::vector<std::string> found;
  for (std::string word; words >> word;) found.push_back(word);
  return found;
}

// The number after `key` in a file of keys and numbers; 0 without one.
uint64_t CountIn(const std::string& path, const std::string& key) {
  const auto words = WordsOf(path);
  const auto found = std::find(words.begin(), words.end(), key);
  if (found == words.end() || found + 1 == words.end()) return 0;
  uint64_t count = 0;
  std::from_chars((found + 1)->data(), (found + 1)->data() + (found + 1)->size(), count);
  return count;
}

// The directory of this process's control group of version 2. FailedPrecondition if the group lacks
// a controller.
StatusOr<std::string> OwnDirectory(const std::string& root) {
  for (const ControlGroup& group : ControlGroups("memory", root)) {
    if (group.version != ControlGroup::Version::kV2) continue;
    const auto controllers = WordsOf(JoinPath(group.directory, "cgroup.controllers"));
    for (const char* needed : {"memory", "pids"}) {
      if (std::find(controllers.begin(), controllers.end(), needed) != controllers.end()) continue;
      return FailedPrecondition("{} has no controller '{}' of control groups (version 2)",
                                group.directory, needed);
    }
    return group.directory;
  }
  return FailedPrecondition("this machine has no control groups of version 2");
}

Status CheckAlone(const std::string& directory) {
  const std::string self = std::to_string(getpid());
  for (const std::string& pid : WordsOf(JoinPath(directory, "cgroup.procs"))) {
    if (pid == self) continue;
    return FailedPrecondition("{} contains processes other than gp-worker, such as {}", directory,
                              pid);
  }
  return OkStatus();
}

Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return OkStatus();
  return ErrnoStatus(errno, "make", path);
}

// cgroup v2: a group that limits its subgroups may hold no processes itself.
Status MakeParent(const std::string& directory) {
  const std::string agent = JoinPath(directory, "agent");
  const std::string self = std::to_string(getpid());
  RETURN_IF_ERROR(MakeDirectory(agent));
  Status status = WriteControl(JoinPath(agent, "cgroup.procs"), self);
  if (status.ok()) {
    status = WriteControl(JoinPath(directory, "cgroup.subtree_control"), "+memory +pids");
    if (!status.ok()) (void)WriteControl(JoinPath(directory, "cgroup.procs"), self);
  }
  if (!status.ok()) rmdir(agent.c_str());
  return status;
}

}  // namespace

StatusOr<std::unique_ptr<TrainerGroups>> TrainerGroups::Open(const TrainerGroupLimits& limits,
                                                             const std::string& root) {
  ASSIGN_OR_RETURN(const std::string directory, OwnDirectory(root));
  RETURN_IF_ERROR(CheckAlone(directory));
  const Status made = MakeParent(directory);
  if (!made.ok()) {
    return FailedPrecondition(
        "cannot create control groups below {}: {}; a systemd unit allows this with "
        "Delegate=memory pids",
        directory, Message(made));
  }
  return std::unique_ptr<TrainerGroups>(new TrainerGroups(directory, limits));
}

StatusOr<std::unique_ptr<TrainerGroup>> TrainerGroups::Make() {
  std::string path;
  do {
    path = JoinPath(directory_, "trainer-" + std::to_string(++made_));
    rmdir(path.c_str());  // fails while a process of an earlier agent is left in it
  } while (FileExists(path));
  RETURN_IF_ERROR(MakeDirectory(path));
  auto group = std::make_unique<TrainerGroup>(path, limits_.memory_bytes);
  RETURN_IF_ERROR(WriteControl(JoinPath(path, "pids.max"), std::to_string(limits_.tasks)));
  if (limits_.memory_bytes > 0) {
    RETURN_IF_ERROR(
        WriteControl(JoinPath(path, "memory.max"), std::to_string(limits_.memory_bytes)));
    // Otherwise the kernel would swap out the excess. The file is absent if the kernel does not
    // account for swap.
    const Status no_swap = WriteControl(JoinPath(path, "memory.swap.max"), "0");
    if (!no_swap.ok()) {
      LogWarning("cannot disable swap for a trainer; it may use swap beyond trainer.memory_max",
                 {{"error", Message(no_swap)}});
    }
  }
  return group;
}

// Has no effect while a process is left in the group, or if a test has put files into the
// directory.
TrainerGroup::~TrainerGroup() { rmdir(directory_.c_str()); }

Status TrainerGroup::Add(pid_t pid) const {
  return WriteControl(JoinPath(directory_, "cgroup.procs"), std::to_string(pid));
}

uint64_t TrainerGroup::OutOfMemoryKills() const {
  return CountIn(JoinPath(directory_, "memory.events"), "oom_kill");
}

uint64_t TrainerGroup::ReachedLimitBytes() const {
  return CountIn(JoinPath(directory_, "memory.events.local"), "oom") > 0 ? memory_bytes_ : 0;
}

}  // namespace gp::agent
