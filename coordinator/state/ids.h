// The identities of the control plane.
#pragma once

#include <cstdint>

#include "base/typed_id.h"

namespace gp::coordinator {

using RunId = TypedId<struct RunIdTag>;  // 10 characters of Crockford base32, unique in the store,
                                         // never reused
using NodeId = TypedId<struct NodeIdTag>;    // made by an agent at its first start
using SlotId = TypedId<struct SlotIdTag>;    // unique within its node
using SweepId = TypedId<struct SweepIdTag>;  // "namespace/name"; a name is never used again

using Epoch = uint64_t;  // numbers a run's placements from 1; only grows

}  // namespace gp::coordinator
