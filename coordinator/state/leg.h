// Leg: a part of a run that is trained with one resolved run file and one engine
// (docs/adr/0013-a-run-is-a-list-of-legs.md). So far every run has exactly one leg.
// Values.
#pragma once

#include <map>
#include <string>

#include "coordinator/state/device.h"

namespace gp::coordinator {

// What every rank of a leg computes with. Each value stays fixed once decided, because another one
// may change the result bits. The number of threads changes them only with engine.kind: reference.
struct Engine {
  Device device = Device::kCpu;                // kAuto until the first placement decides
  int threads_per_rank = 0;                    // decided by the first placement
  int logical_shards = 1;                      // parts that each gradient sum is divided into
  std::string isa;                             // decided when the first group is ready
  std::map<std::string, std::string> kernels;  // decided with `isa`; by instruction set level
};

// A value, never changed once why_ended is set.
struct Leg {
  int number = 1;  // in its run; the first is 1
  Engine engine;
  std::string why_begun;
  std::string why_ended;  // empty: it has not ended
};

}  // namespace gp::coordinator
