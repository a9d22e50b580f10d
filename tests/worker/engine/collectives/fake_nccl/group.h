// What a thread asks of its communicators between ncclGroupStart and ncclGroupEnd begins together;
// outside of a group each call is one of its own. Each thread has its own group.
#pragma once

#include "worker/engine/collectives/fake_nccl/comm.h"

namespace gp::fake_nccl {

// What the call that made `work` returns.
ncclResult_t Enqueue(ncclComm_t comm, FakeWork work);

}  // namespace gp::fake_nccl
