// ProcessorWait: how long the threads of this process were runnable but had no processor core,
// because other processes used the cores. One thread calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/file.h"

namespace gp {

class ProcessorWait {
 public:
  // Reads below `root` (proc/self/task/), which only tests change.
  explicit ProcessorWait(std::string root = "/");

  // Seconds that the threads waited since the last call, added up; of a thread that is new since
  // then, all that it waited. Empty where the kernel does not count this
  // (proc/self/task/*/schedstat is missing), as in some containers. The kernel adds a wait when it
  // ends.
  std::optional<double> Take();

 private:
  struct Thread {
    FileDescriptor schedstat;
    uint64_t waited_ns = 0;
  };

  void OpenNewThreads();

  const std::string tasks_;
  std::map<std::string, Thread> threads_;  // by number
  int calls_ = 0;
};

}  // namespace gp
