#include "coordinator/service/work_lanes.h"

namespace gp::coordinator {

bool WorkLanes::Stop(std::chrono::nanoseconds grace) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  bool all = true;
  for (WorkPool* pool : {&queries, &submits, &access, &storage, &streams}) {
    all = pool->Stop(deadline - std::chrono::steady_clock::now()) && all;
  }
  return all;
}

}  // namespace gp::coordinator
