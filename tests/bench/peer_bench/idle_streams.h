// Many event streams that a server holds open although little happens on them. One thread calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace gp::engine {

struct IdleStreams {
  uint16_t port = 0;  // on 127.0.0.1
  std::string path;   // path that answers GET with an event stream
  int64_t count = 500;
  std::chrono::seconds held{10};
};

struct IdleOutcome {
  int64_t open_at_end = 0;
  int64_t bytes_before = 0;  // the server's memory before the first stream opens
  int64_t bytes_begin = 0;   // when all streams are open
  int64_t bytes_end = 0;     // after they were held for IdleStreams::held
};

// `server_bytes` returns the server's resident memory.
StatusOr<IdleOutcome> HoldIdleStreams(const IdleStreams& streams,
                                      const std::function<int64_t()>& server_bytes);

}  // namespace gp::engine
