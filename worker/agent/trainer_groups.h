// TrainerGroups: a control group (version 2) for each trainer, if the agent may make them. The
// kernel then limits a trainer's memory and its number of threads and processes, and reports which
// one it killed when out of memory. Made by the daemon before any trainer runs; used by the agent's
// loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace gp::agent {

struct TrainerGroupLimits {
  uint64_t memory_bytes = 0;  // 0: no limit but those of the groups above
  int tasks = 4096;           // threads and processes; a correct trainer has some hundred
};

// The group of one trainer. The destructor removes it, unless a process is left in it.
class TrainerGroup {
 public:
  TrainerGroup(std::string directory, uint64_t memory_bytes)
      : directory_(std::move(directory)), memory_bytes_(memory_bytes) {}
  ~TrainerGroup();
  TrainerGroup(const TrainerGroup&) = delete;
  TrainerGroup& operator=(const TrainerGroup&) = delete;

  // Moves the process into the group, with all of its threads and later children.
  Status Add(pid_t pid) const;
  // How many processes the kernel killed because this group, or one above it, was out of memory.
  uint64_t OutOfMemoryKills() const;
  // The limit if the group itself reached it; 0 if it has none, or if a parent group ran out of
  // memory.
  uint64_t ReachedLimitBytes() const;
  uint64_t limit_bytes() const { return memory_bytes_; }  // 0: none

 private:
  const std::string directory_;
  const uint64_t memory_bytes_;
};

class TrainerGroups {
 public:
  // Makes this process' group a parent of groups: this process itself moves to the one called
  // "agent". FailedPrecondition says why that is impossible: no control groups of version 2, the
  // group is not this user's (systemd: Delegate=), or it has other processes; nothing is changed
  // then. Searches below `root`; only tests change it.
  static StatusOr<std::unique_ptr<TrainerGroups>> Open(const TrainerGroupLimits& limits,
                                                       const std::string& root = "/");

  // A new group; groups that an earlier agent could not remove are not reused.
  StatusOr<std::unique_ptr<TrainerGroup>> Make();
  const TrainerGroupLimits& limits() const { return limits_; }

 private:
  TrainerGroups(std::string directory, const TrainerGroupLimits& limits)
      : directory_(std::move(directory)), limits_(limits) {}

  const std::string directory_;
  const TrainerGroupLimits limits_;
  uint64_t made_ = 0;
};

}  // namespace gp::agent
