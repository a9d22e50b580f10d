#include "coordinator/service/work_lanes.h"

#include "base/check.h"

namespace gp::coordinator {

WorkPool& WorkLanes::Of(Lane lane) {
  switch (lane) {
    case Lane::kQueries:
      return queries;
    case Lane::kSubmits:
      return submits;
    case Lane::kTokens:
      return tokens;
    case Lane::kStreams:
      return streams;
    case Lane::kNone:
      break;
  }
  GP_CHECK(lane != Lane::kNone);
  return queries;
}

bool WorkLanes::Stop(std::chrono::nanoseconds grace) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  bool all = true;
  for (WorkPool* pool : {&queries, &submits, &tokens, &storage, &usage, &streams}) {
    all = pool->Stop(deadline - std::chrono::steady_clock::now()) && all;
  }
  return all;
}

}  // namespace gp::coordinator
