// The cluster in the course of the sample run (sample_events.h).
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "coordinator/state/cluster.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {

// The cluster after the first `events` events of OneOfEachKind.
inline Cluster ClusterAfter(size_t events) {
  Cluster cluster;
  std::vector<Event> life = OneOfEachKind();
  life.resize(events);
  for (const Event& event : life) {
    const Status status = Apply(event, cluster);
    EXPECT_TRUE(status.ok()) << status;
  }
  return cluster;
}

}  // namespace gp::coordinator
