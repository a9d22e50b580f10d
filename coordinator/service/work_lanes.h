// WorkLanes: the work pools of the services. There is one for each resource that can block: a file
// system that hangs, or many long run files, stop one lane and no other. Owned by the daemon;
// thread-safe.
#pragma once

#include <chrono>

#include "coordinator/access/access_table.h"
#include "coordinator/service/work_pool.h"

namespace gp::coordinator {

struct WorkLanes {
  WorkPool queries{{.name = "answers"}};       // answered from memory
  WorkPool submits{{.name = "submits"}};       // parses, checks and plans run files
  WorkPool tokens{{.name = "tokens"}};         // tokens and node certificates, on the local disk
  WorkPool storage{{.name = "storage.root"}};  // the last step of a submit, on the shared storage
  WorkPool usage{{.name = "disk usage"}};      // measures whole directories of runs there
  // Reads runs' records. A stream has at most one piece of work waiting, so there is always room.
  WorkPool streams{{.name = "streams", .waiting_max = 2048, .waiting_per_caller_max = 2048}};

  // REQUIRES: not Lane::kNone. `storage` and `usage` have no Lane: RunService and StorageService
  // post to them (PooledCall::Then).
  WorkPool& Of(Lane lane);

  // False when a pool still has work in progress after `grace`.
  bool Stop(std::chrono::nanoseconds grace);
};

}  // namespace gp::coordinator
