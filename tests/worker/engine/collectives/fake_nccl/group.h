// A thread's calls between ncclGroupStart and ncclGroupEnd begin together; outside of a group each
// call is its own group. Each thread has its own group.
#pragma once

#include "worker/engine/collectives/fake_nccl/comm.h"

namespace gp::fake_nccl {

// The result of the call that made `work`.
ncclResult_t Enqueue(ncclComm_t comm, FakeWork work);

}  // namespace gp::fake_nccl
