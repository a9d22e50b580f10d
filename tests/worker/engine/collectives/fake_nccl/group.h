// Calls of a thread between ncclGroupStart and ncclGroupEnd start together; outside, each call is a
// group of its own. Each thread has its own group.
#pragma once

#include "worker/engine/collectives/fake_nccl/comm.h"

namespace gp::fake_nccl {

// Adds the work of a call to the thread's group, or starts it; returns the result of the call.
ncclResult_t Enqueue(ncclComm_t comm, FakeWork work);

}  // namespace gp::fake_nccl
