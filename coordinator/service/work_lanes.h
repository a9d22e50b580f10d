// WorkLanes: the pools of the user service, one for each thing that can hold its work up: a file
// system that hangs, or a flood of long run files, stops one lane and no other. Owned by the
// daemon; thread-safe.
#pragma once

#include <chrono>

#include "coordinator/service/work_pool.h"

namespace gp::coordinator {

struct WorkLanes {
  WorkPool queries{{.name = "answers"}};       // what memory answers
  WorkPool submits{{.name = "submits"}};       // parses, checks and plans run files
  WorkPool storage{{.name = "storage.root"}};  // touches the shared file system
  // Reads runs' records. A stream waits with one piece of work at most, so it has a place here.
  WorkPool streams{{.name = "streams", .waiting_max = 2048, .waiting_per_caller_max = 2048}};

  // False when one of them is still held up after `grace`.
  bool Stop(std::chrono::nanoseconds grace);
};

}  // namespace gp::coordinator
