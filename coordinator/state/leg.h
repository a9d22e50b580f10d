// Leg: a part of a run that is trained with one resolved run file and one engine
// (docs/adr/0013-a-run-is-a-list-of-legs.md). Value types.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "coordinator/state/device.h"
#include "coordinator/state/time.h"

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
  // The step of the run's checkpoint that the leg begins from. -1: from the start of the run. A
  // lower one than when the leg was requested if the checkpoints in between were lost meanwhile.
  int64_t first_step = -1;
  bool first_step_asked = false;  // a user asked for that step (LegRequested::first_step)
  uint64_t first_epoch = 1;       // of the run's epochs
  std::string request_id;         // of the call that began it
  std::string body_digest;        // of the same call (LegRequested::body_digest); empty: unknown
  std::string why_begun;
  Timestamp begun_at{};
  std::string why_ended;  // empty: it has not ended
  std::optional<Timestamp> ended_at;
};

}  // namespace gp::coordinator
